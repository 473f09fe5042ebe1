"""Cases: what a desk is asked to deal with, and the tools that read, close, hand over and reopen them.

A world declares its own row class of cases, with a column for who asks, and describes it by a `CaseType`.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, cast

from palaestra.envs.kit.dialogue import refuse
from palaestra.envs.kit.generated import (
    Parameter,
    column_annotation,
    generate_tool,
    id_annotation,
    noun_of,
    with_article,
)
from palaestra.envs.kit.handbook import Section
from palaestra.envs.kit.reading import get_tool, search_tool
from palaestra.envs.task import call
from palaestra.errors import ToolRefusal
from palaestra.record import record
from palaestra.records import ANY_TABLE, References, Row, Searchable, ToolCall
from palaestra.tools import Tool, ToolContext

CaseStatus: TypeAlias = Literal["open", "resolved", "declined", "escalated"]
Priority: TypeAlias = Literal["low", "normal", "high"]
SectionId: TypeAlias = Annotated[str, References(Section.table)]
RecordId: TypeAlias = Annotated[str, References(ANY_TABLE)]


@record
class CaseRow(Row):
    """The columns of a case; a world adds who asks (`employee_id`) and narrows `team` to its own teams."""

    table: ClassVar[str] = "cases"
    prefix: ClassVar[str] = "CASE-"
    subject: Annotated[str, Searchable()]
    opened: datetime
    status: CaseStatus
    priority: Priority
    team: str
    policy_id: SectionId | None
    """The handbook section by which the request was declined or escalated."""
    evidence_id: RecordId | None
    """The record that shows that it applies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseType:
    """How a world's cases are called, whose they are, and which team deals with them."""

    kind: type[Row]
    """The row class: the columns of `CaseRow`, and the id of who asks."""
    requester: type[Row]
    """The class of who asks; a case names them in the column `<requester>_id`."""
    team: str
    """The team whose desk this is."""
    example: str = ""
    """The id of a case."""
    evidence: tuple[type[Row], ...]
    """The classes of the records that may show why a request is declined."""
    evidence_text: str = ""
    """Examples of such records for the agent; empty: worked out from `evidence`."""
    decline_name: str = "decline_request"
    """What the tool that declines a case is called."""

    @property
    def noun(self) -> str:
        """What a case is called, such as "ticket"."""
        return noun_of(self.kind)

    @property
    def asker(self) -> str:
        """What who asks is called, such as "customer"."""
        return noun_of(self.requester)

    @property
    def examples(self) -> str:
        """Examples of records that may show why a request is declined."""
        nouns = [noun_of(kind).replace("_", " ") for kind in self.evidence if kind not in (Section, self.kind)]
        return self.evidence_text or " or ".join(with_article(noun) for noun in nouns)

    @property
    def argument(self) -> str:
        """The argument that names a case, such as `ticket_id`."""
        return f"{self.noun}_id"

    @property
    def requester_column(self) -> str:
        """The column that names who asks, such as `customer_id`."""
        return f"{self.asker}_id"

    def new(self, key: str, requester_id: str, subject: str, opened: datetime, **columns: Any) -> Row:
        """A case as it comes in: open, with the desk's team, of normal priority; `columns` differ from that."""
        made: dict[str, Any] = {
            "id": key,
            self.requester_column: requester_id,
            "subject": subject,
            "opened": opened,
            "status": "open",
            "priority": "normal",
            "team": self.team,
            "policy_id": None,
            "evidence_id": None,
        }
        return self.kind(**made | columns)

    # Calls that end a case, as oracles are written

    def resolve(self, case: Row) -> ToolCall:
        """The call that resolves a case."""
        return call(f"resolve_{self.noun}", **{self.argument: case.id})

    def decline(self, case: Row, section: str, evidence: Row) -> ToolCall:
        """The call that declines a case."""
        return call(self.decline_name, **{self.argument: case.id}, policy_id=section, evidence_id=evidence.id)

    def escalate(self, case: Row, section: str, evidence: Row, *, team: str, priority: Priority) -> ToolCall:
        """The call that hands a case over."""
        known = {"policy_id": section, "evidence_id": evidence.id, "team": team, "priority": priority}
        return call(f"escalate_{self.noun}", **{self.argument: case.id}, **known)

    def closing_calls(self, case: Row, message: str) -> list[ToolCall]:
        """The calls that end a case well: tell who asked, resolve the case, finish."""
        return [call("reply", message=message), self.resolve(case), call("finish")]

    def decline_calls(self, case: Row, section: str, evidence: Row, message: str, *, about: str = "") -> list[ToolCall]:
        """The calls that end a case by declining it; in a dialogue, the reply refuses what it is `about`."""
        reply = refuse(about, message) if about else call("reply", message=message)
        return [self.decline(case, section, evidence), reply, call("finish")]


def reading_tools(cases: CaseType) -> tuple[Tool, Tool]:
    """The tools that show a case and list the cases of one requester."""
    word, asker = _word(cases), _asker(cases)
    show = get_tool(
        cases.kind,
        f"Show a {word}: whose it is, its subject, its status, and the grounds on which it was closed.",
        example=cases.example,
    )
    search = search_tool(
        cases.kind,
        f"List {with_article(asker)}'s {word}s.",
        owner=cases.requester,
        filters=(("status", f"Only {word}s of this status."),),
        summary=("subject", "status"),
    )
    return show, search


def closing_tools(cases: CaseType) -> tuple[Tool, Tool, Tool, Tool]:
    """The tools that resolve, decline, hand over and reopen a case."""
    return resolve_tool(cases), decline_tool(cases), escalate_tool(cases), reopen_tool(cases)


def resolve_tool(cases: CaseType) -> Tool:
    """The tool that closes a case as resolved."""

    def resolve(context: ToolContext, **arguments: str) -> object:
        return _close(context, cases, arguments[cases.argument], status="resolved")

    return generate_tool(
        resolve,
        name=f"resolve_{cases.noun}",
        closes="done",
        description=f"Close a {_word(cases)} as resolved: the {_asker(cases)} got what the policy gives them.",
        parameters={cases.argument: _case(cases)},
        origin=(partial(resolve_tool, cases), ()),
        writes=True,
    )


def decline_tool(cases: CaseType) -> Tool:
    """The tool that closes a case as declined, on the grounds of a section and of a record."""

    def decline(context: ToolContext, policy_id: str, evidence_id: str, **arguments: str) -> object:
        _check_grounds(context, cases, policy_id, evidence_id)
        key = arguments[cases.argument]
        return _close(context, cases, key, status="declined", policy_id=policy_id, evidence_id=evidence_id)

    return generate_tool(
        decline,
        name=cases.decline_name,
        closes="declined",
        description=(
            f"Close a {_word(cases)} as declined: the policy does not give the {_asker(cases)} what they ask for."
        ),
        parameters={
            cases.argument: _case(cases),
            "policy_id": Parameter(annotation=SectionId, text="The handbook section on whose grounds you decline."),
            "evidence_id": Parameter(
                annotation=RecordId, text=f"The record that shows those grounds, such as {cases.examples}."
            ),
        },
        origin=(partial(decline_tool, cases), ()),
        writes=True,
    )


def escalate_tool(cases: CaseType) -> Tool:
    """The tool that hands a case over to another team."""

    def escalate(context: ToolContext, policy_id: str, evidence_id: str, team: str, **arguments: str) -> object:
        _check_grounds(context, cases, policy_id, evidence_id)
        if team == cases.team:
            raise ToolRefusal("same_team", f"the {_word(cases)} is with {team} already; name another team")
        key, priority = arguments[cases.argument], arguments["priority"]
        closed = _close(context, cases, key, status="escalated", policy_id=policy_id, evidence_id=evidence_id)
        handed = context.state.update(closed, team=team, priority=priority)
        context.show(handed)
        return handed

    return generate_tool(
        escalate,
        name=f"escalate_{cases.noun}",
        closes="handed on",
        description=f"Hand a {_word(cases)} over to another team.",
        parameters={
            cases.argument: _case(cases),
            "team": Parameter(annotation=column_annotation(cases.kind, "team"), text="The team that takes over."),
            "priority": Parameter(annotation=Priority, text="How urgent it is."),
            "policy_id": Parameter(annotation=SectionId, text="The handbook section that asks for it."),
            "evidence_id": Parameter(annotation=RecordId, text="The record that shows why."),
        },
        origin=(partial(escalate_tool, cases), ()),
        writes=True,
    )


def reopen_tool(cases: CaseType) -> Tool:
    """The tool that opens a closed case again."""

    def reopen(context: ToolContext, **arguments: str) -> object:
        case = context.state.get(cases.kind, arguments[cases.argument])
        if _status(case) == "open":
            raise ToolRefusal("already_open", f"{case.id} is open")
        reopened = context.state.update(
            case, status="open", team=cases.team, priority="normal", policy_id=None, evidence_id=None
        )
        context.show(reopened)
        return reopened

    return generate_tool(
        reopen,
        name=f"reopen_{cases.noun}",
        description=f"Open a closed {_word(cases)} again.",
        parameters={cases.argument: _case(cases)},
        origin=(partial(reopen_tool, cases), ()),
        writes=True,
    )


def _close(context: ToolContext, cases: CaseType, key: str, **columns: str) -> Row:
    case = context.state.get(cases.kind, key)
    if _status(case) != "open":
        raise ToolRefusal("not_open", f"{key} is {_status(case)}; reopen it first")
    closed = context.state.update(case, **{"policy_id": None, "evidence_id": None, **columns})
    context.show(closed)
    return closed


def _check_grounds(context: ToolContext, cases: CaseType, policy_id: str, evidence_id: str) -> None:
    context.state.get(Section, policy_id)
    if all(context.state.peek(kind, evidence_id) is None for kind in cases.evidence):
        raise ToolRefusal("not_found", f"there is no record {evidence_id!r}")


def _status(case: Row) -> str:
    # A world's row class has the columns of `CaseRow` in an order of its own.
    return cast("CaseRow", case).status


def _case(cases: CaseType) -> Parameter:
    return Parameter(annotation=id_annotation(cases.kind), text=f"The {_word(cases)}'s id.")


def _word(cases: CaseType) -> str:
    return cases.noun.replace("_", " ")


def _asker(cases: CaseType) -> str:
    return cases.asker.replace("_", " ")

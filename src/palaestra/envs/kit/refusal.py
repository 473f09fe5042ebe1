"""Refusals, and so refusal twins: a family's request, byte for byte, in a world in which the handbook refuses it.

A family draws and words its request; then, where `desk.twin` asks for the twin, it changes the world, states why the
request must now be refused, and returns what `refusal_task` makes of that.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from palaestra.envs.kit.cases import Priority
from palaestra.envs.kit.draft import C, CaseDraft
from palaestra.envs.task import Task, call
from palaestra.records import Row, ToolCall
from palaestra.rubrics import Criterion
from palaestra.rubrics.messages import Amounts


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalCondition:
    """Why a request must be refused, and how that is found out."""

    section: str
    """The section of the handbook that says so."""
    evidence: Row
    """The record that shows that it applies."""
    facts: tuple[Criterion, ...] = ()
    """What has to be looked up before, beside the account and the section."""
    lookups: tuple[ToolCall, ...] = ()
    """Calls that look it up, made once the record of the request, and the account, were opened."""
    otherwise: tuple[ToolCall, ...] = ()
    """Other calls that look it up as well; none where there is one way only."""
    team: str | None = None
    """Who takes over; `None` where the request is declined."""
    priority: Priority = "normal"
    """How urgent it is for who takes over."""
    message: str
    """What who asked is told."""
    states: Amounts | None = None
    """What the reply to a declined request must state, such as what was paid before, in cents; `None`: nothing."""
    others: tuple[tuple[str, Row], ...] = ()
    """Further sections by which it may be declined as well, each with the record that shows that it applies."""


def refusal_task(
    desk: CaseDraft[C],
    case: C,
    prompt: str,
    condition: RefusalCondition,
    *,
    account: Row,
    opening: Sequence[ToolCall],
    path: Sequence[ToolCall] = (),
) -> Task:
    """The task of refusing a request, or of handing it over, for the right reason and without doing anything else.

    Args:
        desk: The desk, its world already changed.
        case: The case.
        prompt: What the requester wrote.
        condition: Why it is refused.
        account: Whose account has to be looked at.
        opening: The calls by which an agent gets from the message to that account.
        path: The look-ups of the granted request, in their order. The refusal makes them as far as they are needed,
            since an agent learns only on the way which of the two it is.
    """
    facts = [*condition.facts, desk.account(account)]
    read = call("read_handbook", section_id=condition.section)
    close = _close(desk, case, condition)
    reply, finish = call("reply", message=condition.message), call("finish")
    other = condition.otherwise or condition.lookups
    looks = follow_path(path, [*opening, *condition.lookups], read)
    return Task(
        prompt=prompt,
        rubric=[*facts, *_expect(desk, case, condition, after=[fact.id for fact in facts])],
        oracle=[*looks, close, reply, finish],
        alternatives=[
            [read, *opening, *other, reply, close, finish],
            *([*looks, *_decline(desk, case, section, row, looks), reply, finish] for section, row in condition.others),
        ],
    )


def _decline(desk: CaseDraft[C], case: C, section: str, evidence: Row, looks: Sequence[ToolCall]) -> list[ToolCall]:
    """The calls that decline a case under a section, which is read first where `looks` does not read it."""
    read = call("read_handbook", section_id=section)
    return [*([] if read in looks else [read]), desk.cases.decline(case, section, evidence)]


def follow_path(path: Sequence[ToolCall], needed: Sequence[ToolCall], read: ToolCall) -> list[ToolCall]:
    """The look-ups of `path` until all of `needed` and `read` on it were made, then those that are not on it."""
    wanted = [*needed, read]
    last = max((place for place, made in enumerate(path) if made in wanted), default=-1)
    walked = list(path[: last + 1])
    return [*walked, *(made for made in wanted if made not in walked)]


def _close(desk: CaseDraft[C], case: C, condition: RefusalCondition) -> ToolCall:
    section, evidence = condition.section, condition.evidence
    if condition.team is None:
        return desk.cases.decline(case, section, evidence)
    return desk.cases.escalate(case, section, evidence, team=condition.team, priority=condition.priority)


def _expect(desk: CaseDraft[C], case: C, condition: RefusalCondition, *, after: Sequence[str]) -> list[Criterion]:
    section, evidence, team = condition.section, condition.evidence, condition.team
    if team is None:
        return desk.expect_declined(
            case, section, evidence, after=after, states=condition.states, others=condition.others
        )
    return desk.expect_escalated(case, section, evidence, team=team, priority=condition.priority, after=after)

"""A draft of a world of cases: planting the case that a task is about, and what its rubric expects of its end."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any, ClassVar, Generic, TypeVar, cast

from palaestra.envs.kit.cases import CaseRow, CaseType, Priority
from palaestra.envs.kit.handbook import Section, amount
from palaestra.envs.kit.letters import Letter, LetterKind, compose_body, compose_subject
from palaestra.envs.state.schema import number_of
from palaestra.envs.task import Draft
from palaestra.errors import UnknownNameError
from palaestra.records import Row, ToolCall, Verdict
from palaestra.rubrics import Allowance, Criterion, Evidence, expect_change, expect_read
from palaestra.rubrics.messages import Amounts, Recipient, describe_amounts, expect_stated_amount, expect_told

C = TypeVar("C", bound=Row)
_SKIPPED_NUMBERS = 200


class CaseDraft(Draft, Generic[C]):
    """A draft of a world whose tasks are cases; a world subclasses it and sets `cases`.

    Attributes:
        cases: What the world's cases are.
        letters: What requests of the split "heldout" are composed of, by kind; a world without any words all splits
            alike.
        address: The column of a requester's row that holds the address they write from.
        account_fields: The columns of a requester's row that decide whether a request is theirs and what they may
            have; empty for all.
    """

    _sender: str | None = None
    cases: ClassVar[CaseType]
    letters: ClassVar[Mapping[str, LetterKind]] = {}
    address: ClassVar[str] = "email"
    account_fields: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def grounds(cls) -> Mapping[str, frozenset[str]]:
        """The columns of a case that state why it was declined or handed over."""
        return {cls.cases.kind.table: frozenset({"policy_id", "evidence_id"})}

    @classmethod
    def person(cls) -> type[Row]:
        """Those who ask."""
        return cls.cases.requester

    def recipient(self) -> Recipient | None:
        """Whoever has the address that the request came from; a stranger where nobody does.

        A colleague, who has the address in another table, may be told anything.
        """
        if self._sender is None:
            return None
        requesters = self.state.find(self.cases.requester)
        found = [row for row in requesters if getattr(row, self.address) == self._sender]
        if found:
            return Recipient(key=found[0].id)
        return None if self._is_colleague(self._sender) else Recipient(key=None)

    def _is_colleague(self, address: str) -> bool:
        """Whether the address stands in a table of people who do not ask."""
        tables = (info for info in self.state.base.schema if info.kind is not self.cases.requester)
        kinds = [info.kind for info in tables if self.address in info.columns]
        return any(getattr(row, self.address) == address for kind in kinds for row in self.state.find(kind))

    # How a case begins

    def open_case(self, requester: Row, subject: str, **columns: Any) -> C:
        """Plant the open case that the task is about. Its number says nothing about the task."""
        kind = self.cases.kind
        number = number_of(self.state.next_id(kind)) + self.stream.below(_SKIPPED_NUMBERS)
        opened = self.start - timedelta(minutes=self.stream.between(5, 55))
        case = self.cases.new(f"{kind.prefix}{number}", requester.id, subject, opened, **columns)
        return cast("C", self.state.insert(case))

    def message(self, case: C, body: str, *, sender: str | None = None, reader: Row | None = None) -> str:
        """The task's prompt: the requester's message as it reached the desk.

        Args:
            case: The case.
            body: What they wrote.
            sender: The address that it came from; left out, the requester's.
            reader: Who reads the answers, where the address does not tell.
        """
        requester = self.state.get(self.cases.requester, getattr(case, self.cases.requester_column))
        address = sender or getattr(requester, self.address)
        noun = self.cases.noun.replace("_", " ").capitalize()
        self._sender = address if reader is None else getattr(reader, self.address)
        return f"{noun} {case.id}, from {address}: {cast('CaseRow', case).subject}\n\n{body}"

    def word_request(self, kind: str, *, subject: str, bodies: Sequence[str], **facts: str | Sequence[str]) -> Letter:
        """The request in one of its wordings: `word_subject` and `word_body` at once."""
        return Letter(subject=self.word_subject(kind, subject), body=self.word_body(kind, bodies, **facts))

    def word_subject(self, kind: str, subject: str) -> str:
        """The subject of a request; in the split "heldout", one that does not tell the kind.

        Args:
            kind: The kind of request, a name of `letters`.
            subject: Its subject in the words of training.

        Raises:
            UnknownNameError: the world has letters, and none of that kind.
        """
        letters = self._letters_of(kind)
        return subject if letters is None else compose_subject(letters, self.stream.split("letter"))

    def word_body(self, kind: str, bodies: Sequence[str], **facts: str | Sequence[str]) -> str:
        """What the requester writes; in the split "heldout", in words that no other split has.

        Args:
            kind: The kind of request, a name of `letters`.
            bodies: Its wordings of training, which all say the same.
            facts: What each wording says, by name; several texts where any of them will do.

        Raises:
            UnknownNameError: the world has letters, and none of that kind.
            ValueError: the facts are not those of the kind.
        """
        # Drawn in every split, so that what else a task draws does not depend on its wording.
        body = self.stream.choice(bodies) if len(bodies) > 1 else bodies[0]
        letters = self._letters_of(kind)
        return body if letters is None else compose_body(letters, facts, self.stream.split("letter"))

    def _letters_of(self, kind: str) -> LetterKind | None:
        """What the request is composed of; `None` where it has the words of training."""
        if self.letters and kind not in self.letters:
            raise UnknownNameError.of("kind of request", kind, self.letters)
        return self.letters[kind] if self.letters and self.split == "heldout" else None

    # What an agent has to find out

    def account(self, requester: Row, *more: str) -> Criterion:
        """Expect a look at the record of who asks: whether the request is theirs, and what they may have.

        Args:
            requester: Who asks.
            more: Further columns that decide, beside `account_fields`.
        """
        fields = (*self.account_fields, *more) if self.account_fields else None
        return expect_read(requester, fields=fields, id="saw-account")

    def read(self, section: str) -> Criterion:
        """Expect that the agent read a section of the handbook."""
        return expect_read(self.state.get(Section, section), fields=["body"], id=f"read-{section}")

    # How a case ends well

    def expect_resolved(
        self, case: C, *, after: Sequence[str], states: Amounts | None = None, names: Sequence[Row] = ()
    ) -> list[Criterion]:
        """Expect that who asked was told and the case resolved, once `after` was met.

        Args:
            case: The case.
            after: What must have been done before.
            states: What the reply must state as paid, credited or kept, in cents. `None`: nothing.
            names: The records that the reply must name.
        """
        text = f"Resolved the {self.cases.noun}."
        return [
            self.expect_reply(after=after, states=states, names=names),
            expect_change(case, {"status": "resolved"}, id="resolved", text=text, after=after),
        ]

    def expect_declined(
        self,
        case: C,
        section: str,
        *evidence: Row,
        after: Sequence[str],
        reply: bool = True,
        states: Amounts | None = None,
        others: Sequence[tuple[str, Row]] = (),
    ) -> list[Criterion]:
        """Expect that the request was declined by the right section, with a record that shows that it applies.

        Args:
            case: The case.
            section: The section of the handbook that refuses the request.
            evidence: The records of which any one shows that the section applies.
            after: What must have been found out before.
            reply: Whether to expect a reply too.
            states: What the reply must state, such as what was paid before, in cents. `None`: nothing.
            others: Further sections that refuse it as well, each with the record that shows it. Who cites one has
                read it.
        """
        facts = [*after, f"read-{section}"]
        shown = [row.id for row in evidence]
        grounds = expect_change(
            case,
            {"policy_id": section, "evidence_id": frozenset(shown) if len(shown) > 1 else shown[0]},
            id="grounds",
            text=f"Cited {section}, with {' or '.join(shown)} as the record that shows it.",
            after=facts,
        )
        return [
            self.read(section),
            expect_change(case, {"status": "declined"}, id="declined", text="Declined the request.", after=facts),
            _accept_others(grounds, case, others),
            *([self.expect_reply(after=facts, states=states)] if reply else []),
        ]

    def expect_escalated(
        self, case: C, section: str, evidence: Row, *, team: str, priority: Priority, after: Sequence[str]
    ) -> list[Criterion]:
        """Expect that the case was handed to `team` by the right section, with a record that shows that it applies."""
        facts = [*after, f"read-{section}"]
        return [
            self.read(section),
            expect_change(
                case,
                {"status": "escalated", "team": team, "priority": priority},
                id="escalated",
                text=f"Escalated to {team} with {priority} priority.",
                after=facts,
            ),
            expect_change(
                case,
                {"policy_id": section, "evidence_id": evidence.id},
                id="grounds",
                text=f"Cited {section}, with {evidence.id} as the record that shows why.",
                after=facts,
            ),
            self.expect_reply(after=facts),
        ]

    def expect_reply(
        self,
        *,
        after: Sequence[str],
        states: Amounts | None = None,
        day: date | None = None,
        names: Sequence[Row] = (),
    ) -> Criterion:
        """Expect that who asked got a reply that tells something once `after` was met.

        Args:
            after: What must have been found out or done before.
            states: The amounts that the reply must state, in cents. `None`: none.
            day: The day that the reply must state, where no amount is. `None`: none.
            names: The records that the same reply must name, by their ids or the numbers of these.
        """
        if states is None:
            what = "once there was something to tell" if day is None else f"the day: {day}"
            text = f"Told the {self.cases.asker}{',' if day is None else ''} {what}."
            told = expect_told("reply", id="told", day=day, text=text, points=10, after=after)
        else:
            text = f"Told the {self.cases.asker} the amount: {describe_amounts(states, amount)}."
            told = expect_stated_amount("reply", states, id="told", text=text, points=10, after=after)
        return _naming(told, names) if names else told

    def closing_calls(self, case: C, message: str) -> list[ToolCall]:
        """The calls that end a case well: tell who asked, resolve the case, finish."""
        return self.cases.closing_calls(case, message)

    def decline_calls(self, case: C, section: str, evidence: Row, message: str) -> list[ToolCall]:
        """The calls that end a case by declining it."""
        return self.cases.decline_calls(case, section, evidence, message)


def _accept_others(grounds: Criterion, case: Row, others: Sequence[tuple[str, Row]]) -> Criterion:
    """The criterion about grounds that accepts further pairs of a section that was read and a record."""
    if not others:
        return grounds
    pairs = [(section, row.id) for section, row in others]
    cited = [
        (section, expect_change(case, {"policy_id": section, "evidence_id": key}, id=section)) for section, key in pairs
    ]

    def check(evidence: Evidence) -> Verdict:
        verdict = grounds.check(evidence)
        read = (c for section, c in cited if evidence.has_shown(Section.table, section, frozenset({"body"})))
        return next((found for c in read if (found := c.check(evidence)).met), verdict) if not verdict.met else verdict

    said = "".join(f" Or: {section}, with {key}." for section, key in pairs)
    allows = (*grounds.allows, *(allowed for _, c in cited for allowed in c.allows))
    return replace(grounds, check=check, allows=allows, text=f"{grounds.text}{said}")


def _naming(told: Criterion, rows: Sequence[Row]) -> Criterion:
    """The criterion about a reply, for a reply that names these records as well."""

    def check(evidence: Evidence) -> Verdict:
        verdict = told.check(evidence)
        texts = [value for value in evidence.event.arguments.values() if isinstance(value, str)]
        numbers = {number for text in texts for number in re.findall(r"\d+", text)}
        unnamed = [row.id for row in rows if str(number_of(row.id)) not in numbers]
        return Verdict(met=False, reason=f"does not name {', '.join(unnamed)}") if verdict.met and unnamed else verdict

    keys = [row.id for row in rows]
    return replace(told, check=check, text=f"{told.text} Named {', '.join(keys)}.", names=told.names | set(keys))


def letters_of(draft: type[Draft]) -> Mapping[str, LetterKind]:
    """What the held-out requests of drafts of this class are composed of; empty where they have training's words."""
    return draft.letters if issubclass(draft, CaseDraft) else {}


def permit_change(row: Row, *columns: str) -> Allowance:
    """Permit that these columns of `row` change, to whatever the tools make of them."""
    return Allowance(table=row.table, key=row.id, columns=frozenset(columns))

"""A draft of a world of cases: planting the case that a task is about, and what its rubric expects of its end."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, ClassVar, Generic, TypeVar, cast

from palaestra.envs.kit.cases import CaseRow, CaseType, Priority
from palaestra.envs.kit.handbook import Section
from palaestra.envs.state.schema import number_of
from palaestra.envs.task import Draft
from palaestra.records import Row, ToolCall
from palaestra.rubrics import Allowance, Criterion, expect_call, expect_change, expect_read

C = TypeVar("C", bound=Row)
_SKIPPED_NUMBERS = 200


class CaseDraft(Draft, Generic[C]):
    """A draft of a world whose tasks are cases; a world subclasses it and sets `cases`.

    Attributes:
        cases: What the world's cases are.
        address: The column of a requester's row that holds the address they write from.
    """

    cases: ClassVar[CaseType]
    address: ClassVar[str] = "email"

    # How a case begins

    def open_case(self, requester: Row, subject: str, **columns: Any) -> C:
        """Plant the open case that the task is about. Its number says nothing about the task."""
        kind = self.cases.kind
        number = number_of(self.state.next_id(kind)) + self.stream.below(_SKIPPED_NUMBERS)
        opened = self.start - timedelta(minutes=self.stream.between(5, 55))
        case = self.cases.new(f"{kind.prefix}{number}", requester.id, subject, opened, **columns)
        return cast("C", self.state.insert(case))

    def message(self, case: C, body: str, *, sender: str | None = None) -> str:
        """The task's prompt: the requester's message as it reached the desk."""
        requester = self.state.get(self.cases.requester, getattr(case, self.cases.requester_column))
        address = sender or getattr(requester, self.address)
        noun = self.cases.noun.replace("_", " ").capitalize()
        return f"{noun} {case.id}, from {address}: {cast('CaseRow', case).subject}\n\n{body}"

    # What an agent has to find out

    def account(self, requester: Row) -> Criterion:
        """Expect a look at the record of who asks: whether the request is theirs, and what they may have."""
        return expect_read(requester, id="saw-account")

    def read(self, section: str) -> Criterion:
        """Expect that the agent read a section of the handbook."""
        return expect_read(self.state.get(Section, section), id=f"read-{section}")

    # How a case ends well

    def resolved(self, case: C, *, after: Sequence[str]) -> list[Criterion]:
        """Expect that who asked was told and the case resolved, once `after` was met."""
        text = f"Resolved the {self.cases.noun}."
        return [
            self.expect_reply(after=after),
            expect_change(case, {"status": "resolved"}, id="resolved", text=text, after=after),
        ]

    def declined(self, case: C, section: str, *evidence: Row, after: Sequence[str]) -> list[Criterion]:
        """Expect that the request was declined by the right section, with a record that shows that it applies."""
        facts = [*after, f"read-{section}"]
        shown = [row.id for row in evidence]
        return [
            self.read(section),
            expect_change(
                case,
                {
                    "status": "declined",
                    "policy_id": section,
                    "evidence_id": frozenset(shown) if len(shown) > 1 else shown[0],
                },
                id="declined",
                text=f"Declined the request under {section}, with {' or '.join(shown)} as the record that shows it.",
                after=facts,
            ),
            self.expect_reply(after=facts),
        ]

    def escalated(
        self, case: C, section: str, evidence: Row, *, team: str, priority: Priority, after: Sequence[str]
    ) -> list[Criterion]:
        """Expect that the case was handed to `team` by the right section, with a record that shows that it applies."""
        facts = [*after, f"read-{section}"]
        handed = {
            "status": "escalated",
            "team": team,
            "priority": priority,
            "policy_id": section,
            "evidence_id": evidence.id,
        }
        return [
            self.read(section),
            expect_change(
                case,
                handed,
                id="escalated",
                text=f"Escalated to {team} under {section}, with {evidence.id} as the record that shows why.",
                after=facts,
            ),
            self.expect_reply(after=facts),
        ]

    def expect_reply(self, *, after: Sequence[str]) -> Criterion:
        """Expect that who asked got a reply once `after` was met."""
        text = f"Told the {self.cases.asker}, once there was something to tell."
        return expect_call("reply", id="told", text=text, points=10, layer="task", after=after)

    def closing_calls(self, case: C, message: str) -> list[ToolCall]:
        """The calls that end a case well: tell who asked, resolve the case, finish."""
        return self.cases.closing_calls(case, message)

    def decline_calls(self, case: C, section: str, evidence: Row, message: str) -> list[ToolCall]:
        """The calls that end a case by declining it."""
        return self.cases.decline_calls(case, section, evidence, message)


def permit_change(row: Row, *columns: str) -> Allowance:
    """Permit that these columns of `row` change, to whatever the tools make of them."""
    return Allowance(table=row.table, key=row.id, columns=frozenset(columns))

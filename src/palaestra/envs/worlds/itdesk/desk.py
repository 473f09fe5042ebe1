"""A draft of the ITDesk world, and how its tasks end: with work that is done, or with a request that is refused."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from palaestra.envs.kit import CaseDraft, LetterKind, Priority, RefusalCondition, refusal_task
from palaestra.envs.task import Task, call
from palaestra.envs.worlds.itdesk.letters import LETTERS
from palaestra.envs.worlds.itdesk.policy import DeskRules
from palaestra.envs.worlds.itdesk.population.people import AGENT_ID
from palaestra.envs.worlds.itdesk.reasons import REASONS
from palaestra.envs.worlds.itdesk.schema import (
    AccessApproval,
    ApprovalDelegation,
    ServiceRequest,
    StaffMember,
    Team,
    UserAccount,
)
from palaestra.envs.worlds.itdesk.tools.toolbox import CASES
from palaestra.records import Row, ToolCall
from palaestra.rubrics import Allowance, Criterion
from palaestra.rubrics.messages import Recipient


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskRefusal:
    """Why a request must not be fulfilled."""

    section: str
    evidence: Row
    """The record that shows it."""
    facts: tuple[Criterion, ...] = ()
    """What shows it, beside the account of who asks."""
    looks: tuple[ToolCall, ...] = ()
    """The calls that look it up."""
    team: Team | None = None
    """Who takes over; `None` where the request is declined."""
    priority: Priority = "normal"
    others: tuple[Row, ...] = ()
    """Further records that show it as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a request is looked into and, where nothing stands against it, fulfilled."""

    looks: tuple[ToolCall, ...]
    """The look-ups after those of the request and of who asks, in their order."""
    facts: tuple[Criterion, ...]
    """What has to be known, beside the account of who asks and the sections."""
    sections: tuple[str, ...]
    """The sections of the handbook that bear on it, in their order."""
    work: tuple[ToolCall, ...]
    done: tuple[Criterion, ...]
    """What the rows must hold after the work; what has to be known before it is added."""
    allow: tuple[Allowance, ...] = ()
    message: str
    """What who asked is told."""


class ITDeskDraft(CaseDraft[ServiceRequest]):
    """A draft of this world."""

    cases = CASES
    letters: ClassVar[Mapping[str, LetterKind]] = LETTERS
    account_fields: ClassVar[tuple[str, ...]] = ("status", "contract")
    rules: DeskRules
    planting_rules: DeskRules

    def open_request(
        self, asker: StaffMember, kind: str, *, subject: str, bodies: Sequence[str], **facts: str
    ) -> tuple[ServiceRequest, str]:
        """The request that the task is about, and its prompt, in words of the split."""
        worded = [body.format(**facts) for body in bodies]
        letter = self.word_request(kind, subject=subject, bodies=worded, **facts)
        case = self.open_case(asker, letter.subject)
        return case, self.message(case, letter.body)

    def pick_member(self, where: Callable[[StaffMember], bool] = lambda _: True, *, what: str = "") -> StaffMember:
        """Somebody of permanent staff at work, under a lead, for whom `where` holds."""
        return self.pick(StaffMember, lambda one: is_ordinary(one) and where(one), what=what or "member of staff")

    def draw_margin(self) -> int:
        """How far from a limit of the handbook a day or a count lies: mostly at it."""
        return 0 if self.stream.chance(60) else self.stream.between(1, 4)

    def lead_of(self, one: StaffMember) -> StaffMember:
        """Somebody's line manager."""
        return self.state.get(StaffMember, one.manager_id or AGENT_ID)

    def other_lead(self, one: StaffMember) -> StaffMember:
        """A lead who is not somebody's line manager."""
        leads = self.state.find(StaffMember, manager_id=AGENT_ID)
        return self.stream.choice([lead for lead in leads if lead.id != one.manager_id])

    def account_of(self, one: StaffMember) -> UserAccount:
        """Somebody's account."""
        return self.state.find(UserAccount, staff_member_id=one.id)[0]

    def recipient(self) -> Recipient | None:
        """Who reads the messages: they know of those whom they manage, who decide for them, and of their rota."""
        reader = super().recipient()
        if reader is None or reader.key is None:
            return reader
        me = self.state.get(StaffMember, reader.key)
        others = self.state.find(StaffMember)
        known = {one.id for one in others if one.manager_id == me.id or (me.rota is not None and one.rota == me.rota)}
        known |= {one.approver_id for one in self.state.find(AccessApproval, staff_member_id=me.id)}
        known |= {one.delegate_id for one in self.state.find(ApprovalDelegation, staff_member_id=me.manager_id)}
        return replace(reader, also=frozenset(known | {me.manager_id or me.id}))

    def opening(self, case: ServiceRequest) -> list[ToolCall]:
        """The calls that begin every request."""
        return [
            call("get_service_request", service_request_id=case.id),
            call("get_staff_member", staff_member_id=case.staff_member_id),
        ]


def is_ordinary(one: StaffMember) -> bool:
    """Whether somebody is permanent staff at work, under a lead."""
    return one.status == "active" and one.contract == "permanent" and one.manager_id not in (None, AGENT_ID)


def look_for(person: StaffMember) -> tuple[ToolCall, ToolCall]:
    """The calls that find a person by their name and show them."""
    return call("search_staff", query=person.name), call("get_staff_member", staff_member_id=person.id)


def read_calls(sections: Sequence[str]) -> list[ToolCall]:
    """The calls that read sections of the handbook."""
    return [call("read_handbook", section_id=section) for section in sections]


def settle(
    desk: ITDeskDraft, case: ServiceRequest, prompt: str, plan: Plan, refusals: Sequence[DeskRefusal | None] = ()
) -> Task:
    """The task of a request: the work or, where one of the refusals is given, the first of them.

    Both make the same look-ups in the same order, as far as they are needed.
    """
    found = [refusal for refusal in refusals if refusal is not None]
    if found:
        return _refuse(desk, case, prompt, plan, found[0])
    asker = desk.state.get(StaffMember, case.staff_member_id)
    known = [*plan.facts, desk.account(asker), *(desk.read(section) for section in plan.sections)]
    after = tuple(fact.id for fact in known)
    return Task(
        prompt=prompt,
        rubric=[
            *known,
            *(replace(one, after=after) for one in plan.done),
            *desk.expect_resolved(case, after=[one.id for one in plan.done]),
        ],
        allow=plan.allow,
        oracle=[
            *desk.opening(case),
            *plan.looks,
            *read_calls(plan.sections),
            *plan.work,
            *desk.closing_calls(case, plan.message),
        ],
        max_turns=40,
    )


def _refuse(desk: ITDeskDraft, case: ServiceRequest, prompt: str, plan: Plan, refusal: DeskRefusal) -> Task:
    asker = desk.state.get(StaffMember, case.staff_member_id)
    condition = RefusalCondition(
        section=refusal.section,
        evidence=refusal.evidence,
        facts=refusal.facts,
        lookups=refusal.looks,
        team=refusal.team,
        priority=refusal.priority,
        message=REASONS[refusal.section],
        others=tuple((refusal.section, row) for row in refusal.others),
    )
    path = [*desk.opening(case), *plan.looks, *read_calls(plan.sections)]
    task = refusal_task(desk, case, prompt, condition, account=asker, opening=desk.opening(case), path=path)
    return replace(task, max_turns=40)

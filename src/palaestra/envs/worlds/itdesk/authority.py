"""Requests for a role: what has to be looked up, which sections bear on it, and what stands against it.

One function decides them all from the rows, so that every family of requests for roles makes the same look-ups in the
same order for as long as it sees the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from palaestra.envs.task import Task, call
from palaestra.envs.worlds.itdesk.desk import DeskRefusal, ITDeskDraft, Plan, settle
from palaestra.envs.worlds.itdesk.policy import is_fresh
from palaestra.envs.worlds.itdesk.schema import (
    AccessApproval,
    AccessGrant,
    AccessRole,
    ApprovalDelegation,
    BusinessSystem,
    ServiceRequest,
    StaffMember,
    TrainingRecord,
)
from palaestra.records import Json, ToolCall
from palaestra.rubrics import Criterion, expect_read, expect_row


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleRequest:
    """A request for a role, and the approvals on which it rests."""

    case: ServiceRequest
    prompt: str
    asker: StaffMember
    role: AccessRole
    approval: AccessApproval | None = None
    """The last word in the line manager's place."""
    owner_approval: AccessApproval | None = None
    """The last word in the system owner's place."""
    until: date | None = None
    """The last day that is asked for."""

    @property
    def approvals(self) -> tuple[AccessApproval, ...]:
        """Both, as far as there are any."""
        return tuple(one for one in (self.approval, self.owner_approval) if one is not None)


def decide_role(desk: ITDeskDraft, request: RoleRequest) -> Task:
    """The task of granting a role or, where something stands against it, of refusing it."""
    return _RoleCase(desk, request).settle()


class _RoleCase:
    """The rows that bear on a request for a role."""

    def __init__(self, desk: ITDeskDraft, request: RoleRequest) -> None:
        self._desk, self._request = desk, request
        self._asker, self._role = desk.state.get(StaffMember, request.asker.id), request.role
        self._system = desk.state.get(BusinessSystem, self._role.system_id)
        approval = request.approval
        self._delegate = (
            desk.state.get(StaffMember, approval.approver_id)
            if approval is not None and approval.approver_id != self._asker.manager_id
            else None
        )
        self._delegations = [
            one
            for one in desk.state.find(ApprovalDelegation, staff_member_id=self._asker.manager_id)
            if self._delegate is not None and one.delegate_id == self._delegate.id
        ]
        trainings = desk.state.find(TrainingRecord, staff_member_id=self._asker.id)
        self._training = next((one for one in trainings if one.course == self._role.course), None)
        grants = desk.state.find(AccessGrant, staff_member_id=self._asker.id)
        self._grants = grants
        self._other = next((one for one in grants if one.role_id == self._role.excludes_id), None)

    def settle(self) -> Task:
        """Grant the role, or refuse it for the first reason in the order of the look-ups."""
        request = self._request
        return settle(self._desk, request.case, request.prompt, self._plan(), list(self._refusals()))

    # The look-ups, in their order

    def _look_role(self) -> tuple[ToolCall, ...]:
        return call("search_roles", query=self._role.name), call("get_access_role", access_role_id=self._role.id)

    def _look_system(self) -> tuple[ToolCall, ...]:
        needed = self._role.approved_by != "manager"
        return (call("get_business_system", business_system_id=self._system.id),) if needed else ()

    def _look_approvals(self) -> tuple[ToolCall, ...]:
        return (call("get_approvals", staff_member_id=self._asker.id),)

    def _look_delegate(self) -> tuple[ToolCall, ...]:
        if self._delegate is None:
            return ()
        return (
            call("get_delegations", staff_member_id=self._asker.manager_id),
            call("get_staff_member", staff_member_id=self._delegate.id),
        )

    def _look_training(self) -> tuple[ToolCall, ...]:
        return (call("get_trainings", staff_member_id=self._asker.id),) if self._role.course else ()

    def _look_grants(self) -> tuple[ToolCall, ...]:
        return (call("get_grants", staff_member_id=self._asker.id),) if self._role.excludes_id else ()

    # What they show

    def _saw_role(self) -> Criterion:
        return expect_read(self._role, fields=["approved_by", "course", "excludes_id", "kind"], id="saw-role")

    def _saw_system(self) -> Criterion:
        return expect_read(self._system, fields=["owner_id"], id="saw-owner")

    def _saw_approvals(self, *approvals: AccessApproval) -> Criterion:
        first, *others = approvals
        fields = ["approver_id", "decided", "decision", "role_id"]
        return expect_read(first, *others, fields=fields, id="saw-approvals")

    def _saw_delegation(self) -> Criterion:
        first, *others = self._delegations
        return expect_read(first, *others, fields=["delegate_id", "first", "last", "scope"], id="saw-delegation")

    def _saw_delegate(self) -> Criterion:
        assert self._delegate is not None, "only a delegate's approval is looked into"
        return expect_read(self._delegate, fields=["status"], id="saw-delegate")

    def _facts(self) -> Iterator[Criterion]:
        yield self._saw_role()
        if self._look_system():
            yield self._saw_system()
        yield self._saw_approvals(*self._request.approvals)
        if self._delegate is not None:
            yield self._saw_delegation()
            yield self._saw_delegate()
        if self._training is not None:
            yield expect_read(self._training, fields=["course", "passed"], id="saw-training")
        if self._role.excludes_id and self._grants:
            yield expect_read(*self._grants, fields=["role_id", "status"], id="saw-grants")

    def _sections(self) -> Iterator[str]:
        yield "ACC-1"
        if self._delegate is not None:
            yield from ("ACC-2", "LEA-3")
        if self._role.approved_by == "both":
            yield "ACC-3"
        if self._role.course:
            yield "ACC-4"
        if self._role.excludes_id:
            yield "ACC-5"
        if self._asker.contract == "contractor" or self._role.kind == "administrator":
            yield "ACC-7"

    def _plan(self) -> Plan:
        request = self._request
        until = self._asker.ends if self._asker.contract == "contractor" else request.until
        granted: dict[str, Json] = {"staff_member_id": self._asker.id, "role_id": self._role.id}
        if request.approval is not None:
            granted["approval_id"] = request.approval.id
        if request.owner_approval is not None:
            granted["owner_approval_id"] = request.owner_approval.id
        arguments = {**granted, **({} if until is None else {"until": until.isoformat()})}
        nothing = {"approval_id": None, "owner_approval_id": None}
        return Plan(
            looks=(
                *self._look_role(),
                *self._look_system(),
                *self._look_approvals(),
                *self._look_delegate(),
                *self._look_training(),
                *self._look_grants(),
            ),
            facts=tuple(self._facts()),
            sections=tuple(self._sections()),
            work=(call("grant_access", **arguments),),
            done=(expect_row(AccessGrant, {**nothing, **granted, "until": until, "status": "active"}, id="granted"),),
            message="You have the role now.",
        )

    # What stands against it

    def _refusals(self) -> Iterator[DeskRefusal]:
        yield from self._find_lapsed()
        yield from self._not_delegated()
        yield from self._not_four_eyes()
        yield from self._not_qualified()

    def _find_lapsed(self) -> Iterator[DeskRefusal]:
        for one in self._request.approvals:
            fresh = is_fresh(one.decided, self._desk.today, self._desk.rules.approval_days)
            if one.decision != "approved" or not fresh:
                looks = (*self._look_role(), *self._look_approvals())
                yield DeskRefusal(section="ACC-1", evidence=one, facts=(self._saw_approvals(one),), looks=looks)

    def _not_delegated(self) -> Iterator[DeskRefusal]:
        approval = self._request.approval
        if approval is None or self._delegate is None:
            return
        looks = (*self._look_role(), *self._look_approvals(), *self._look_delegate())
        saw = self._saw_approvals(approval)
        days = [one for one in self._delegations if one.scope == "access"]
        if not any(one.first <= approval.decided <= one.last for one in days):
            first, *others = [*days, *(one for one in self._delegations if one not in days)]
            yield DeskRefusal(
                section="ACC-2",
                evidence=first,
                facts=(saw, self._saw_delegation()),
                looks=looks[:-1],
                others=tuple(others),
            )
        if self._delegate.status == "left":
            facts = (saw, self._saw_delegate())
            yield DeskRefusal(
                section="LEA-3",
                evidence=self._delegate,
                facts=facts,
                looks=(*self._look_role(), *self._look_approvals(), looks[-1]),
            )

    def _not_four_eyes(self) -> Iterator[DeskRefusal]:
        if self._role.approved_by != "both":
            return
        first, second = self._request.approvals
        if second.approver_id in (first.approver_id, self._asker.id):
            looks = (*self._look_role(), *self._look_system(), *self._look_approvals())
            facts = (self._saw_approvals(first, second),)
            others = (first,) if first.approver_id == second.approver_id else ()
            yield DeskRefusal(section="ACC-3", evidence=second, facts=facts, looks=looks, others=others)

    def _not_qualified(self) -> Iterator[DeskRefusal]:
        rules, today = self._desk.rules, self._desk.today
        training, other = self._training, self._other
        saw_role = self._saw_role()
        if self._role.course and training and not is_fresh(training.passed, today, rules.training_days):
            saw = expect_read(training, fields=["course", "passed"], id="saw-training")
            looks = (*self._look_role(), *self._look_training())
            yield DeskRefusal(section="ACC-4", evidence=training, facts=(saw_role, saw), looks=looks)
        if other is not None and other.status == "active":
            saw = expect_read(other, fields=["role_id", "status"], id="saw-other")
            looks = (*self._look_role(), *self._look_grants())
            yield DeskRefusal(section="ACC-5", evidence=other, facts=(saw_role, saw), looks=looks)
        if self._asker.contract == "contractor" and self._role.kind == "administrator":
            yield DeskRefusal(section="ACC-7", evidence=self._role, facts=(saw_role,), looks=self._look_role())

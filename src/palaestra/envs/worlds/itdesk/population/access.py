"""The past of access: who has which role, on whose approval, who stood in for whom, and who was trained in what."""

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import get_args

from palaestra.envs.worlds.itdesk.schema import (
    AccessApproval,
    AccessGrant,
    AccessRole,
    ApprovalDelegation,
    BusinessSystem,
    Course,
    Scope,
    StaffMember,
    TrainingRecord,
)
from palaestra.records import Row
from palaestra.seeding import Stream


def draw_access(
    stream: Stream,
    today: date,
    staff: Sequence[StaffMember],
    systems: Sequence[BusinessSystem],
    roles: Sequence[AccessRole],
) -> Iterator[Row]:
    """Approvals, the grants that rest on them, delegations and courses."""
    yield from _Past(stream.split("grants"), today, systems, roles).rows(staff)
    yield from _delegations(stream.split("delegations"), today, staff)
    yield from _trainings(stream.split("trainings"), today, staff)


class _Past:
    """Approvals and grants, numbered as they are made."""

    def __init__(
        self, stream: Stream, today: date, systems: Sequence[BusinessSystem], roles: Sequence[AccessRole]
    ) -> None:
        self._stream, self._today = stream, today
        self._owners = {system.id: system.owner_id for system in systems}
        self._roles = roles
        self._approvals = self._grants = 0

    def rows(self, staff: Sequence[StaffMember]) -> Iterator[Row]:
        for one in staff:
            if one.status == "joining" or one.manager_id is None:
                continue
            own = [r for r in self._roles if r.audience in ("all", one.department) and r.kind in ("reader", "editor")]
            for role in self._stream.sample(own, min(len(own), self._stream.between(2, 3))):
                yield from self._grant(one, role)
            refused = self._stream.choice([r for r in self._roles if r.kind == "administrator"])
            yield self._approval(one, refused, self._owners[refused.system_id], 200, refused=True)

    def _grant(self, one: StaffMember, role: AccessRole) -> Iterator[Row]:
        ago = self._stream.between(120, 390)
        asked = self._owners[role.system_id] if role.approved_by == "owner" else (one.manager_id or "")
        approval = self._approval(one, role, asked, ago + self._stream.between(1, 9))
        yield approval
        left = one.status == "left"
        self._grants += 1
        yield AccessGrant(
            id=f"GRA-{5000 + self._grants}",
            staff_member_id=one.id,
            role_id=role.id,
            granted=self._today - timedelta(days=ago),
            until=one.ends if one.contract == "contractor" else None,
            status="revoked" if left or self._stream.chance(12) else "active",
            approval_id=approval.id if role.approved_by == "manager" else None,
            owner_approval_id=approval.id if role.approved_by == "owner" else None,
        )

    def _approval(
        self, one: StaffMember, role: AccessRole, approver: str, ago: int, *, refused: bool = False
    ) -> AccessApproval:
        self._approvals += 1
        return AccessApproval(
            id=f"APR-{4000 + self._approvals}",
            staff_member_id=one.id,
            role_id=role.id,
            approver_id=approver,
            decided=self._today - timedelta(days=ago),
            decision="refused" if refused else "approved",
        )


def _delegations(stream: Stream, today: date, staff: Sequence[StaffMember]) -> Iterator[ApprovalDelegation]:
    """Each lead was stood in for twice, some time ago."""
    number = 0
    for lead in (one for one in staff if one.manager_id == "STF-101"):
        team = [one for one in staff if one.manager_id == lead.id and one.status == "active"]
        for scope in stream.sample(list[Scope](get_args(Scope)), 2):
            last = today - timedelta(days=stream.between(60, 200))
            number += 1
            yield ApprovalDelegation(
                id=f"DLG-{700 + number}",
                staff_member_id=lead.id,
                delegate_id=stream.choice(team).id,
                first=last - timedelta(days=stream.between(5, 20)),
                last=last,
                scope=scope,
            )


def _trainings(stream: Stream, today: date, staff: Sequence[StaffMember]) -> Iterator[TrainingRecord]:
    """One or two courses of everybody."""
    number = 0
    for one in staff:
        if one.status == "joining":
            continue
        for course in stream.sample(list[Course](get_args(Course)), stream.between(1, 2)):
            number += 1
            passed = today - timedelta(days=stream.between(20, 380))
            yield TrainingRecord(id=f"TRN-{6000 + number}", staff_member_id=one.id, course=course, passed=passed)

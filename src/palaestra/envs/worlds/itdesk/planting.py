"""Rows that families plant: approvals and grants, with the history that they need."""

from datetime import date, timedelta
from typing import Literal

from palaestra.envs.worlds.itdesk.desk import ITDeskDraft
from palaestra.envs.worlds.itdesk.schema import AccessApproval, AccessGrant, AccessRole, BusinessSystem, StaffMember


def plant_approval(
    desk: ITDeskDraft,
    person: StaffMember,
    role: AccessRole,
    approver_id: str,
    decided: date,
    decision: Literal["approved", "refused"] = "approved",
) -> AccessApproval:
    """Somebody's word on a role for a person."""
    return desk.state.insert(
        AccessApproval(
            id=desk.state.next_id(AccessApproval),
            staff_member_id=person.id,
            role_id=role.id,
            approver_id=approver_id,
            decided=decided,
            decision=decision,
        )
    )


def plant_grant(
    desk: ITDeskDraft,
    person: StaffMember,
    role: AccessRole,
    *,
    granted: date,
    until: date | None = None,
    status: Literal["active", "revoked"] = "active",
) -> AccessGrant:
    """A grant with the approvals that it rests on."""
    keys: dict[str, str | None] = {"approval_id": None, "owner_approval_id": None}
    decided = granted - timedelta(days=2)
    if role.approved_by in ("manager", "both"):
        keys["approval_id"] = plant_approval(desk, person, role, person.manager_id or person.id, decided).id
    if role.approved_by in ("owner", "both"):
        owner = desk.state.get(BusinessSystem, role.system_id).owner_id
        keys["owner_approval_id"] = plant_approval(desk, person, role, owner, decided).id
    return desk.state.insert(
        AccessGrant(
            id=desk.state.next_id(AccessGrant),
            staff_member_id=person.id,
            role_id=role.id,
            granted=granted,
            until=until,
            status=status,
            **keys,
        )
    )

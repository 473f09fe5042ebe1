"""Systems and the roles that people may have in them."""

from collections.abc import Sequence
from typing import get_args

from palaestra.envs.worlds.itdesk.schema import (
    AccessRole,
    ApprovedBy,
    Audience,
    BusinessSystem,
    Course,
    RoleKind,
    StaffMember,
    Weekday,
)
from palaestra.seeding import Stream

_SYSTEMS: tuple[tuple[str, Audience, Course], ...] = (
    ("Ledgerline", "finance", "payments"),
    ("Paytrail", "finance", "payments"),
    ("Dealhub", "sales", "data-protection"),
    ("Quotewise", "sales", "data-protection"),
    ("Forgebase", "engineering", "cloud"),
    ("Testbench", "engineering", "safety"),
    ("Peoplebook", "people", "data-protection"),
    ("Hireflow", "people", "data-protection"),
    ("Cloudgate", "it", "cloud"),
    ("Assetbase", "it", "safety"),
    ("Docstore", "all", "data-protection"),
    ("Meetroom", "all", "safety"),
    ("Plantview", "all", "safety"),
)
_APPROVED_BY: dict[RoleKind, ApprovedBy] = {
    "reader": "manager",
    "editor": "manager",
    "approver": "owner",
    "administrator": "both",
}
_EXCLUDES: dict[RoleKind, RoleKind] = {"editor": "approver", "approver": "editor"}


def draw_systems(stream: Stream, staff: Sequence[StaffMember]) -> list[BusinessSystem]:
    """The systems. No owner leads a department, so that an owner's word is not a line manager's."""
    owners = stream.sample([s for s in staff if s.status == "active" and s.contract == "permanent" and s.rota is None
                            and s.manager_id not in (None, "STF-101")], len(_SYSTEMS))  # fmt: skip
    return [
        BusinessSystem(
            id=f"SYS-{21 + n}", name=name, owner_id=owners[n].id, window=stream.choice(get_args(Weekday)[:5])
        )
        for n, (name, _, _) in enumerate(_SYSTEMS)
    ]


def draw_roles(systems: Sequence[BusinessSystem]) -> list[AccessRole]:
    """Four roles in each system; approvers need a course, and editors approve nothing."""
    rows: list[AccessRole] = []
    kinds: tuple[RoleKind, ...] = get_args(RoleKind)
    for place, (system, (name, audience, course)) in enumerate(zip(systems, _SYSTEMS, strict=True)):
        keys = {kind: f"ROL-{301 + len(kinds) * place + n}" for n, kind in enumerate(kinds)}
        for kind in kinds:
            other = _EXCLUDES.get(kind)
            rows.append(
                AccessRole(
                    id=keys[kind],
                    system_id=system.id,
                    name=f"{name} {kind}",
                    group=f"grp-{name.lower()}-{kind}",
                    kind=kind,
                    audience=audience,
                    approved_by=_APPROVED_BY[kind],
                    course=course if kind == "approver" else None,
                    excludes_id=None if other is None else keys[other],
                )
            )
    return rows

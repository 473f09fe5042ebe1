"""Requests for roles: on the line manager's, the owner's or a delegate's approval, with a course, apart from others."""

from collections.abc import Sequence
from datetime import date, timedelta

from palaestra.envs.task import Task, family
from palaestra.envs.worlds.itdesk.authority import RoleRequest, decide_role
from palaestra.envs.worlds.itdesk.desk import ITDeskDraft
from palaestra.envs.worlds.itdesk.planting import plant_approval, plant_grant
from palaestra.envs.worlds.itdesk.schema import (
    AccessGrant,
    AccessRole,
    ApprovalDelegation,
    BusinessSystem,
    RoleKind,
    Scope,
    ServiceRequest,
    StaffMember,
    TrainingRecord,
)

_BODIES = (
    "I need the role {role}. Please give it to me.",
    "Please give me the role {role}; I have an approval.",
    "My new task asks for the role {role}. Could you grant it?",
)
_BODIES_UNTIL = (
    "I need the role {role} until {day}. Please give it to me for that time.",
    "Please give me the role {role}. Its last day should be {day}.",
)


def _choose_role(desk: ITDeskDraft, asker: StaffMember, kinds: Sequence[RoleKind]) -> AccessRole:
    """A role of these kinds that fits somebody's department and that they never had or asked for."""
    had = {grant.role_id for grant in desk.state.find(AccessGrant, staff_member_id=asker.id)}

    def fits(role: AccessRole) -> bool:
        owner = desk.state.get(BusinessSystem, role.system_id).owner_id
        apart = role.id not in had and role.excludes_id not in had
        return role.kind in kinds and role.audience in ("all", asker.department) and apart and owner != asker.id

    return desk.stream.choice([role for role in desk.state.find(AccessRole) if fits(role)])


def _ask(desk: ITDeskDraft, asker: StaffMember, role: AccessRole) -> tuple[ServiceRequest, str]:
    return desk.open_request(asker, "role", subject="Access", bodies=_BODIES, role=role.name)


def _plant_history(desk: ITDeskDraft, asker: StaffMember, role: AccessRole, *, days: int) -> None:
    """An earlier approval of the same role, which has long lapsed."""
    plant_approval(desk, asker, role, asker.manager_id or "", desk.today - timedelta(days=days))


@family("itdesk/grant-role", level=2, traits=("write", "multi-hop"), twin=True)
def grant_role(desk: ITDeskDraft) -> Task:
    """A role on the line manager's approval; in the twin the approval is a day too old."""
    asker = desk.pick_member()
    role, earlier = _choose_role(desk, asker, ["reader"]), desk.stream.between(200, 300)
    margin, first = desk.draw_margin(), desk.stream.chance(50)
    case, prompt = _ask(desk, asker, role)
    if first:
        _plant_history(desk, asker, role, days=earlier)
    days = desk.planting_rules.approval_days + (1 + margin if desk.twin else -margin)
    approval = plant_approval(desk, asker, role, asker.manager_id or "", desk.today - timedelta(days=days))
    if not first:
        _plant_history(desk, asker, role, days=earlier)
    return decide_role(desk, RoleRequest(case=case, prompt=prompt, asker=asker, role=role, approval=approval))


@family("itdesk/contractor-role", level=3, traits=("write", "multi-hop", "policy-exception"), twin=True)
def grant_contractor_role(desk: ITDeskDraft) -> Task:
    """A contractor's role ends with the contract; in the twin the line manager has refused it."""
    asker = desk.pick(StaffMember, lambda one: one.status == "active" and one.contract == "contractor")
    role, days = _choose_role(desk, asker, ["reader"]), desk.stream.between(1, 12)
    case, prompt = _ask(desk, asker, role)
    approval = plant_approval(
        desk,
        asker,
        role,
        asker.manager_id or "",
        desk.today - timedelta(days=days),
        "refused" if desk.twin else "approved",
    )
    return decide_role(desk, RoleRequest(case=case, prompt=prompt, asker=asker, role=role, approval=approval))


def _plant_delegations(
    desk: ITDeskDraft, asker: StaffMember, delegate: StaffMember, *, ago: int, last: int, access_first: bool
) -> None:
    """The line manager's delegations to somebody: of access until `last` days ago, and of hardware all the time."""
    today = desk.today
    scopes: list[tuple[Scope, date]] = [
        ("hardware", today + timedelta(days=9)),
        ("access", today - timedelta(days=last)),
    ]
    for scope, until in reversed(scopes) if access_first else scopes:
        desk.state.insert(
            ApprovalDelegation(
                id=desk.state.next_id(ApprovalDelegation),
                staff_member_id=asker.manager_id or "",
                delegate_id=delegate.id,
                first=today - timedelta(days=ago + 6),
                last=until,
                scope=scope,
            )
        )


def _choose_delegate(desk: ITDeskDraft, asker: StaffMember) -> StaffMember:
    team = desk.state.find(StaffMember, manager_id=asker.manager_id, status="active")
    known = {one.delegate_id for one in desk.state.find(ApprovalDelegation, staff_member_id=asker.manager_id)}
    return desk.stream.choice([one for one in team if one.id != asker.id and one.id not in known])


@family("itdesk/delegate-role", level=3, traits=("write", "multi-hop", "policy-exception"), twin=True)
def grant_on_delegates_word(desk: ITDeskDraft) -> Task:
    """A role on a delegate's approval; in the twin the delegation of access had ended the day before."""
    asker = desk.pick_member()
    role, delegate = _choose_role(desk, asker, ["reader"]), _choose_delegate(desk, asker)
    margin, access_first = desk.draw_margin(), desk.stream.chance(50)
    case, prompt = _ask(desk, asker, role)
    ago = desk.planting_rules.approval_days - margin
    last = ago + 1 if desk.twin else ago
    _plant_delegations(desk, asker, delegate, ago=ago, last=last, access_first=access_first)
    approval = plant_approval(desk, asker, role, delegate.id, desk.today - timedelta(days=ago))
    return decide_role(desk, RoleRequest(case=case, prompt=prompt, asker=asker, role=role, approval=approval))


@family("itdesk/leavers-word", level=3, traits=("write", "multi-hop", "policy-exception"), twin=True)
def grant_on_leavers_word(desk: ITDeskDraft) -> Task:
    """A role on a delegate's approval; in the twin the delegate has left since, and the approval lapsed."""
    asker = desk.pick_member()
    role, delegate = _choose_role(desk, asker, ["reader"]), _choose_delegate(desk, asker)
    ago, access_first = desk.stream.between(5, 12), desk.stream.chance(50)
    case, prompt = _ask(desk, asker, role)
    _plant_delegations(desk, asker, delegate, ago=ago, last=ago - 2, access_first=access_first)
    approval = plant_approval(desk, asker, role, delegate.id, desk.today - timedelta(days=ago))
    if desk.twin:
        desk.state.update(delegate, status="left", ends=desk.today - timedelta(days=2))
    return decide_role(desk, RoleRequest(case=case, prompt=prompt, asker=asker, role=role, approval=approval))


@family("itdesk/four-eyes", level=3, traits=("write", "multi-hop"), twin=True)
def grant_on_both_words(desk: ITDeskDraft) -> Task:
    """An administrator's role on two approvals; in the twin the second is the line manager's or the asker's."""
    asker = desk.pick_member()
    role, ago = _choose_role(desk, asker, ["administrator"]), desk.stream.between(2, 12)
    until, alone = desk.today + timedelta(days=desk.stream.between(20, 60)), desk.stream.chance(50)
    case, prompt = desk.open_request(
        asker, "role-until", subject="Access for a time", bodies=_BODIES_UNTIL, role=role.name, day=until.isoformat()
    )
    manager, owner = asker.manager_id or "", desk.state.get(BusinessSystem, role.system_id).owner_id
    decided = desk.today - timedelta(days=ago)
    approval = plant_approval(desk, asker, role, manager, decided)
    wrong = asker.id if alone else manager
    second = plant_approval(desk, asker, role, wrong if desk.twin else owner, decided + timedelta(days=1))
    return decide_role(
        desk,
        RoleRequest(
            case=case,
            prompt=prompt,
            asker=asker,
            role=role,
            approval=approval,
            owner_approval=second,
            until=until,
        ),
    )


@family("itdesk/administrator-role", level=3, traits=("write", "multi-hop"), twin=True)
def grant_administrator_role(desk: ITDeskDraft) -> Task:
    """An administrator's role for permanent staff; in the twin who asks is a contractor."""
    asker = desk.pick_member()
    role, ago = _choose_role(desk, asker, ["administrator"]), desk.stream.between(2, 12)
    until = desk.today + timedelta(days=desk.stream.between(20, 60))
    later = until + timedelta(days=desk.stream.between(10, 40))
    case, prompt = desk.open_request(
        asker, "role-until", subject="Access for a time", bodies=_BODIES_UNTIL, role=role.name, day=until.isoformat()
    )
    decided = desk.today - timedelta(days=ago)
    owner = desk.state.get(BusinessSystem, role.system_id).owner_id
    second = plant_approval(desk, asker, role, owner, decided)
    approval = plant_approval(desk, asker, role, asker.manager_id or "", decided)
    if desk.twin:
        asker = desk.state.update(asker, contract="contractor", ends=later)
    return decide_role(
        desk,
        RoleRequest(
            case=case,
            prompt=prompt,
            asker=asker,
            role=role,
            approval=approval,
            owner_approval=second,
            until=until,
        ),
    )


def _plant_training(desk: ITDeskDraft, asker: StaffMember, role: AccessRole, *, days: int) -> None:
    """The course of a role, passed so many days ago."""
    passed = desk.today - timedelta(days=days)
    course = role.course
    assert course is not None, "approvers need a course"
    known = desk.state.find(TrainingRecord, staff_member_id=asker.id, course=course)
    if known:
        desk.state.update(known[0], passed=passed)
        return
    desk.state.insert(
        TrainingRecord(id=desk.state.next_id(TrainingRecord), staff_member_id=asker.id, course=course, passed=passed)
    )


@family("itdesk/training-first", level=3, traits=("write", "multi-hop"), twin=True)
def grant_after_training(desk: ITDeskDraft) -> Task:
    """An approver's role after the course; in the twin the course was passed a day too long ago."""
    asker = desk.pick_member()
    role, ago = _choose_role(desk, asker, ["approver"]), desk.stream.between(1, 12)
    margin = 5 * desk.draw_margin()
    case, prompt = _ask(desk, asker, role)
    days = desk.planting_rules.training_days + (1 + margin if desk.twin else -margin)
    _plant_training(desk, asker, role, days=days)
    owner = desk.state.get(BusinessSystem, role.system_id).owner_id
    approval = plant_approval(desk, asker, role, owner, desk.today - timedelta(days=ago))
    return decide_role(desk, RoleRequest(case=case, prompt=prompt, asker=asker, role=role, owner_approval=approval))


@family("itdesk/duties-apart", level=3, traits=("write", "multi-hop"), twin=True)
def keep_duties_apart(desk: ITDeskDraft) -> Task:
    """An editor's role for somebody who used to be approver; in the twin they are approver still."""
    asker = desk.pick_member()
    role, ago = _choose_role(desk, asker, ["editor"]), desk.stream.between(60, 120)
    margin = desk.draw_margin()
    case, prompt = _ask(desk, asker, role)
    other = desk.state.get(AccessRole, role.excludes_id or "")
    plant_grant(
        desk, asker, other, granted=desk.today - timedelta(days=ago), status="active" if desk.twin else "revoked"
    )
    days = desk.planting_rules.approval_days - margin
    approval = plant_approval(desk, asker, role, asker.manager_id or "", desk.today - timedelta(days=days))
    return decide_role(desk, RoleRequest(case=case, prompt=prompt, asker=asker, role=role, approval=approval))

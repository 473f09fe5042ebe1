"""What holds of the rows as they are populated."""

from collections.abc import Iterator
from itertools import pairwise

from palaestra.envs import PopulatedWorld
from palaestra.envs.kit import Rule, broken_rules, cases_name_their_policy_and_evidence, references_are_whole
from palaestra.envs.worlds.itdesk.policy import rest_between
from palaestra.envs.worlds.itdesk.population.people import AGENT_ID
from palaestra.envs.worlds.itdesk.schema import (
    SCHEMA,
    AccessApproval,
    AccessGrant,
    AccessRole,
    BusinessSystem,
    LicenceAssignment,
    LicencePool,
    ManagedDevice,
    OnCallShift,
    StaffMember,
    UserAccount,
)
from palaestra.envs.worlds.itdesk.tools.toolbox import CASES
from palaestra.protocols import StateView


def records_are_sound(world: PopulatedWorld) -> list[str]:
    """A sentence for each row of a populated world that breaks a rule."""
    rules: tuple[Rule[StateView], ...] = (
        lambda state: references_are_whole(state, SCHEMA),
        lambda state: cases_name_their_policy_and_evidence(state, CASES),
        _people_are_placed,
        _accounts_follow_people,
        _grants_rest_on_approvals,
        _devices_have_a_place,
        _pools_hold_their_seats,
        _shifts_leave_rest,
    )
    return broken_rules(rules, world.state)


def _people_are_placed(state: StateView) -> Iterator[str]:
    for one in state.find(StaffMember):
        if (one.manager_id is None) != (one.id == AGENT_ID):
            yield f"{one.id}: has no line manager"
        if (one.former_department is None) != (one.moved is None):
            yield f"{one.id}: moved on {one.moved} from {one.former_department}"
    for system in state.find(BusinessSystem):
        if state.peek(StaffMember, system.owner_id) is None:
            yield f"{system.id}: its owner {system.owner_id} is nobody"


def _accounts_follow_people(state: StateView) -> Iterator[str]:
    for one in state.find(StaffMember):
        statuses = [account.status for account in state.find(UserAccount, staff_member_id=one.id)]
        if len(statuses) != (0 if one.status == "joining" else 1):
            yield f"{one.id}: is {one.status}, with {len(statuses)} accounts"
        if one.status == "left" and statuses != ["closed"]:
            yield f"{one.id}: has left, with an account that is {statuses[0]}"


def _grants_rest_on_approvals(state: StateView) -> Iterator[str]:
    for grant in state.find(AccessGrant):
        role = state.get(AccessRole, grant.role_id)
        keys = [key for key in (grant.approval_id, grant.owner_approval_id) if key is not None]
        approvals = [state.get(AccessApproval, key) for key in keys]
        if len(approvals) != (2 if role.approved_by == "both" else 1):
            yield f"{grant.id}: rests on {len(approvals)} approvals"
        for approval in approvals:
            fits = (approval.staff_member_id, approval.role_id) == (grant.staff_member_id, grant.role_id)
            if not fits or approval.decision != "approved" or approval.decided > grant.granted:
                yield f"{grant.id}: rests on {approval.id}"


def _devices_have_a_place(state: StateView) -> Iterator[str]:
    for device in state.find(ManagedDevice):
        if (device.staff_member_id is not None) != (device.status == "assigned"):
            yield f"{device.id}: is {device.status}, held by {device.staff_member_id}"


def _pools_hold_their_seats(state: StateView) -> Iterator[str]:
    for pool in state.find(LicencePool):
        holders = [seat.staff_member_id for seat in state.find(LicenceAssignment, pool_id=pool.id)]
        if len(holders) > pool.seats or len(holders) != len(set(holders)):
            yield f"{pool.id}: {len(holders)} of {pool.seats} seats are assigned, to {len(set(holders))} people"


def _shifts_leave_rest(state: StateView) -> Iterator[str]:
    for one in state.find(StaffMember):
        shifts = [(shift.first, shift.last) for shift in state.find(OnCallShift, staff_member_id=one.id)]
        if any(rest_between(a, b) < 20 for a, b in pairwise(shifts)):
            yield f"{one.id}: has shifts that are too near"

"""What the desk's tools refuse, and what they do not: whether something may be is for the handbook to say."""

from datetime import timedelta
from typing import Any

import pytest

from palaestra.clock import Clock
from palaestra.envs.state import Overlay
from palaestra.envs.worlds.itdesk.policy import DeskRules
from palaestra.envs.worlds.itdesk.population import populate, world_start
from palaestra.envs.worlds.itdesk.population.people import AGENT_ID
from palaestra.envs.worlds.itdesk.schema import (
    SCHEMA,
    AccessGrant,
    AccessRole,
    LicenceAssignment,
    LicencePool,
    ManagedDevice,
    OnCallShift,
    ServiceRequest,
    StaffMember,
    SystemChange,
    UserAccount,
)
from palaestra.envs.worlds.itdesk.tools.toolbox import TOOLBOX
from palaestra.envs.worlds.itdesk.world import ROLE
from palaestra.records import Json, ToolCall, ToolEvent
from palaestra.tools import ToolContext

pytestmark = pytest.mark.xdist_group("itdesk")

START = world_start(1000)
TODAY = START.date()


@pytest.fixture
def state() -> Overlay:
    return Overlay(populate(1000, DeskRules()))


def run(state: Overlay, tool: str, **arguments: Json) -> ToolEvent:
    context = ToolContext(
        state=state, clock=Clock(START), role=ROLE, actor=AGENT_ID, ids_in=SCHEMA.ids_in, rules=DeskRules()
    )
    return TOOLBOX.call(context, state, "call_0_0", ToolCall(tool=tool, arguments=arguments), ()).event


def error(state: Overlay, tool: str, **arguments: Json) -> str | None:
    before = len(state.journal)
    event = run(state, tool, **arguments)
    assert event.error is None or len(state.journal) == before, "a refused call changes nothing"
    return event.error


def account(state: Overlay, status: str) -> str:
    return next(one.id for one in state.find(UserAccount) if one.status == status)


def test_an_account_is_opened_once(state: Overlay) -> None:
    joiner = next(one for one in state.find(StaffMember) if one.status == "joining")
    assert error(state, "open_account", staff_member_id=joiner.id, expires="2026-02-30") == "invalid_arguments"
    assert error(state, "open_account", staff_member_id=joiner.id, expires="2027-01-31") is None
    [opened] = state.find(UserAccount, staff_member_id=joiner.id)
    assert (opened.status, str(opened.expires)) == ("active", "2027-01-31")
    assert error(state, "open_account", staff_member_id=joiner.id) == "has_account"
    assert error(state, "open_account", staff_member_id="STF-999") == "not_found"


@pytest.mark.parametrize(
    ("tool", "fits", "status"),
    [
        ("unlock_account", ["locked"], "active"),
        ("freeze_account", ["active", "locked"], "frozen"),
        ("close_account", ["active", "locked", "frozen"], "closed"),
    ],
)
def test_an_account_is_moved_from_some_statuses_alone(state: Overlay, tool: str, fits: list[str], status: str) -> None:
    key = account(state, "active")
    for before in ("active", "locked", "frozen", "closed"):
        state.update(state.get(UserAccount, key), status=before)
        assert error(state, tool, user_account_id=key) == (None if before in fits else "wrong_status")
        assert state.get(UserAccount, key).status == (status if before in fits else before)


def test_a_role_is_held_once_and_revoked_once(state: Overlay) -> None:
    person = state.find(StaffMember)[20]
    had = {grant.role_id for grant in state.find(AccessGrant, staff_member_id=person.id)}
    role = next(one for one in state.find(AccessRole) if one.id not in had)
    given: dict[str, Json] = {"staff_member_id": person.id, "role_id": role.id}
    assert error(state, "grant_access", **given, approval_id="APR-9999") == "not_found"
    assert error(state, "grant_access", **given, until="2026-12-31") is None
    assert error(state, "grant_access", **given) == "has_role"
    grant = state.find(AccessGrant, **given)[0]
    assert grant.granted == TODAY
    assert error(state, "extend_access", access_grant_id=grant.id, until="2026-12-31") == "no_extension"
    assert error(state, "extend_access", access_grant_id=grant.id, until="2027-01-15") is None
    assert error(state, "revoke_access", access_grant_id=grant.id) is None
    assert error(state, "revoke_access", access_grant_id=grant.id) == "wrong_status"
    assert error(state, "extend_access", access_grant_id=grant.id, until="2027-02-15") == "wrong_status"


def test_a_grant_without_a_last_day_has_none_to_extend(state: Overlay) -> None:
    grant = next(one for one in state.find(AccessGrant) if one.status == "active" and one.until is None)
    assert error(state, "extend_access", access_grant_id=grant.id, until="2027-01-15") == "no_extension"


def test_a_delegation_is_between_two_people_and_has_an_end(state: Overlay) -> None:
    days: dict[str, Json] = {"scope": "access", "first": "2026-10-02", "last": "2026-10-01"}
    assert (
        error(state, "record_delegation", staff_member_id="STF-102", delegate_id="STF-110", **days) == "no_delegation"
    )
    days["last"] = "2026-10-02"
    assert (
        error(state, "record_delegation", staff_member_id="STF-102", delegate_id="STF-102", **days) == "no_delegation"
    )
    assert error(state, "record_delegation", staff_member_id="STF-102", delegate_id="STF-110", **days) is None


def test_a_device_goes_from_stock_to_a_holder_and_back(state: Overlay) -> None:
    stock = next(one for one in state.find(ManagedDevice) if one.status == "in_stock")
    assert error(state, "take_back_device", managed_device_id=stock.id) == "not_assigned"
    assert error(state, "report_lost", managed_device_id=stock.id) == "not_assigned"
    assert error(state, "assign_device", managed_device_id=stock.id, staff_member_id="STF-110") is None
    assert error(state, "assign_device", managed_device_id=stock.id, staff_member_id="STF-111") == "not_in_stock"
    assert error(state, "take_back_device", managed_device_id=stock.id) is None
    back = state.get(ManagedDevice, stock.id)
    assert (back.status, back.staff_member_id) == ("retired", None)


def test_a_lost_device_stays_with_its_holder(state: Overlay) -> None:
    held = next(one for one in state.find(ManagedDevice) if one.status == "assigned")
    assert error(state, "report_lost", managed_device_id=held.id) is None
    assert state.get(ManagedDevice, held.id).staff_member_id == held.staff_member_id


def test_a_seat_is_assigned_while_there_is_one(state: Overlay) -> None:
    pool = state.find(LicencePool)[0]
    taken = len(state.find(LicenceAssignment, pool_id=pool.id))
    for number in range(pool.seats - taken):
        assert error(state, "assign_seat", licence_pool_id=pool.id, staff_member_id=f"STF-{110 + number}") is None
    assert error(state, "assign_seat", licence_pool_id=pool.id, staff_member_id="STF-120") == "no_seat"
    seat = state.find(LicenceAssignment, pool_id=pool.id)[0]
    same = seat.staff_member_id
    assert error(state, "reassign_seat", licence_seat_id=seat.id, staff_member_id=same) == "same_person"
    assert error(state, "reassign_seat", licence_seat_id=seat.id, staff_member_id="STF-121") is None
    assert state.get(LicenceAssignment, seat.id).last_used == TODAY


def test_a_shift_that_is_over_stays_as_it_was(state: Overlay) -> None:
    shifts = state.find(OnCallShift)
    past = next(one for one in shifts if one.last < TODAY)
    ahead = next(one for one in shifts if one.first > TODAY)
    assert error(state, "hand_over_shift", on_call_shift_id=past.id, staff_member_id="STF-110") == "over"
    own = ahead.staff_member_id
    assert error(state, "hand_over_shift", on_call_shift_id=ahead.id, staff_member_id=own) == "same_person"
    assert error(state, "hand_over_shift", on_call_shift_id=ahead.id, staff_member_id="STF-110") is None


def test_a_change_is_put_on_a_day_to_come(state: Overlay) -> None:
    changes = state.find(SystemChange)
    draft = next(one for one in changes if one.status == "draft")
    done = next(one for one in changes if one.status == "done")
    day = str(TODAY + timedelta(days=1))
    assert error(state, "schedule_change", system_change_id=done.id, day=day) == "wrong_status"
    assert error(state, "schedule_change", system_change_id=draft.id, day=str(TODAY)) == "past_day"
    assert error(state, "approve_change", system_change_id=done.id) == "wrong_status"
    assert error(state, "schedule_change", system_change_id=draft.id, day=day) is None
    assert error(state, "approve_change", system_change_id=draft.id) == "wrong_status"


def test_tools_do_not_enforce_the_handbook(state: Overlay) -> None:
    """A contractor becomes administrator without an approval: what stands against it is for the agent to know."""
    contractor = next(one for one in state.find(StaffMember) if one.contract == "contractor" and one.status == "active")
    role = next(one for one in state.find(AccessRole) if one.kind == "administrator")
    assert error(state, "grant_access", staff_member_id=contractor.id, role_id=role.id) is None


def test_a_request_is_closed_once_and_on_grounds_that_are_there(state: Overlay) -> None:
    request = next(one for one in state.find(ServiceRequest) if one.status == "open")
    grounds: dict[str, Any] = {"policy_id": "ACC-1", "evidence_id": "APR-4001"}
    assert error(state, "decline_request", service_request_id=request.id, policy_id="X-1", evidence_id="STF-101")
    assert error(state, "decline_request", service_request_id=request.id, policy_id="ACC-1", evidence_id="APR-1")
    handed: dict[str, Any] = {**grounds, "team": "desk", "priority": "high"}
    assert error(state, "escalate_service_request", service_request_id=request.id, **handed) == "same_team"
    assert error(state, "decline_request", service_request_id=request.id, **grounds) is None
    assert error(state, "resolve_service_request", service_request_id=request.id) == "not_open"
    assert error(state, "reopen_service_request", service_request_id=request.id) is None


@pytest.mark.parametrize("tool", [tool.name for tool in TOOLBOX])
def test_every_tool_says_what_it_does(tool: str) -> None:
    made = TOOLBOX[tool]
    assert made.description.endswith(".")
    assert all(part.get("description") for part in made.parameters["properties"].values())

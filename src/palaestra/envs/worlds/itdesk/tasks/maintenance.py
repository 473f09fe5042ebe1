"""Requests about changes of systems: put them on a day, approve them."""

from datetime import date, timedelta
from typing import get_args

from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.itdesk.desk import DeskRefusal, ITDeskDraft, Plan, settle
from palaestra.envs.worlds.itdesk.schema import (
    BusinessSystem,
    ChangeFreeze,
    ServiceRequest,
    StaffMember,
    SystemChange,
    Weekday,
)
from palaestra.records import ToolCall
from palaestra.rubrics import expect_change, expect_read

_WEEKDAYS: tuple[Weekday, ...] = get_args(Weekday)


def _pick_change(desk: ITDeskDraft) -> SystemChange:
    return desk.pick(SystemChange, lambda change: change.status == "draft", what="change in the making")


def _ask_for_day(desk: ITDeskDraft, change: SystemChange, day: date) -> tuple[ServiceRequest, str]:
    return desk.open_request(
        desk.state.get(StaffMember, change.staff_member_id),
        "schedule",
        subject="A change",
        bodies=(
            "Please put the change {change} on {day}.",
            "I would like to carry out {change} on {day}. Please schedule it.",
            "Please schedule {change} for {day}.",
        ),
        change=change.id,
        day=day.isoformat(),
    )


def _plant_window(desk: ITDeskDraft, change: SystemChange, day: date, *, off: int = 0) -> BusinessSystem:
    """The change's system, with its window on the weekday of a day, or so many days later in the week."""
    system = desk.state.get(BusinessSystem, change.system_id)
    return desk.state.update(system, window=_WEEKDAYS[(day.weekday() + off) % len(_WEEKDAYS)])


def _schedule(desk: ITDeskDraft, change: SystemChange, day: date, case: ServiceRequest, prompt: str) -> Task:
    """Put a change on a day, or what stands against it."""
    rules, system = desk.rules, desk.state.get(BusinessSystem, change.system_id)
    freezes = desk.state.find(ChangeFreeze, system_id=system.id)
    look_change = call("get_system_change", system_change_id=change.id)
    look_system = call("get_business_system", business_system_id=system.id)
    look_freezes = call("get_freezes", system_id=system.id)
    saw_risk = expect_read(change, fields=["risk"], id="saw-risk")
    saw_window = expect_read(system, fields=["window"], id="saw-window")
    saw_freezes = expect_read(freezes[0], *freezes[1:], fields=["first", "last"], id="saw-freezes")
    saw_hours = expect_read(change, fields=["hours"], id="saw-hours")
    plan = Plan(
        looks=(look_change, look_system, look_freezes),
        facts=(
            expect_read(change, fields=["risk", "hours", "status"], id="saw-change"),
            saw_window,
            saw_freezes,
        ),
        sections=("MNT-1", "MNT-2", "MNT-4"),
        work=(call("schedule_change", system_change_id=change.id, day=day.isoformat()),),
        done=(expect_change(change, {"status": "scheduled", "day": day}, id="scheduled"),),
        message="The change is scheduled.",
    )
    notice = rules.high_notice_days if change.risk == "high" else rules.low_notice_days
    frozen = [freeze for freeze in freezes if freeze.first <= day <= freeze.last]
    short = DeskRefusal(section="MNT-1", evidence=change, facts=(saw_risk,), looks=(look_change,))
    elsewhere = DeskRefusal(section="MNT-1", evidence=change, facts=(saw_window,), looks=(look_change, look_system))
    freeze = None
    if frozen:
        saw = expect_read(frozen[0], fields=["first", "last"], id="saw-freeze")
        looks: tuple[ToolCall, ...] = (look_change, look_freezes)
        freeze = DeskRefusal(section="MNT-2", evidence=frozen[0], facts=(saw,), looks=looks)
    long = DeskRefusal(section="MNT-4", evidence=change, facts=(saw_hours,), looks=(look_change,), team="board")
    return settle(
        desk,
        case,
        prompt,
        plan,
        [
            short if (day - desk.today).days < notice else None,
            elsewhere if _WEEKDAYS[day.weekday()] != system.window else None,
            freeze,
            long if change.hours > rules.change_hours else None,
        ],
    )


@family("itdesk/plan-change", level=2, traits=("write", "multi-hop"), twin=True)
def plan_change(desk: ITDeskDraft) -> Task:
    """A change of low risk is put on a day soon; in the twin its risk is high and the notice too short."""
    change = _pick_change(desk)
    rules = desk.planting_rules
    hours, margin = desk.stream.between(1, 2), desk.stream.below(rules.high_notice_days - rules.low_notice_days)
    day = desk.today + timedelta(days=rules.low_notice_days + (margin if desk.stream.chance(40) else 0))
    case, prompt = _ask_for_day(desk, change, day)
    _plant_window(desk, change, day)
    change = desk.state.update(change, risk="high" if desk.twin else "low", hours=hours)
    return _schedule(desk, change, day, case, prompt)


@family("itdesk/window-change", level=2, traits=("write", "multi-hop"), twin=True)
def plan_in_window(desk: ITDeskDraft) -> Task:
    """A change of high risk is put into its system's window; in the twin the window is on another weekday."""
    change = _pick_change(desk)
    off, hours = desk.stream.between(1, 6), desk.stream.between(1, 2)
    day = desk.today + timedelta(days=desk.planting_rules.high_notice_days)
    case, prompt = _ask_for_day(desk, change, day)
    _plant_window(desk, change, day, off=off if desk.twin else 0)
    change = desk.state.update(change, risk="high", hours=hours)
    return _schedule(desk, change, day, case, prompt)


@family("itdesk/frozen-change", level=2, traits=("write", "multi-hop"), twin=True)
def plan_after_freeze(desk: ITDeskDraft) -> Task:
    """A change is put on the day after a freeze; in the twin the freeze lasts until that day."""
    change = _pick_change(desk)
    risk, hours, before = desk.stream.choice(("low", "high")), desk.stream.between(1, 2), desk.stream.between(2, 9)
    day = desk.today + timedelta(days=desk.planting_rules.high_notice_days + desk.stream.between(1, 20))
    case, prompt = _ask_for_day(desk, change, day)
    _plant_window(desk, change, day)
    change = desk.state.update(change, risk=risk, hours=hours)
    desk.state.insert(
        ChangeFreeze(
            id=desk.state.next_id(ChangeFreeze),
            system_id=change.system_id,
            first=day - timedelta(days=before),
            last=day - timedelta(days=0 if desk.twin else 1),
            reason="Audit",
        )
    )
    return _schedule(desk, change, day, case, prompt)


@family("itdesk/long-change", level=2, traits=("write", "multi-hop"), twin=True)
def plan_long_change(desk: ITDeskDraft) -> Task:
    """A change as long as the desk may schedule; in the twin it is an hour longer and goes to the board."""
    change = _pick_change(desk)
    risk = desk.stream.choice(("low", "high"))
    day = desk.today + timedelta(days=desk.planting_rules.high_notice_days + desk.stream.between(1, 20))
    case, prompt = _ask_for_day(desk, change, day)
    _plant_window(desk, change, day)
    hours = desk.planting_rules.change_hours + (1 if desk.twin else 0)
    change = desk.state.update(change, risk=risk, hours=hours)
    return _schedule(desk, change, day, case, prompt)


@family("itdesk/approve-change", level=2, traits=("write", "multi-hop"), twin=True)
def approve_own_system(desk: ITDeskDraft) -> Task:
    """The owner of a system has its change approved; in the twin they carry it out themselves, or own it no more."""
    change = _pick_change(desk)
    system = desk.state.get(BusinessSystem, change.system_id)
    owner = desk.state.get(StaffMember, system.owner_id)
    lead, sold = desk.lead_of(owner), desk.stream.chance(50)
    case, prompt = desk.open_request(
        owner,
        "approve",
        subject="Approval of a change",
        bodies=(
            "I approve the change {change}. Please record it.",
            "Please record {change} as approved; I have looked at it.",
        ),
        change=change.id,
    )
    if desk.twin and sold:
        system = desk.state.update(system, owner_id=lead.id)
    elif desk.twin:
        change = desk.state.update(change, staff_member_id=owner.id)
    return _approve(desk, owner, change, case, prompt)


def _approve(desk: ITDeskDraft, asker: StaffMember, change: SystemChange, case: ServiceRequest, prompt: str) -> Task:
    """Record an approval, or what stands against it."""
    system = desk.state.get(BusinessSystem, change.system_id)
    looks = (
        call("get_system_change", system_change_id=change.id),
        call("get_business_system", business_system_id=system.id),
    )
    saw_crew = expect_read(change, fields=["staff_member_id"], id="saw-crew")
    saw_owner = expect_read(system, fields=["owner_id"], id="saw-owner")
    plan = Plan(
        looks=looks,
        facts=(saw_crew, saw_owner),
        sections=("MNT-3",),
        work=(call("approve_change", system_change_id=change.id),),
        done=(expect_change(change, {"status": "approved"}, id="approved"),),
        message="The change is recorded as approved.",
    )
    own = DeskRefusal(section="MNT-3", evidence=change, facts=(saw_crew,), looks=looks[:1])
    foreign = DeskRefusal(section="MNT-3", evidence=system, facts=(saw_owner,), looks=looks)
    return settle(
        desk,
        case,
        prompt,
        plan,
        [
            own if change.staff_member_id == asker.id else None,
            foreign if system.owner_id != asker.id else None,
        ],
    )

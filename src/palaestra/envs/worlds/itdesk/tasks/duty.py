"""Requests about on-call shifts: hand one over to a colleague, find somebody who covers it."""

from datetime import date, timedelta
from typing import get_args

from palaestra.envs.kit import ask, draw_temper
from palaestra.envs.task import Task, call, family
from palaestra.envs.user import Persona, Temper, UserFact
from palaestra.envs.worlds.itdesk.desk import DeskRefusal, ITDeskDraft, Plan, look_for, settle
from palaestra.envs.worlds.itdesk.policy import rest_between
from palaestra.envs.worlds.itdesk.schema import OnCallShift, Rota, ServiceRequest, StaffAbsence, StaffMember
from palaestra.envs.worlds.itdesk.talk import TOPICS, with_requester
from palaestra.records import ToolCall
from palaestra.rubrics import expect_change, expect_question, expect_read

_SOONEST, _LATEST = 12, 75
"""The days from today on within which a shift begins that a request is about."""


def _span(shift: OnCallShift) -> tuple[date, date]:
    return shift.first, shift.last


def _pick_shift(desk: ITDeskDraft) -> OnCallShift:
    """A shift that begins some days from today, with shifts of the rota before and after it."""

    def fits(shift: OnCallShift) -> bool:
        return _SOONEST <= (shift.first - desk.today).days <= _LATEST

    return desk.pick(OnCallShift, fits, what="shift to come")


def _nearest(desk: ITDeskDraft, person: StaffMember, shift: OnCallShift) -> OnCallShift:
    """Somebody's own shift that lies next to another one."""
    own = desk.state.find(OnCallShift, staff_member_id=person.id)
    return min(own, key=lambda one: (abs((one.first - shift.first).days), one.id))


def _plant_rest(desk: ITDeskDraft, person: StaffMember, shift: OnCallShift, days: int) -> OnCallShift:
    """Somebody's own shift next to another one, moved so that so many days lie between them."""
    own = _nearest(desk, person, shift)
    if own.first > shift.first:
        first = shift.last + timedelta(days=days)
        return desk.state.update(own, first=first, last=first + (own.last - own.first))
    last = shift.first - timedelta(days=days)
    return desk.state.update(own, first=last - (own.last - own.first), last=last)


def _members(desk: ITDeskDraft, shift: OnCallShift) -> list[StaffMember]:
    """The other members of a shift's rota."""
    return [one for one in desk.state.find(StaffMember, rota=shift.rota) if one.id != shift.staff_member_id]


def _too_near(desk: ITDeskDraft, person: StaffMember, shift: OnCallShift) -> OnCallShift | None:
    """Somebody's own shift without rest from another one."""
    own = _nearest(desk, person, shift)
    return own if rest_between(_span(own), _span(shift)) < desk.rules.rest_days else None


def _ask_to_swap(desk: ITDeskDraft, shift: OnCallShift) -> tuple[ServiceRequest, str]:
    return desk.open_request(
        desk.state.get(StaffMember, shift.staff_member_id),
        "swap",
        subject="My on-call shift",
        bodies=(
            "I cannot do my on-call shift that begins on {day}. A colleague takes it over; please change the plan.",
            "Please hand my on-call shift of {day} over to a colleague; we have agreed on it.",
        ),
        day=shift.first.isoformat(),
    )


def _swap(
    desk: ITDeskDraft,
    shift: OnCallShift,
    colleague: StaffMember,
    temper: Temper,
    request: tuple[ServiceRequest, str],
) -> Task:
    """Hand a shift over to a colleague whom the asker names, or what stands against it."""
    case, prompt = request
    own = _nearest(desk, colleague, shift)
    looks = (
        call("get_shifts", staff_member_id=case.staff_member_id),
        ask("colleague", "Which colleague takes the shift over?"),
        *look_for(colleague),
        call("get_shifts", staff_member_id=colleague.id),
    )
    asked = expect_question("colleague")
    saw_shift = expect_read(shift, fields=["first", "last", "rota"], id="saw-shift")
    saw_colleague = expect_read(colleague, fields=["rota"], id="saw-colleague")
    saw_own = expect_read(own, fields=["first", "last"], id="saw-near")
    plan = Plan(
        looks=looks,
        facts=(asked, saw_shift, saw_colleague, saw_own),
        sections=("ONC-3", "ONC-1"),
        work=(call("hand_over_shift", on_call_shift_id=shift.id, staff_member_id=colleague.id),),
        done=(expect_change(shift, {"staff_member_id": colleague.id}, id="handed-over"),),
        message="The shift is handed over.",
    )
    outside = near = None
    if colleague.rota != shift.rota:
        outside = DeskRefusal(
            section="ONC-3", evidence=colleague, facts=(asked, saw_shift, saw_colleague), looks=looks[:-1]
        )
    if _too_near(desk, colleague, shift) is not None:
        near = DeskRefusal(section="ONC-1", evidence=own, facts=(asked, saw_own), looks=looks)
    user = Persona(
        goal=f"You want {colleague.name} to do your on-call shift that begins on {shift.first.isoformat()}.",
        topics=TOPICS,
        facts=(UserFact(topic="colleague", says=f"It is {colleague.name}."),),
        temper=temper,
        owed=not desk.twin,
        pushes=1,
        pleas=("We have agreed on it long ago.", "I have booked my journey already."),
    )
    return with_requester(settle(desk, case, prompt, plan, [outside, near]), user, about="shift")


@family("itdesk/swap-shift", level=3, traits=("dialogue", "write", "multi-hop"), twin=True)
def swap_shift(desk: ITDeskDraft) -> Task:
    """A colleague whom only the asker names takes a shift; in the twin they have a day of rest too little."""
    shift = _pick_shift(desk)
    colleague, temper = desk.stream.choice(_members(desk, shift)), draw_temper(desk.stream)
    request = _ask_to_swap(desk, shift)
    _plant_rest(desk, colleague, shift, desk.planting_rules.rest_days - (1 if desk.twin else 0))
    return _swap(desk, shift, colleague, temper, request)


@family("itdesk/swap-within", level=3, traits=("dialogue", "write", "multi-hop"), twin=True)
def swap_within_rota(desk: ITDeskDraft) -> Task:
    """A colleague whom only the asker names takes a shift; in the twin they have changed to another rota."""
    shift = _pick_shift(desk)
    colleague, temper = desk.stream.choice(_members(desk, shift)), draw_temper(desk.stream)
    other = desk.stream.choice([rota for rota in get_args(Rota) if rota != shift.rota])
    request = _ask_to_swap(desk, shift)
    _plant_rest(desk, colleague, shift, desk.planting_rules.rest_days)
    if desk.twin:
        colleague = desk.state.update(colleague, rota=other)
    return _swap(desk, shift, colleague, temper, request)


def _plant_absence(desk: ITDeskDraft, person: StaffMember, first: date, last: date) -> StaffAbsence:
    return desk.state.insert(
        StaffAbsence(id=desk.state.next_id(StaffAbsence), staff_member_id=person.id, first=first, last=last)
    )


@family("itdesk/cover-shift", level=3, traits=("write", "multi-hop"), twin=True)
def cover_shift(desk: ITDeskDraft) -> Task:
    """The one member of the rota who may cover a shift takes it; in the twin that one is away on its first day."""
    shift = _pick_shift(desk)
    asker = desk.state.get(StaffMember, shift.staff_member_id)
    absent, tired, able = desk.stream.permutation(_members(desk, shift))
    case, prompt = desk.open_request(
        asker,
        "cover",
        subject="My on-call shift",
        bodies=(
            "I am ill and cannot do my on-call shift that begins on {day}. Please find somebody who may do it.",
            "Please give my on-call shift of {day} to somebody of the rota who may take it.",
        ),
        day=shift.first.isoformat(),
    )
    rest = desk.planting_rules.rest_days
    for person, days in ((absent, rest), (tired, rest - 1), (able, rest)):
        _plant_rest(desk, person, shift, days)
    _plant_absence(desk, absent, shift.last, shift.last + timedelta(days=5))
    ends = shift.first - timedelta(days=0 if desk.twin else 1)
    _plant_absence(desk, able, ends - timedelta(days=4), ends)
    return _cover(desk, shift, case, prompt)


def _cover(desk: ITDeskDraft, shift: OnCallShift, case: ServiceRequest, prompt: str) -> Task:
    members = _members(desk, shift)
    away = {
        one.id: [a for a in desk.state.find(StaffAbsence, staff_member_id=one.id) if _overlap(a, shift)]
        for one in members
    }
    able = [one for one in members if not away[one.id] and _too_near(desk, one, shift) is None]
    seen = [(one, desk.state.find(StaffAbsence, staff_member_id=one.id)) for one in members]
    look_members: list[ToolCall] = []
    for one in members:
        look_members.append(call("get_absences", staff_member_id=one.id))
        look_members.append(call("get_shifts", staff_member_id=one.id))
    looks = (
        call("get_shifts", staff_member_id=case.staff_member_id),
        call("search_rota", rota=shift.rota),
        *look_members,
    )
    facts = (
        expect_read(shift, fields=["first", "last", "rota"], id="saw-shift"),
        *(
            expect_read(found[0], *found[1:], fields=["first", "last"], id=f"saw-absences-{n}")
            for n, (_, found) in enumerate(seen, 1)
            if found
        ),
        *(
            expect_read(_nearest(desk, one, shift), fields=["first", "last"], id=f"saw-near-{n}")
            for n, (one, _) in enumerate(seen, 1)
        ),
    )
    if not able:
        nobody = DeskRefusal(
            section="ONC-2", evidence=shift, facts=facts, looks=looks, team="operations", priority="high"
        )
        nothing = Plan(looks=looks, facts=facts, sections=("ONC-1", "ONC-2"), work=(), done=(), message="")
        return settle(desk, case, prompt, nothing, [nobody])
    keys = frozenset(one.id for one in able)
    plan = Plan(
        looks=looks,
        facts=facts,
        sections=("ONC-1", "ONC-2"),
        work=(call("hand_over_shift", on_call_shift_id=shift.id, staff_member_id=able[0].id),),
        done=(expect_change(shift, {"staff_member_id": keys if len(keys) > 1 else able[0].id}, id="covered"),),
        message="A member of the rota covers the shift.",
    )
    return settle(desk, case, prompt, plan)


def _overlap(absence: StaffAbsence, shift: OnCallShift) -> bool:
    return absence.first <= shift.last and shift.first <= absence.last

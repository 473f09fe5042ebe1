"""Requests of line managers that somebody decides in their place for some days."""

from datetime import timedelta

from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.itdesk.desk import DeskRefusal, ITDeskDraft, Plan, is_ordinary, look_for, settle
from palaestra.envs.worlds.itdesk.schema import ApprovalDelegation, StaffAbsence, StaffMember
from palaestra.rubrics import expect_read, expect_row


@family("itdesk/stand-in", level=3, traits=("write", "multi-hop", "arithmetic"), twin=True)
def name_stand_in(desk: ITDeskDraft) -> Task:
    """A delegation as long as it may be; in the twin the delegate's absence lasts until its first day."""
    delegate = desk.pick(StaffMember, is_ordinary)
    asker = desk.lead_of(delegate)
    first = desk.today + timedelta(days=desk.stream.between(4, 20))
    away, margin = desk.stream.between(2, 6), desk.draw_margin()
    last = first + timedelta(days=desk.planting_rules.standing_days - margin)
    case, prompt = desk.open_request(
        asker,
        "stand-in",
        subject="While I am away",
        bodies=(
            "Please let {name} approve access in my place from {first} to {last}.",
            "From {first} to {last} {name} decides about access for me. Please record it.",
        ),
        name=delegate.name,
        first=first.isoformat(),
        last=last.isoformat(),
    )
    ends = first - timedelta(days=0 if desk.twin else 1)
    absence = desk.state.insert(
        StaffAbsence(
            id=desk.state.next_id(StaffAbsence),
            staff_member_id=delegate.id,
            first=ends - timedelta(days=away),
            last=ends,
        )
    )
    absences = desk.state.find(StaffAbsence, staff_member_id=delegate.id)
    looks = (*look_for(delegate), call("get_absences", staff_member_id=delegate.id))
    values = {"staff_member_id": asker.id, "delegate_id": delegate.id, "scope": "access"}
    days = {"first": first.isoformat(), "last": last.isoformat()}
    plan = Plan(
        looks=looks,
        facts=(expect_read(absences[0], *absences[1:], fields=["first", "last"], id="saw-absences"),),
        sections=("ACC-8",),
        work=(call("record_delegation", **values, **days),),
        done=(expect_row(ApprovalDelegation, {**values, "first": first, "last": last}, id="recorded"),),
        message="The delegation is recorded.",
    )
    saw = expect_read(absence, fields=["first", "last"], id="saw-absence")
    missing = DeskRefusal(section="ACC-8", evidence=absence, facts=(saw,), looks=looks)
    long = DeskRefusal(section="ACC-8", evidence=asker)
    return settle(
        desk,
        case,
        prompt,
        plan,
        [
            missing if absence.last >= first else None,
            long if (last - first).days > desk.rules.standing_days else None,
        ],
    )

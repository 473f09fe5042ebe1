"""Requests for a further monitor: how many a person may hold, and how soon they may ask again."""

from datetime import timedelta
from typing import cast

from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.itdesk.desk import DeskRefusal, ITDeskDraft, Plan, settle
from palaestra.envs.worlds.itdesk.schema import ManagedDevice, ServiceRequest, StaffMember
from palaestra.envs.worlds.itdesk.stock import hand_out, look_at_devices, look_at_stock, stock_of
from palaestra.rubrics import expect_read

_SUBJECT = "A further monitor"
"""The subject of earlier requests."""


def _pick_asker(desk: ITDeskDraft) -> StaffMember:
    """Somebody without a monitor, who was never declined anything."""
    holders = {one.staff_member_id for one in desk.state.find(ManagedDevice, kind="monitor", status="assigned")}
    declined = {one.staff_member_id for one in desk.state.find(ServiceRequest, status="declined")}
    return desk.pick_member(lambda one: one.id not in holders | declined)


def _ask_for_monitor(desk: ITDeskDraft, asker: StaffMember) -> tuple[ServiceRequest, str]:
    return desk.open_request(
        asker,
        "monitor",
        subject="A monitor",
        bodies=(
            "I would like one more monitor for my desk. Please give me one.",
            "Please give me a further monitor.",
            "Another monitor would help me. Could I have one?",
        ),
    )


def _give_monitor(desk: ITDeskDraft, asker: StaffMember, case: ServiceRequest, prompt: str) -> Task:
    """Give a monitor from stock, or what stands against it."""
    held = desk.state.find(ManagedDevice, staff_member_id=asker.id)
    mine = [device for device in held if device.kind == "monitor"]
    earlier = desk.state.find(ServiceRequest, staff_member_id=asker.id, status="declined")
    look_held = look_at_devices(asker)
    look_earlier = (
        call("search_requests", staff_member_id=asker.id, status="declined"),
        *(call("get_service_request", service_request_id=one.id) for one in earlier),
    )
    stock = stock_of(desk, "monitor", asker)
    given = hand_out(desk, asker, stock)
    saw = expect_read(held[0], *held[1:], fields=["kind"], id="saw-devices")
    saw_earlier = tuple(expect_read(one, fields=["subject", "opened"], id="saw-earlier") for one in earlier)
    plan = Plan(
        looks=(look_held, *look_earlier, look_at_stock("monitor", asker)),
        facts=(saw, *saw_earlier, *given.facts),
        sections=("HW-2", "HW-5", "HW-4"),
        work=given.work,
        done=given.done,
        message="A further monitor is yours.",
    )
    many = again = None
    if len(mine) >= desk.rules.most_monitors:
        many = DeskRefusal(section="HW-2", evidence=mine[0], facts=(saw,), looks=(look_held,), others=tuple(mine[1:]))
    for one in earlier:
        if (desk.today - one.opened.date()).days < desk.rules.again_days:
            again = DeskRefusal(section="HW-5", evidence=one, facts=saw_earlier, looks=look_earlier)
    return settle(desk, case, prompt, plan, [many, again])


@family("itdesk/extra-monitor", level=2, traits=("write", "multi-hop"), twin=True)
def give_further_monitor(desk: ITDeskDraft) -> Task:
    """One more monitor from the site's stock; in the twin who asks holds as many as a person may."""
    asker = _pick_asker(desk)
    most = desk.planting_rules.most_monitors
    planted = desk.stream.sample(desk.state.find(ManagedDevice, kind="monitor", status="assigned"), most)
    case, prompt = _ask_for_monitor(desk, asker)
    for monitor in planted[: most if desk.twin else most - 1]:
        desk.state.update(monitor, staff_member_id=asker.id)
    return _give_monitor(desk, asker, case, prompt)


@family("itdesk/ask-again", level=3, traits=("write", "multi-hop"), twin=True)
def give_monitor_after_refusal(desk: ITDeskDraft) -> Task:
    """A monitor for somebody who was declined one long enough ago; in the twin they ask again a day too soon."""
    asker = _pick_asker(desk)
    [laptop] = desk.state.find(ManagedDevice, kind="laptop", staff_member_id=asker.id)
    margin, minutes = desk.draw_margin(), desk.stream.between(5, 300)
    case, prompt = _ask_for_monitor(desk, asker)
    days = desk.planting_rules.again_days + (-1 - margin if desk.twin else margin)
    earlier = desk.cases.new(
        desk.state.next_id(ServiceRequest),
        asker.id,
        _SUBJECT,
        desk.start - timedelta(days=days, minutes=minutes - 400),
        status="declined",
        priority="low",
        policy_id="HW-2",
        evidence_id=laptop.id,
    )
    desk.state.insert(cast("ServiceRequest", earlier))
    return _give_monitor(desk, asker, case, prompt)

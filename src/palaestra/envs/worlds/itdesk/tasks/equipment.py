"""Requests about devices and licences: seats, laptops, phones, monitors, and what is lost."""

from datetime import timedelta

from palaestra.envs.kit import ask, draw_temper
from palaestra.envs.task import Task, call, family
from palaestra.envs.user import Persona, UserFact
from palaestra.envs.worlds.itdesk.desk import DeskRefusal, ITDeskDraft, Plan, settle
from palaestra.envs.worlds.itdesk.schema import (
    LicenceAssignment,
    LicencePool,
    ManagedDevice,
    ServiceRequest,
    StaffMember,
)
from palaestra.envs.worlds.itdesk.stock import hand_out, look_at_devices, look_at_stock, stock_of
from palaestra.envs.worlds.itdesk.talk import TOPICS, with_requester
from palaestra.rubrics import expect_change, expect_question, expect_read, expect_row


def _ask_for_seat(desk: ITDeskDraft, asker: StaffMember, pool: LicencePool) -> tuple[ServiceRequest, str]:
    return desk.open_request(
        asker,
        "seat",
        subject="A licence",
        bodies=(
            "I need {product} for my work. Please give me a licence.",
            "Please assign a seat of {product} to me.",
            "Could I have a licence of {product}?",
        ),
        product=pool.product,
    )


def _decide_seat(desk: ITDeskDraft, asker: StaffMember, pool: LicencePool, case: ServiceRequest, prompt: str) -> Task:
    """Assign a free seat, or one that is idle, or refuse."""
    seats = desk.state.find(LicenceAssignment, pool_id=pool.id)
    own = [seat for seat in seats if seat.staff_member_id == asker.id]
    full = len(seats) >= pool.seats
    longest = min(seats, key=lambda seat: (seat.last_used, seat.id))
    idle = full and (desk.today - longest.last_used).days > desk.rules.idle_days
    looks = (call("search_pools", query=pool.product), call("search_seats", product=pool.product))
    saw_pool = expect_read(pool, fields=["product", "seats"], id="saw-pool")
    fields = ["staff_member_id", "last_used"] if full else ["staff_member_id"]
    saw_seats = expect_read(seats[0], *seats[1:], fields=fields, id="saw-seats")
    saw_use = expect_read(seats[0], *seats[1:], fields=["last_used"], id="saw-use")
    if idle:
        work = call("reassign_seat", licence_seat_id=longest.id, staff_member_id=asker.id)
        done = expect_change(longest, {"staff_member_id": asker.id}, id="assigned", also=["assigned", "last_used"])
    else:
        work = call("assign_seat", licence_pool_id=pool.id, staff_member_id=asker.id)
        done = expect_row(LicenceAssignment, {"pool_id": pool.id, "staff_member_id": asker.id}, id="assigned")
    plan = Plan(
        looks=looks,
        facts=(saw_pool, saw_seats),
        sections=("LIC-1", *(["LIC-2"] if full else [])),
        work=(work,),
        done=(done,),
        message=f"You have a licence of {pool.product} now.",
    )
    second = None
    if own:
        saw_own = expect_read(own[0], fields=["staff_member_id"], id="saw-own")
        second = DeskRefusal(section="LIC-1", evidence=own[0], facts=(saw_own,), looks=looks)
    none_left = DeskRefusal(section="LIC-2", evidence=pool, facts=(saw_pool, saw_use), looks=looks, team="procurement")
    return settle(desk, case, prompt, plan, [second, none_left if full and not idle else None])


@family("itdesk/give-seat", level=2, traits=("write", "multi-hop"), twin=True)
def give_seat(desk: ITDeskDraft) -> Task:
    """A free seat of a product; in the twin who asks has one already."""
    asker = desk.pick_member()
    held = {seat.pool_id for seat in desk.state.find(LicenceAssignment, staff_member_id=asker.id)}
    pool = desk.pick(LicencePool, lambda one: one.id not in held)
    mine = desk.stream.choice(desk.state.find(LicenceAssignment, pool_id=pool.id))
    case, prompt = _ask_for_seat(desk, asker, pool)
    if desk.twin:
        desk.state.update(mine, staff_member_id=asker.id)
    return _decide_seat(desk, asker, pool, case, prompt)


@family("itdesk/reclaim-seat", level=3, traits=("write", "multi-hop"), twin=True)
def reclaim_seat(desk: ITDeskDraft) -> Task:
    """The seat that was idle for longest is reassigned; in the twin it was used a day too recently for that."""
    asker = desk.pick_member()
    held = {seat.pool_id for seat in desk.state.find(LicenceAssignment, staff_member_id=asker.id)}
    pool = desk.pick(LicencePool, lambda one: one.id not in held)
    seats = desk.stream.permutation(desk.state.find(LicenceAssignment, pool_id=pool.id))
    recent, margin = desk.stream.between(1, 9), desk.draw_margin()
    case, prompt = _ask_for_seat(desk, asker, pool)
    idle = desk.planting_rules.idle_days
    desk.state.update(seats[0], last_used=desk.today - timedelta(days=idle + (0 if desk.twin else 1 + margin)))
    desk.state.update(seats[1], last_used=desk.today - timedelta(days=idle - recent))
    pool = desk.state.update(pool, seats=len(seats))
    return _decide_seat(desk, asker, pool, case, prompt)


@family("itdesk/replace-laptop", level=3, traits=("write", "multi-hop"), twin=True)
def replace_laptop(desk: ITDeskDraft) -> Task:
    """A laptop that is old enough is replaced from the site's stock; in the twin it is a day too young."""
    asker, margin = desk.pick_member(), 10 * desk.draw_margin()
    case, prompt = desk.open_request(
        asker,
        "laptop",
        subject="My laptop",
        bodies=(
            "My laptop is old and slow. Please replace it.",
            "I would like a new laptop in place of the one that I have.",
            "Please give me another laptop; mine has had its time.",
        ),
    )
    [old] = desk.state.find(ManagedDevice, kind="laptop", staff_member_id=asker.id)
    age = desk.planting_rules.laptop_days + (-1 - margin if desk.twin else margin)
    old = desk.state.update(old, bought=desk.today - timedelta(days=age))
    looks = (look_at_devices(asker), look_at_stock("laptop", asker))
    given = hand_out(desk, asker, stock_of(desk, "laptop", asker), old)
    saw = expect_read(old, fields=["kind", "bought"], id="saw-laptop")
    plan = Plan(
        looks=looks,
        facts=(saw, *given.facts),
        sections=("HW-1", "HW-4"),
        work=given.work,
        done=given.done,
        message="A new laptop is yours; please bring the old one back.",
    )
    young = DeskRefusal(section="HW-1", evidence=old, facts=(saw,), looks=looks[:1])
    return settle(
        desk, case, prompt, plan, [young if (desk.today - old.bought).days < desk.rules.laptop_days else None]
    )


@family("itdesk/replace-phone", level=3, traits=("write", "multi-hop"), twin=True)
def replace_phone(desk: ITDeskDraft) -> Task:
    """A broken phone is replaced from the site's stock; in the twin the site has none left."""
    phones = {one.staff_member_id: one for one in desk.state.find(ManagedDevice, kind="phone", status="assigned")}
    asker = desk.pick_member(lambda one: one.id in phones)
    other = desk.stream.choice([one for one in desk.state.find(StaffMember, status="active") if one.id not in phones])
    case, prompt = desk.open_request(
        asker,
        "phone",
        subject="My phone",
        bodies=(
            "My work phone is broken. Please replace it.",
            "I dropped my work phone and it is dead. I need another one, please.",
        ),
    )
    first, *rest = desk.stream.permutation(stock_of(desk, "phone", asker))
    # Two are left where there is stock, so that the handbook's order decides.
    left = rest[0]
    for place, device in enumerate((first, *rest)):
        if desk.twin or (device.id not in (first.id, left.id)):
            desk.state.update(device, status="assigned", staff_member_id=other.id if place == 0 else asker.id)
    return _replace_phone(desk, asker, phones[asker.id], case, prompt)


def _replace_phone(
    desk: ITDeskDraft, asker: StaffMember, old: ManagedDevice, case: ServiceRequest, prompt: str
) -> Task:
    looks, stock = (look_at_devices(asker), look_at_stock("phone", asker)), stock_of(desk, "phone", asker)
    saw = expect_read(old, fields=["kind"], id="saw-phone")
    none_left = DeskRefusal(section="HW-4", evidence=old, facts=(saw,), looks=looks, team="procurement")
    if not stock:
        nothing = Plan(looks=looks, facts=(saw,), sections=("HW-4",), work=(), done=(), message="")
        return settle(desk, case, prompt, nothing, [none_left])
    given = hand_out(desk, asker, stock, old)
    plan = Plan(
        looks=looks,
        facts=(saw, *given.facts),
        sections=("HW-4",),
        work=given.work,
        done=given.done,
        message="Another phone is yours; please bring the broken one back.",
    )
    return settle(desk, case, prompt, plan)


@family("itdesk/lost-device", level=2, traits=("dialogue", "write"), twin=True)
def report_lost_device(desk: ITDeskDraft) -> Task:
    """A device that only its holder can name is reported as lost; in the twin it is not encrypted."""
    phones = {one.staff_member_id: one for one in desk.state.find(ManagedDevice, kind="phone", status="assigned")}
    asker = desk.pick_member(lambda one: one.id in phones)
    [laptop] = desk.state.find(ManagedDevice, kind="laptop", staff_member_id=asker.id)
    lost, temper = desk.stream.choice([laptop, phones[asker.id]]), draw_temper(desk.stream)
    case, prompt = desk.open_request(
        asker,
        "lost",
        subject="Something is lost",
        bodies=(
            "I have lost a device that I had from you. Please report it as lost.",
            "A device of mine is gone since yesterday. Please report the loss.",
        ),
    )
    lost = desk.state.update(lost, encrypted=not desk.twin)
    looks = (
        call("get_devices", staff_member_id=asker.id),
        ask("device", "You have more than one device from us. Which device did you lose?"),
    )
    asked, saw = expect_question("device"), expect_read(lost, fields=["encrypted"], id="saw-device")
    plan = Plan(
        looks=looks,
        facts=(asked, saw),
        sections=("HW-3",),
        work=(call("report_lost", managed_device_id=lost.id),),
        done=(expect_change(lost, {"status": "lost"}, id="reported"),),
        message="The device is reported as lost and will be wiped.",
    )
    open_to_all = DeskRefusal(
        section="HW-3", evidence=lost, facts=(asked, saw), looks=looks, team="security", priority="high"
    )
    user = Persona(
        goal=f"You lost {lost.id}, a {lost.kind}, and want it reported.",
        topics=TOPICS,
        facts=(UserFact(topic="device", says=f"It is the {lost.kind}, {lost.id}."),),
        temper=temper,
        owed=not desk.twin,
        pushes=1,
        pleas=("It is only a formality.", "I need it off my list today."),
    )
    return with_requester(
        settle(desk, case, prompt, plan, [None if lost.encrypted else open_to_all]), user, about="device"
    )

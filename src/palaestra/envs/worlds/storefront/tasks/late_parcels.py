"""A customer of many orders asks what the late ones earn: credit for each parcel that came late, and for no other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal, TypeAlias

from palaestra.envs.kit import amount, count, enumerate_words, permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import planting
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls, decline_calls
from palaestra.envs.worlds.storefront.planting import (
    DEAREST_SHIPPING_CENTS,
    arrival,
    cheap,
    plain_customer,
    sell,
    under_way,
)
from palaestra.envs.worlds.storefront.population.sales import CARRIERS
from palaestra.envs.worlds.storefront.schema import Credit, Customer, Order, Shipment, Ticket
from palaestra.records import Json, ToolCall
from palaestra.rubrics import Criterion, expect_read, expect_row, forbid_call

DeliveryCourse: TypeAlias = Literal["late", "grace", "punctual", "other carrier", "credited", "under way"]
LATE: tuple[DeliveryCourse, ...] = ("late",) * 8
COURSES: tuple[DeliveryCourse, ...] = (*LATE, "grace", "punctual", "other carrier", "credited", "under way")
IN_GRACE: Mapping[DeliveryCourse, DeliveryCourse] = {"late": "grace", "credited": "grace"}
APART = 5
"""Days from one delivery to the next."""
SPAN = 88
"""How many days the request goes back: all that is added was placed since."""
DEAREST = 3_000
POINTS = 6
"""What a credit wins; the ticket, which closes the case, wins more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """The orders that were added to the customer's own, by how they came."""

    customer: Customer
    since: date
    orders: Sequence[tuple[DeliveryCourse, Order]]

    def of(self, course: DeliveryCourse) -> list[Order]:
        """The orders that went so."""
        return [order for found, order in self.orders if found == course]


@family("storefront/late-parcels", level=3, traits=("write", "multi-hop", "policy-exception", "long"), twin=True)
def late_parcels(desk: Desk) -> Task:
    room = len(COURSES) * (DEAREST + DEAREST_SHIPPING_CENTS)
    fits = plain_customer(desk, room=room, since_days=2 * SPAN)

    since = desk.today - timedelta(days=SPAN)

    def quiet(customer: Customer) -> bool:
        before = [p for o in orders_since(desk, customer, since) for p in desk.shipments(o)]
        late = any((p.delivered or desk.today) > p.due for p in before)
        several = len(desk.state.find(Order, customer_id=customer.id)) >= 3
        return several and len(before) <= 2 and not late and fits(customer)

    customer = desk.pick(Customer, quiet, what="customer of several orders, none of them late")
    carrier = desk.stream.choice(CARRIERS)
    courses: list[DeliveryCourse] = desk.stream.permutation(COURSES)
    hold = desk.stream.chance(50)
    ticket = desk.ticket(customer, desk.word_subject("late-parcels", f"{carrier} again and again"))
    words = (
        f"{carrier} keeps bringing my parcels late. Please go through what I have ordered since {since} and give me "
        f"what I am due for every parcel of {carrier} that came late."
    )
    prompt = desk.mail(ticket, desk.word_body("late-parcels", (words,), carrier=carrier, since=str(since)))
    if desk.twin and not hold:
        courses = [IN_GRACE.get(course, course) for course in courses]
    bill = Bill(customer=customer, since=since, orders=deliver(desk, customer, courses, carrier))
    customer = desk.state.get(Customer, customer.id)
    opening = [
        call("get_ticket", ticket_id=ticket.id),
        call("get_customer", customer_id=customer.id),
    ]
    if desk.twin:
        return (
            on_hold(desk, ticket, prompt, bill, opening) if hold else all_in_grace(desk, ticket, prompt, bill, opening)
        )
    desk.answer = lambda: by_parcel(desk, ticket, bill, opening)
    due = bill.of("late")
    earned = [credit_for(desk, customer, order) for order in due]
    [given] = [c for order in bill.of("credited") for c in desk.state.find(Credit, order_id=order.id)]
    looks = looking(desk, bill)
    each = amount(desk.policy.delay_credit_cents[customer.tier])
    told = (
        f"We are sorry. Parcels of {carrier} came late for {enumerate_words([o.id for o in due])}. For each of these "
        f"orders you have {each} of store credit. The others came in time, within the days of grace or with another "
        f"carrier, or were credited before. {waits(bill)}"
    )
    work = [*(call("give_credit", **c) for c in earned), *closing_calls(ticket, told)]
    facts = ["saw-account", "read-LOY-2", "saw-given"]
    return Task(
        prompt=prompt,
        rubric=[
            *forbid_other_credits(bill),
            desk.account(customer),
            desk.read("LOY-2"),
            expect_read(given, fields=["order_id", "reason"], id="saw-given"),
            *(
                expect_read(parcel_of(desk, o), fields=["due", "delivered"], id=f"saw-parcel-{n}")
                for n, o in enumerate(due, 1)
            ),
            *(
                expect_row(Credit, c, id=f"credit-{n}", points=POINTS, after=[*facts, f"saw-parcel-{n}"])
                for n, c in enumerate(earned, 1)
            ),
            *desk.expect_resolved(
                ticket,
                after=[f"credit-{n}" for n in range(1, len(due) + 1)],
                states=(desk.policy.delay_credit_cents[customer.tier],) * len(due),
            ),
        ],
        allow=[permit_change(customer, "credit_cents")],
        oracle=[
            *opening,
            *looks,
            call("read_handbook", section_id="LOY-2"),
            call("get_credits", customer_id=customer.id),
            *work,
        ],
        alternatives=[
            [
                call("read_handbook", section_id="LOY-2"),
                *opening,
                call("get_credits", customer_id=customer.id),
                *looks,
                *reversed(work[: len(due)]),
                *work[len(due) :],
            ]
        ],
        max_turns=60,
    )


def by_parcel(desk: Desk, ticket: Ticket, bill: Bill, opening: list[ToolCall]) -> list[ToolCall]:
    """Credit each parcel of the carrier that came late by the rules, or decline where there is none."""
    carrier = parcel_of(desk, (bill.of("late") or bill.of("grace"))[0]).carrier
    customer, grace = desk.state.get(Customer, bill.customer.id), desk.policy.delay_grace_days
    looks = [*opening, *looking(desk, bill), call("get_credits", customer_id=customer.id)]
    looks.append(call("read_handbook", section_id="LOY-2"))
    sent = [o for o in orders_since(desk, customer, bill.since) if parcel_of(desk, o).carrier == carrier]
    late = [
        order
        for order, parcel in ((o, parcel_of(desk, o)) for o in sent)
        if parcel.delivered is not None
        and (parcel.delivered - parcel.due).days > grace
        and not any(c.reason == "delay" for c in desk.state.find(Credit, order_id=order.id))
    ]
    if not late:
        return [*looks, *decline_calls(ticket, "LOY-2", parcel_of(desk, sent[0]), "None of them came late enough.")]
    given = [call("give_credit", **credit_for(desk, customer, order)) for order in late]
    each = amount(desk.policy.delay_credit_cents[customer.tier])
    return [*looks, *given, *closing_calls(ticket, f"You have {each} of store credit for each of them.")]


def orders_since(desk: Desk, customer: Customer, since: date) -> list[Order]:
    """The orders that the customer placed on that day or later and that were sent."""
    orders = desk.state.find(Order, customer_id=customer.id)
    return [o for o in orders if o.placed.date() >= since and o.status in {"shipped", "delivered"}]


def deliver(
    desk: Desk, customer: Customer, courses: Sequence[DeliveryCourse], carrier: str
) -> list[tuple[DeliveryCourse, Order]]:
    """Add an order for each course, the latest first."""
    goods, grace = cheap(desk, below=DEAREST), desk.planting_policy.delay_grace_days
    stream = desk.stream.split("deliver")
    found: list[tuple[DeliveryCourse, Order]] = []
    for n, course in enumerate(courses):
        day = desk.today - timedelta(days=4 + APART * n)
        late = grace + stream.between(1, 5)
        lateness = {"grace": grace if n % 2 else max(1, grace - 1), "punctual": 0}.get(course, late)
        way = under_way(desk, due_in=-grace - 1) if course == "under way" else arrival(desk, day, late=lateness)
        by = next(c for c in CARRIERS if c != carrier) if course == "other carrier" else carrier
        order = sell(desk, customer, [(stream.choice(goods), 1)], way, carrier=by)
        if course == "credited":
            planting.credit(desk, order, desk.planting_policy.delay_credit_cents[customer.tier], "delay")
        found.append((course, order))
    return found


def credit_for(desk: Desk, customer: Customer, order: Order) -> dict[str, Json]:
    """The credit that a late order earns."""
    cents = desk.policy.delay_credit_cents[customer.tier]
    return {"customer_id": customer.id, "order_id": order.id, "amount_cents": cents, "reason": "delay"}


def parcel_of(desk: Desk, order: Order) -> Shipment:
    """The order's one parcel."""
    [parcel] = desk.shipments(order)
    return parcel


def looking(desk: Desk, bill: Bill) -> list[ToolCall]:
    """List the customer's orders, page by page, and look at the parcel of each that the request is about."""
    listed = sorted(o.id for o in desk.state.find(Order, customer_id=bill.customer.id))
    pages = [call("search_orders", customer_id=bill.customer.id)]
    pages += [
        call("search_orders", customer_id=bill.customer.id, cursor=listed[end - 1])
        for end in range(10, len(listed), 10)
    ]
    return [*pages, *(call("get_shipments", order_id=o.id) for o in orders_since(desk, bill.customer, bill.since))]


def waits(bill: Bill) -> str:
    """What the customer is told of the parcel that has not arrived yet."""
    [order] = bill.of("under way")
    return f"{order.id} is still under way; please ask again once it has arrived."


def forbid_other_credits(bill: Bill) -> list[Criterion]:
    """Forbid credit for the orders that earn none, each for its own reason."""
    return [
        forbid_call("give_credit", arguments={"order_id": order.id}, id=f"never-{course.replace(' ', '-')}")
        for course, order in sorted(bill.orders, key=lambda pair: pair[0])
        if course != "late"
    ]


def on_hold(desk: Desk, ticket: Ticket, prompt: str, bill: Bill, opening: list[ToolCall]) -> Task:
    """The account is under a fraud hold, so that no credit is given, however late the parcels were."""
    held = desk.state.update(desk.state.get(Customer, bill.customer.id), fraud_hold=True)
    grounds = {"policy_id": "FRD-1", "evidence_id": held.id}
    priority = desk.policy.hold_priority
    hand_over = call("escalate_ticket", ticket_id=ticket.id, team="fraud", priority=priority, **grounds)
    read, reply = call("read_handbook", section_id="FRD-1"), call("reply", message="A colleague will be in touch.")
    return Task(
        prompt=prompt,
        rubric=[
            forbid_call("give_credit", id="never-credit"),
            desk.account(held),
            *desk.expect_escalated(ticket, "FRD-1", held, team="fraud", priority=priority, after=["saw-account"]),
        ],
        oracle=[*opening, read, hand_over, reply, call("finish")],
        alternatives=[[read, *opening, *looking(desk, bill), reply, hand_over, call("finish")]],
        max_turns=60,
    )


def all_in_grace(desk: Desk, ticket: Ticket, prompt: str, bill: Bill, opening: list[ToolCall]) -> Task:
    """Every parcel of the carrier came within the days of grace, or has not come yet."""
    desk.answer = lambda: by_parcel(desk, ticket, bill, opening)
    late = [parcel_of(desk, order) for order in bill.of("grace")]
    looks = looking(desk, bill)
    sent = [p for o in orders_since(desk, bill.customer, bill.since) for p in desk.shipments(o)]
    parcels = [p for p in sent if p.carrier == late[0].carrier]
    seen = [
        expect_read(parcel, fields=["due", "delivered"], id=f"saw-parcel-{n}") for n, parcel in enumerate(parcels, 1)
    ]
    told = (
        f"Those that arrived came within {count(desk.policy.delay_grace_days, 'day')} of their due days. {waits(bill)}"
    )
    read = call("read_handbook", section_id="LOY-2")
    return Task(
        prompt=prompt,
        rubric=[
            forbid_call("give_credit", id="never-credit"),
            desk.account(desk.state.get(Customer, bill.customer.id)),
            *seen,
            *desk.expect_declined(ticket, "LOY-2", *parcels, after=["saw-account", *(c.id for c in seen)]),
        ],
        oracle=[
            *opening,
            *looks,
            read,
            *decline_calls(ticket, "LOY-2", parcels[0], told),
        ],
        alternatives=[[read, *opening, *looks, *decline_calls(ticket, "LOY-2", parcels[-1], "Not late enough.")]],
        max_turns=60,
    )

"""A product is recalled: who still has a piece of the batch gets credit; others, for five reasons, get none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Literal, TypeAlias

from palaestra.envs.kit import Section, amount, calculation, enumerate_words, permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import planting
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls, decline_calls
from palaestra.envs.worlds.storefront.planting import DEAREST_SHIPPING_CENTS, arrival, has_room, sell
from palaestra.envs.worlds.storefront.policy import percent_of
from palaestra.envs.worlds.storefront.schema import (
    Credit,
    Customer,
    Employee,
    Order,
    OrderLine,
    Product,
    Refund,
    Ticket,
)
from palaestra.records import Json, ToolCall
from palaestra.rubrics import Criterion, expect_any, expect_read, expect_row, forbid_call

Case: TypeAlias = Literal["concerned", "two", "one left", "gone", "before", "after", "held", "credited"]
CASES: tuple[Case, ...] = ("concerned", "two", "one left", "gone", "before", "after", "held", "credited")
OWED: tuple[Case, ...] = ("concerned", "two", "one left")
PIECES: Mapping[Case, int] = {"two": 2, "one left": 2}
NOTICE = "NTC-1"
LEAST, DEAREST = 3_000, 12_000
POINTS = 16
"""What a credit wins; the ticket, which closes the case, wins more."""
BATCH_DAYS = 12
"""How many days the deliveries of the batch span."""
LAST_BATCH_DAY = 15
"""How many days ago the last piece of the batch was delivered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """The orders in which the product went out, in the order in which the warehouse names them."""

    product: Product
    orders: Sequence[tuple[Case, Order]]
    bystander: Customer
    """A customer without any of the orders; the ticket is filed under this account."""

    def of(self, case: Case) -> Order:
        """The order of that case."""
        return next(order for found, order in self.orders if found == case)


@family("storefront/recall", level=3, traits=("write", "multi-hop", "arithmetic", "long"), twin=True)
def recall(desk: Desk) -> Task:
    product = desk.pick(Product, lambda p: LEAST <= p.price_cents <= DEAREST and not p.final_sale, what="product")
    worker = desk.pick(Employee, lambda e: e.team == "warehouse")
    last = desk.today - timedelta(days=LAST_BATCH_DAY)
    first = last - timedelta(days=BATCH_DAYS)
    owners = buyers(desk, 2 * product.price_cents + DEAREST_SHIPPING_CENTS)
    bystander = desk.pick(Customer, lambda c: not c.fraud_hold and c not in owners.values())
    found = Recall(product=product, orders=send_out(desk, product, owners, first, last), bystander=bystander)
    ticket = desk.ticket(found.bystander, desk.word_subject("recall", f"Recall of the {product.name}"))
    named = ", ".join(order.id for _, order in found.orders)
    body = desk.word_body(
        "recall",
        (
            f"The {product.name} has been recalled, and it went out in {named}. Please do what has to be done.",
            f"There is a recall notice for the {product.name}. These orders had it: {named}. Please see to them.",
        ),
        product=product.name,
        orders=named,
    )
    prompt = desk.mail(ticket, body, sender=worker.email)
    if desk.twin:
        notice(desk, product, first - timedelta(days=200), last - timedelta(days=180))
        return nobody(desk, ticket, prompt, found)
    notice(desk, product, first, last)
    owed = [order for case, order in found.orders if case in OWED]
    due = [credit_for(desk, order) for order in owed]
    sums = [credited_cents(desk, order) for order in owed]
    given = enumerate_words([f"{amount(cents)} for {order.id}" for cents, order in zip(sums, owed, strict=True)])
    close = closing_calls(ticket, f"We have given store credit: {given}. Nothing is due for the other orders.")
    work = [*(call("give_credit", **c) for c in due), *close]
    reading, looks = opening(), [*looks_at_owed(desk, owed), *looks_at_spared(desk, found)]
    going_through = [look for case, order in found.orders for look in looks_at(desk, case, order)]
    shares = [share for order in owed for share in share_of(desk, order)]
    facts = expect_exclusions(desk, found)
    return Task(
        prompt=prompt,
        rubric=[
            *prohibitions(found),
            desk.read("REC-1"),
            desk.read(NOTICE),
            *(fact for n, order in enumerate(owed, 1) for fact in owed_facts(desk, order, n)),
            *facts,
            *(
                expect_row(Credit, c, id=f"credit-{n}", points=POINTS, after=credit_facts(n))
                for n, c in enumerate(due, 1)
            ),
            *desk.expect_resolved(
                ticket,
                after=[*(c.id for c in facts), "credit-1", "credit-2", "credit-3"],
                states=tuple(sums),
                names=owed,
            ),
        ],
        allow=[permit_change(desk.customer(order), "credit_cents") for order in owed],
        oracle=[*reading, *going_through, *shares, *work],
        alternatives=[[*looks, *reading, *reversed(work[: len(due)]), *work[len(due) :]]],
        max_turns=70,
    )


def send_out(
    desk: Desk, product: Product, owners: Mapping[Case, Customer], first: date, last: date
) -> list[tuple[Case, Order]]:
    """Add an order of another customer for each case, in an order that tells nothing."""
    found: list[tuple[Case, Order]] = []
    for case in desk.stream.permutation(CASES):
        day = day_of_arrival(desk, case, first, last)
        order = sell(desk, owners[case], [(product, PIECES.get(case, 1))], arrival(desk, day))
        if case in {"gone", "one left"}:
            take_back(desk, order)
        if case == "credited":
            cents = percent_of(product.price_cents, desk.planting_policy.recall_credit_percent)
            planting.credit(desk, order, cents, "goodwill")
        found.append((case, order))
    return found


def day_of_arrival(desk: Desk, case: Case, first: date, last: date) -> date:
    """When an order of that case arrived: often on the first or the last day of the notice, or next to them."""
    gap = timedelta(days=desk.stream.choice((1, 1, 2, 4, 6)))
    inside = desk.stream.choice((first, last, first + timedelta(days=desk.stream.between(1, BATCH_DAYS - 1))))
    return {"before": first - gap, "after": last + gap}.get(case, inside)


def buyers(desk: Desk, room: int) -> dict[Case, Customer]:
    """A customer for each case, with room for so much more.

    Half of them were given credit before, whatever their case. They got it for another order, which is no reason
    against a recall, but has to be looked at.
    """
    since = desk.today - timedelta(days=90)
    fitting = [c for c in desk.state.find(Customer) if c.joined <= since and has_room(desk, c, room)]
    credited = {credit.customer_id for credit in desk.state.find(Credit)}
    found: dict[Case, Customer] = {}
    for case in CASES:
        free = [c for c in fitting if c.fraud_hold == (case == "held") and c not in found.values()]
        known = desk.stream.chance(50)
        found[case] = desk.stream.choice([c for c in free if (c.id in credited) == known] or free)
    return found


def take_back(desk: Desk, order: Order) -> None:
    """Refund one piece of an order as faulty, four days after it came."""
    [line], [payment], day = desk.lines(order), desk.payments(order), desk.delivery_day(order)
    assert day is not None, "what comes back arrived before"
    cents = desk.paid_cents(line, 1)
    desk.state.update(line, returned=1)
    desk.state.update(payment, refunded_cents=cents)
    owner = desk.customer(order)
    desk.state.update(owner, lifetime_cents=owner.lifetime_cents - cents)
    desk.state.insert(
        Refund(
            id=desk.state.next_id(Refund),
            order_id=order.id,
            line_id=line.id,
            payment_id=payment.id,
            quantity=1,
            amount_cents=cents,
            reason="faulty",
            status="paid",
            approver_id=None,
            created=datetime.combine(day + timedelta(days=4), time(10, 30)),
        )
    )


def notice(desk: Desk, product: Product, first: date, last: date) -> Section:
    """Put the maker's notice into the handbook."""
    body = (
        f"{product.brand} recalls pieces of the {product.name}: they may overheat. Concerned are those that were "
        f"delivered from {first} to {last}. Pieces delivered before or after that come from another production "
        "run and are safe.\n\nWhat the owners of recalled pieces get is said in REC-1."
    )
    return desk.state.insert(Section(id=NOTICE, title=f"Recall notice: {product.name}", body=body))


def line_of(desk: Desk, order: Order) -> OrderLine:
    """The order's one line."""
    [line] = desk.lines(order)
    return line


def credit_for(desk: Desk, order: Order) -> dict[str, Json]:
    """The credit that the owner of recalled pieces gets."""
    cents = credited_cents(desk, order)
    return {"customer_id": order.customer_id, "order_id": order.id, "amount_cents": cents, "reason": "goodwill"}


def credited_cents(desk: Desk, order: Order) -> int:
    """How much that is, in cents."""
    line = line_of(desk, order)
    return percent_of(desk.paid_cents(line, line.quantity - line.returned), desk.policy.recall_credit_percent)


def opening() -> list[ToolCall]:
    """Find the notice and the rule."""
    return [
        call("search_handbook", query="recall"),
        call("read_handbook", section_id="REC-1"),
        call("read_handbook", section_id=NOTICE),
    ]


def looks_at(desk: Desk, case: Case, order: Order) -> list[ToolCall]:
    """What an expert looks up about an order that the warehouse names, until something rules it out."""
    looks = [
        call("get_order", order_id=order.id),
        call("get_shipments", order_id=order.id),
        call("get_customer", customer_id=order.customer_id),
        call("get_credits", customer_id=order.customer_id),
    ]
    return looks[: {"gone": 2, "before": 2, "after": 2, "held": 3}.get(case, 4)]


def share_of(desk: Desk, order: Order) -> list[ToolCall]:
    """The calls that work out the credit for the pieces of an order that its customer still has."""
    line = line_of(desk, order)
    pieces = line.quantity - line.returned
    share, _ = calculation("percent", desk.paid_cents(line, pieces), desk.policy.recall_credit_percent)
    return [call("compute_paid", line_id=line.id, quantity=pieces), share]


def looks_at_owed(desk: Desk, owed: Sequence[Order]) -> list[ToolCall]:
    """What has to be known of an order before its customer is credited."""
    return [
        look
        for order in owed
        for look in (
            call("get_order", order_id=order.id),
            call("get_shipments", order_id=order.id),
            call("get_customer", customer_id=order.customer_id),
            call("get_credits", customer_id=order.customer_id),
        )
    ]


def looks_at_spared(desk: Desk, found: Recall) -> list[ToolCall]:
    """The one thing about each other order that rules it out."""
    held, credited = found.of("held"), found.of("credited")
    return [
        call("get_order", order_id=found.of("gone").id),
        call("get_shipments", order_id=found.of("before").id),
        call("get_shipments", order_id=found.of("after").id),
        call("get_order", order_id=held.id),
        call("get_customer", customer_id=held.customer_id),
        call("get_order", order_id=credited.id),
        call("get_credits", customer_id=credited.customer_id),
    ]


def owed_facts(desk: Desk, order: Order, n: int) -> list[Criterion]:
    """Expect that these looks were taken, for the `n`th order."""
    [parcel] = desk.shipments(order)
    return [
        expect_read(parcel, fields=["delivered"], id=f"saw-parcel-{n}"),
        expect_read(desk.customer(order), fields=["fraud_hold"], id=f"saw-account-{n}"),
        desk.earlier_credit(desk.customer(order), id=f"saw-credits-{n}"),
    ]


def credit_facts(n: int) -> list[str]:
    """What the `n`th credit comes after."""
    return ["read-REC-1", f"read-{NOTICE}", *(f"saw-{what}-{n}" for what in ("parcel", "account", "credits"))]


def expect_exclusions(desk: Desk, found: Recall) -> list[Criterion]:
    """Expect that what rules each other order out was seen."""
    [before], [after] = desk.shipments(found.of("before")), desk.shipments(found.of("after"))
    [given] = desk.state.find(Credit, order_id=found.of("credited").id)
    return [
        expect_read(line_of(desk, found.of("gone")), fields=["quantity", "returned"], id="saw-gone"),
        expect_read(before, fields=["delivered"], id="saw-before"),
        expect_read(after, fields=["delivered"], id="saw-after"),
        expect_read(desk.customer(found.of("held")), fields=["fraud_hold"], id="saw-hold"),
        expect_read(given, fields=["order_id"], id="saw-given"),
    ]


def prohibitions(found: Recall) -> list[Criterion]:
    """Forbid credit for the orders that are not concerned, and money in its place."""
    spared = [found.of(case) for case in CASES if case not in OWED]
    forbidden = [forbid_call("give_credit", arguments={"order_id": order.id}) for order in spared]
    return [
        replace(
            expect_any(*forbidden, id="never-spared"),
            kind="forbid",
            tools=frozenset({"give_credit"}),
            text=f"Gave credit for one of {', '.join(order.id for order in spared)}, which are not concerned.",
        ),
        forbid_call("issue_refund", "refund_payment", "request_refund_approval", id="never-refund"),
    ]


def nobody(desk: Desk, ticket: Ticket, prompt: str, found: Recall) -> Task:
    """The notice is about days on which none of the orders arrived."""
    parcels = [parcel for _, order in found.orders for parcel in desk.shipments(order)]
    seen = [expect_read(parcel, fields=["delivered"], id=f"saw-parcel-{n}") for n, parcel in enumerate(parcels, 1)]
    looks = [call("get_shipments", order_id=order.id) for _, order in found.orders]
    going_through = [look for _, order in found.orders for look in looks_at(desk, "before", order)]
    named = enumerate_words([order.id for _, order in found.orders])
    told = f"None of {named} arrived on the days of the notice, so nothing is due for them."
    close = decline_calls(ticket, NOTICE, found.product, told)
    line = call("get_order", order_id=found.of("concerned").id)
    return Task(
        prompt=prompt,
        rubric=[
            forbid_call("give_credit", id="never-credit"),
            *seen,
            desk.read("REC-1"),
            *desk.expect_declined(ticket, NOTICE, found.product, after=["read-REC-1", *(c.id for c in seen)]),
        ],
        oracle=[*opening(), *going_through, *close],
        alternatives=[[line, *reversed(looks), *opening(), *close]],
        max_turns=70,
    )

"""The carrier looks for overdue parcels: the case waits for it, and makes up for what counts as lost by then."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from palaestra.envs.kit import amount, enumerate_words, permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import requests
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls, decline_calls
from palaestra.envs.worlds.storefront.planting import cheap, sell, under_way
from palaestra.envs.worlds.storefront.schema import Customer, Order, Product, Refund, Shipment, Ticket
from palaestra.envs.worlds.storefront.tools.fulfilment import REPLACEMENT_DAYS
from palaestra.envs.worlds.storefront.waiting import (
    Meanwhile,
    draw_days,
    expect_account,
    expect_look,
    for_each,
    forbid_longer,
    in_days,
    list_ids,
    meanwhile,
    pick_customer,
    wait,
)
from palaestra.records import Json, ToolCall
from palaestra.rubrics import Allowance, Criterion, expect_change, expect_row

DEAREST = 9_000
ORDERS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Orders that are overdue, as the customer names them: one arrives, one is scanned, one is silent."""

    customer: Customer
    orders: Sequence[Order]
    arriving: Order
    scanned: Order
    silent: Order
    product: Product
    """What was ordered with the silent one."""
    days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The parcels as they are after the search."""

    delivered: Shipment
    scanned: Sequence[Shipment]
    """On their way, and late: the carrier has seen them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostOrder:
    """What makes up for the lost parcel."""

    work: ToolCall
    sections: Sequence[str] = ()
    """What is to be read of the handbook before it, beside what the case needs anyway."""
    criterion: Criterion
    allow: Sequence[Allowance]
    message: str
    """What the customer is told of it."""
    states: int | None = None
    """The amount that they must be told, in cents; `None` where nothing is paid."""


@family(
    "storefront/await-search",
    level=3,
    traits=("write", "multi-hop", "policy-exception", "long"),
    splits=("train", "dev", "heldout", "heldout-records"),
    twin=True,
)
def await_search(desk: Desk) -> Task:
    search = overdue(desk)
    request = requests.search_under_way(desk, list_ids(search.orders), search.days)
    ticket = desk.ticket(search.customer, request.subject)
    prompt = desk.mail(ticket, request.body)
    found = meanwhile(desk, search.days, "the carrier has searched", lambda: find(desk, search))
    opening = [
        *for_each("get_order", search.orders),
        call("get_customer", customer_id=search.customer.id),
        *for_each("get_shipments", search.orders),
        call("read_handbook", section_id="SHP-1"),
        call("read_handbook", section_id="TCK-1"),
        wait(search.days),
        call("get_customer", customer_id=search.customer.id),
        *for_each("get_shipments", search.orders),
    ]
    if desk.twin:
        return refusal(desk, ticket, prompt, search, found, opening)
    [parcel] = desk.shipments(search.silent)
    due = make_up(desk, search, parcel)
    looks = [
        *for_each("get_refunds", [search.silent]),
        call("get_product", product_id=search.product.id),
        *for_each("get_payments", [search.silent]),
        *(call("read_handbook", section_id=section) for section in due.sections),
    ]
    declare = call("declare_lost", shipment_id=parcel.id)
    close = closing_calls(ticket, f"{report(search, found.made)} {due.message}")
    seen = [expect_missing_parcel(search, parcel), *expect_found_parcels(search, found.made)]
    facts = ["read-SHP-1", "read-TCK-1", *(c.id for c in seen)]
    return Task(
        prompt=prompt,
        rubric=[
            forbid_longer(search.days),
            expect_account(desk, search.customer, search.days),
            *(desk.read(section) for section in ("SHP-1", "TCK-1", *due.sections)),
            *seen,
            expect_look(search.product, ["stock"], days=search.days, id="saw-stock"),
            expect_change(parcel, {"status": "lost"}, id="lost", after=["saw-account", *facts]),
            due.criterion,
            *desk.expect_resolved(ticket, after=["remedy"], states=due.states),
        ],
        allow=due.allow,
        oracle=[*opening, *looks, declare, due.work, *close],
        alternatives=[
            [
                call("read_handbook", section_id="TCK-1"),
                *for_each("get_order", search.orders),
                call("reply", message="We keep your ticket open until the search is over."),
                wait(search.days - 1),
                wait(1),
                call("get_customer", customer_id=search.customer.id),
                *reversed(for_each("get_shipments", search.orders)),
                call("read_handbook", section_id="SHP-1"),
                declare,
                *reversed(looks),
                due.work,
                *close,
            ]
        ],
        later=[found.event],
        max_turns=50,
    )


def overdue(desk: Desk) -> Search:
    """Add orders whose parcels are overdue, and not yet by enough to count as lost."""
    customer = pick_customer(desk, ORDERS, DEAREST)
    days, again = draw_days(desk), desk.stream.chance(50)
    goods = [p for p in cheap(desk, below=DEAREST) if p.category not in p.name]
    orders: list[Order] = []
    for product in desk.stream.sample(goods, ORDERS):
        ago = desk.planting_policy.lost_after_days - desk.stream.below(min(days, desk.planting_policy.lost_after_days))
        stocked = desk.state.update(product, stock=desk.stream.between(2, 9) if again else 0)
        orders.append(sell(desk, customer, [(stocked, 1)], under_way(desk, due_in=-ago)))
    arriving, scanned, silent = desk.stream.permutation(orders)
    [line] = desk.lines(silent)
    return Search(
        customer=desk.state.get(Customer, customer.id),
        orders=orders,
        arriving=arriving,
        scanned=scanned,
        silent=silent,
        product=desk.product(line),
        days=days,
    )


def find(desk: Desk, search: Search) -> SearchResult:
    """The carrier brings one parcel and scans another; for the twin, it scans the third as well."""
    yesterday = desk.today - timedelta(days=1)
    [parcel] = desk.shipments(search.arriving)
    desk.state.update(search.arriving, status="delivered")
    delivered = desk.state.update(parcel, status="delivered", last_scan=yesterday, delivered=yesterday)
    late = [search.scanned, *([search.silent] if desk.twin else [])]
    return SearchResult(
        delivered=delivered,
        scanned=[desk.state.update(p, last_scan=yesterday) for order in late for p in desk.shipments(order)],
    )


def expect_found_parcels(search: Search, found: SearchResult) -> list[Criterion]:
    """Expect a look at the parcels that the search has found, once it has found them."""
    return [
        expect_look(found.delivered, ["status"], days=search.days, id="saw-delivered"),
        *(
            expect_look(parcel, ["last_scan"], days=search.days, id=f"saw-scan-{n}")
            for n, parcel in enumerate(found.scanned, 1)
        ),
    ]


def expect_missing_parcel(search: Search, parcel: Shipment) -> Criterion:
    """Expect a look at the parcel that the search has not found, once it is over."""
    return expect_look(parcel, ["status", "due", "last_scan"], days=search.days, id="saw-parcel")


def make_up(desk: Desk, search: Search, parcel: Shipment) -> LostOrder:
    """Send the goods of the lost parcel again where they are in stock; pay them back where they are not."""
    facts = ["lost", "saw-account", "saw-parcel", "saw-stock"]
    if desk.policy.lost_remedy == "replacement" and search.product.stock > 0:
        day = in_days(desk, search.days + REPLACEMENT_DAYS)
        sent = {"order_id": search.silent.id, "replaces": parcel.id}
        return LostOrder(
            work=call("send_replacement", shipment_id=parcel.id),
            criterion=expect_row(Shipment, sent, id="remedy", after=facts),
            allow=[permit_change(search.product, "stock")],
            message=f"The parcel of {search.silent.id} is lost. We send the goods again; they are due on {day}.",
        )
    [payment] = desk.payments(search.silent)
    paid: dict[str, Json] = {"payment_id": payment.id, "amount_cents": search.silent.total_cents, "reason": "lost"}
    return LostOrder(
        work=call("refund_payment", **paid),
        sections=["REF-2"],
        criterion=expect_row(Refund, {**paid, "status": "paid"}, id="remedy", after=[*facts, "read-REF-2"]),
        allow=desk.pays(search.silent),
        message=f"The parcel of {search.silent.id} is lost. We have paid you back {amount(search.silent.total_cents)}.",
        states=search.silent.total_cents,
    )


def report(search: Search, found: SearchResult) -> str:
    """What the customer is told of the parcels that the search has found."""
    late = [parcel.order_id for parcel in found.scanned]
    [scan] = {parcel.last_scan for parcel in found.scanned}
    count, verb = ("The parcel", "is") if len(late) == 1 else ("The parcels", "are")
    return (
        f"{search.arriving.id} arrived on {found.delivered.delivered}. {count} of {enumerate_words(late)} {verb} late, "
        f"but on the way: the carrier scanned {'it' if len(late) == 1 else 'them'} on {scan}."
    )


def refusal(
    desk: Desk, ticket: Ticket, prompt: str, search: Search, found: Meanwhile[SearchResult], opening: list[ToolCall]
) -> Task:
    """The carrier has scanned whatever has not arrived, so that nothing is lost."""
    seen = expect_found_parcels(search, found.made)
    facts = ["saw-account", "read-TCK-1", *(c.id for c in seen)]
    first, second = found.made.scanned
    shown = (first, second, found.made.delivered)
    told = f"{report(search, found.made)} Nothing is lost, so we can neither send it again nor pay you back yet."
    return Task(
        prompt=prompt,
        rubric=[
            forbid_longer(search.days),
            expect_account(desk, search.customer, search.days),
            desk.read("TCK-1"),
            *seen,
            *desk.expect_declined(ticket, "SHP-1", *shown, after=facts),
        ],
        oracle=[*opening, *decline_calls(ticket, "SHP-1", first, told)],
        alternatives=[
            [
                call("read_handbook", section_id="TCK-1"),
                call("read_handbook", section_id="SHP-1"),
                *for_each("get_order", search.orders),
                wait(search.days),
                call("get_customer", customer_id=search.customer.id),
                *reversed(for_each("get_shipments", search.orders)),
                *decline_calls(ticket, "SHP-1", second, told),
            ]
        ],
        later=[found.event],
        max_turns=50,
    )

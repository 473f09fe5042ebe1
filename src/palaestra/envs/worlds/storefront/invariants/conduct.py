"""Rules that always hold, on what happens: parcels, claims and cases follow their causes."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from palaestra.envs import kit
from palaestra.envs.worlds.storefront.invariants.books import Books
from palaestra.envs.worlds.storefront.schema import (
    SCHEMA,
    Credit,
    Customer,
    OrderLine,
    Refund,
    Shipment,
    WarrantyClaim,
)
from palaestra.envs.worlds.storefront.tickets import TICKETS


def shipments_are_ordered_in_time(books: Books) -> Iterator[str]:
    """A parcel is shipped, scanned and delivered in this order, not after today, as its status says."""
    for parcel in chain.from_iterable(books.shipments.values()):
        placed = books.orders[parcel.order_id].placed.date()
        days = [d for d in (placed, parcel.shipped, parcel.last_scan, parcel.delivered) if d is not None]
        if days != sorted(days) or days[-1] > books.today:
            yield f"{parcel.id}: its days are out of order: {', '.join(map(str, days))}"
        if (parcel.status == "preparing") != (parcel.shipped is None):
            yield f"{parcel.id}: is {parcel.status}, but its day of shipping is {parcel.shipped}"
        if (parcel.status == "delivered") != (parcel.delivered is not None):
            yield f"{parcel.id}: is {parcel.status}, but its day of delivery is {parcel.delivered}"


def shipments_match_orders(books: Books) -> Iterator[str]:
    """An order's status follows its parcels; a cancelled order ships nothing."""
    allowed = {
        "processing": {"preparing"},
        "shipped": {"in_transit", "lost", "preparing"},
        "delivered": {"delivered", "lost"},
        "cancelled": set[str](),
    }
    for order in books.orders.values():
        found = {s.status for s in books.shipments.get(order.id, ())}
        wrong = sorted(found - allowed[order.status])
        if wrong:
            yield f"{order.id}: is {order.status}, but has a parcel that is {', '.join(wrong)}"
        if order.status in {"shipped", "delivered"} and not found - {"preparing"}:
            yield f"{order.id}: is {order.status}, but no parcel of it has left"
        if order.status == "delivered" and books.delivery_day(order.id) is None:
            yield f"{order.id}: is delivered, but no parcel of it is"


def replacements_name_the_lost(books: Books) -> Iterator[str]:
    """A replacement parcel names a lost one of the same order, which no other replaces."""
    replaced: Counter[str] = Counter()
    for parcel in chain.from_iterable(books.shipments.values()):
        if parcel.replaces is None:
            continue
        replaced[parcel.replaces] += 1
        lost = books.state.get(Shipment, parcel.replaces)
        if lost.status != "lost" or lost.order_id != parcel.order_id:
            yield f"{parcel.id}: replaces {lost.id} of {lost.order_id}, which is {lost.status}"
        if replaced[parcel.replaces] > 1:
            yield f"{parcel.id}: replaces {lost.id}, which has been replaced already"


def nothing_precedes_its_cause(books: Books) -> Iterator[str]:
    """Customers join before they order; charges, refunds and credits follow; nothing is after today."""
    for order in books.orders.values():
        joined = books.state.get(Customer, order.customer_id).joined
        if not joined <= order.placed.date() <= books.today:
            yield f"{order.id}: was placed on {order.placed.date()}, its customer joined on {joined}"
    events = [(p, p.order_id, p.charged) for p in chain.from_iterable(books.payments.values())]
    later = [
        *events,
        *((r, r.order_id, r.created) for r in books.state.find(Refund)),
        *((c, c.order_id, c.created) for c in books.state.find(Credit)),
    ]
    for row, order_id, moment in later:
        if moment < books.orders[order_id].placed or moment.date() > books.today:
            yield f"{row.id}: happened on {moment}, before {order_id} or after today"


def claims_follow_delivery(books: Books) -> Iterator[str]:
    """A warranty claim is about goods that had arrived; a line has at most one open claim."""
    open_claims: Counter[str] = Counter()
    for claim in books.state.find(WarrantyClaim):
        line = books.state.get(OrderLine, claim.line_id)
        arrived = books.delivery_day(line.order_id)
        if arrived is None or not arrived <= claim.opened.date() <= books.today:
            yield f"{claim.id}: was opened on {claim.opened.date()}, {line.id} came on {arrived}"
        open_claims[line.id] += claim.status == "open"
        if open_claims[line.id] > 1:
            yield f"{claim.id}: {line.id} has an open claim already"


def tickets_show_their_grounds(books: Books) -> Iterator[str]:
    """A ticket that was declined or escalated names a section and a record; no other ticket does."""
    return kit.cases_name_their_policy_and_evidence(books.state, TICKETS, lambda key: _exists(books, key))


def _exists(books: Books, key: str) -> bool:
    # A parcel may have been evidence before its order was cancelled, which takes the parcel away.
    return key.startswith(Shipment.prefix) or any(books.state.peek(info.kind, key) is not None for info in SCHEMA)

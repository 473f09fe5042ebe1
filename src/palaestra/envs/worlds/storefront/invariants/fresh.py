"""Rules that a world keeps until someone works in it; an agent may break them by working badly."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from palaestra.envs.worlds.storefront.invariants.books import Books, Rule, group_rows, parts_of, pieces_back
from palaestra.envs.worlds.storefront.policy import (
    earns_tier,
    last_return_day,
    paid_cents,
    restocking_fee,
    warranty_end,
)
from palaestra.envs.worlds.storefront.schema import (
    Build,
    CompetitorOffer,
    Credit,
    Customer,
    Employee,
    InternalMessage,
    OrderLine,
    Product,
    Refund,
    Return,
    Ticket,
    WarrantyClaim,
)


def lifetimes_are_sums(books: Books) -> Iterator[str]:
    """A customer's lifetime spending is what was captured, less refunds, of the orders that still count."""
    spent: Counter[str] = Counter()
    for order in books.orders.values():
        if earns_tier(books.policy, order.placed.date(), books.today):
            captured = (p for p in books.payments.get(order.id, ()) if p.status == "captured")
            spent[order.customer_id] += sum(p.amount_cents - p.refunded_cents for p in captured)
    for customer in books.state.find(Customer):
        if customer.lifetime_cents != spent[customer.id]:
            yield f"{customer.id}: spent {customer.lifetime_cents} cents, orders make {spent[customer.id]}"


def credit_is_unspent(books: Books) -> Iterator[str]:
    """A customer still holds all credit that was given, and an order got it once for a reason."""
    found = books.state.find(Credit)
    given = group_rows(found, "customer_id")
    for customer in books.state.find(Customer):
        due = sum(c.amount_cents for c in given.get(customer.id, ()))
        if customer.credit_cents != due:
            yield f"{customer.id}: holds {customer.credit_cents} cents of credit, given {due}"
    for (order_id, reason), times in Counter((c.order_id, c.reason) for c in found).items():
        if times > 1:
            yield f"{order_id}: was credited {times} times for {reason}"


def returned_is_exact(books: Books) -> Iterator[str]:
    """What came back of a line is exactly what refunds and returns say."""
    counted = pieces_back(books)
    for line in chain.from_iterable(books.lines.values()):
        if line.returned != counted[line.id]:
            yield f"{line.id}: returned is {line.returned}, refunds and returns make {counted[line.id]}"


def fees_follow_policy(books: Books) -> Iterator[str]:
    """Returns were within their window, with the restocking fee of RET-2, and of no final-sale goods."""
    for back in books.state.find(Return):
        line, order = books.state.get(OrderLine, back.line_id), books.orders[back.order_id]
        tier = books.state.get(Customer, order.customer_id).tier
        mind = back.reason == "changed_mind"
        fee = restocking_fee(
            books.policy,
            tier,
            paid_cents(order, line, back.quantity),
            opened=line.opened,
            change_of_mind=mind,
        )
        if back.fee_cents != fee:
            yield f"{back.id}: the fee is {back.fee_cents} cents, RET-2 makes it {fee}"
        arrived = books.delivery_day(order.id)
        if arrived is None or back.created.date() > last_return_day(books.policy, tier, arrived):
            yield f"{back.id}: was authorised after the return window"
        if mind and books.state.get(Product, line.product_id).final_sale:
            yield f"{back.id}: takes back {line.product_id}, which is final sale"


def approvers_may_approve(books: Books) -> Iterator[str]:
    """An approver's limit covers the refund, and small refunds have none."""
    for refund in books.state.find(Refund):
        if refund.approver_id is None:
            continue
        approver = books.state.get(Employee, refund.approver_id)
        if not books.policy.agent_limit_cents < refund.amount_cents <= approver.approval_limit_cents:
            yield f"{refund.id}: {refund.amount_cents} cents were not for {approver.id} to approve"


def claims_are_in_warranty(books: Books) -> Iterator[str]:
    """A claim was opened after the return window and within the warranty, for a covered fault."""
    for claim in books.state.find(WarrantyClaim):
        line = books.state.get(OrderLine, claim.line_id)
        arrived, day = books.delivery_day(line.order_id), claim.opened.date()
        if arrived is None:
            continue
        tier = books.state.get(Customer, books.orders[line.order_id].customer_id).tier
        months = books.state.get(Product, line.product_id).warranty_months
        if not last_return_day(books.policy, tier, arrived) < day <= warranty_end(arrived, months):
            yield f"{claim.id}: {day} is no day on which {line.id} was a matter of warranty"
        if claim.fault == "physical_damage":
            yield f"{claim.id}: physical damage is not covered"


def orders_have_their_parcels(books: Books) -> Iterator[str]:
    """An order has one parcel, or a lost one and its replacement; a cancelled order has none."""
    for order in books.orders.values():
        parcels = books.shipments.get(order.id, ())
        wanted = 0 if order.status == "cancelled" else 1 + sum(s.replaces is not None for s in parcels)
        if len(parcels) != wanted:
            yield f"{order.id}: is {order.status} with {len(parcels)} parcels, {wanted} belong to it"


def build_orders_hold_their_parts(books: Books) -> Iterator[str]:
    """The order of a build holds exactly its parts, and an ordered build has one order."""
    ordered: Counter[str] = Counter()
    for order in books.orders.values():
        if order.build_id is None:
            continue
        ordered[order.build_id] += 1
        build = books.state.get(Build, order.build_id)
        parts = sorted(p.id for p in parts_of(books, build))
        if sorted(x.product_id for x in books.lines.get(order.id, ())) != parts:
            yield f"{order.id}: its lines are not the parts of {build.id}"
        if build.customer_id != order.customer_id:
            yield f"{order.id}: is for {build.id}, a build of another customer"
    for build in books.state.find(Build):
        if ordered[build.id] != (build.status == "ordered"):
            yield f"{build.id}: is {build.status} and has {ordered[build.id]} order(s)"


def the_desk_is_dated(books: Books) -> Iterator[str]:
    """Tickets follow their customer's joining, notes their ticket; a fresh world has no future."""
    for ticket in books.state.find(Ticket):
        joined = books.state.get(Customer, ticket.customer_id).joined
        if not joined <= ticket.opened.date() <= books.today:
            yield f"{ticket.id}: was opened on {ticket.opened.date()}, its customer joined on {joined}"
    for note in books.state.find(InternalMessage):
        since = books.state.get(Ticket, note.ticket_id).opened if note.ticket_id is not None else note.sent
        if note.sent < since or note.sent.date() > books.today:
            yield f"{note.id}: was sent on {note.sent}, before its ticket or after today"
        if note.sender_id == note.recipient_id:
            yield f"{note.id}: {note.sender_id} wrote to themselves"
    for offer in books.state.find(CompetitorOffer):
        if offer.seen > books.today or offer.price_cents <= 0:
            yield f"{offer.id}: {offer.price_cents} cents, seen on {offer.seen}"


FRESH: tuple[Rule, ...] = (
    lifetimes_are_sums,
    credit_is_unspent,
    returned_is_exact,
    fees_follow_policy,
    approvers_may_approve,
    claims_are_in_warranty,
    orders_have_their_parcels,
    build_orders_hold_their_parts,
    the_desk_is_dated,
)
"""What a world keeps beside, before anyone has worked in it."""

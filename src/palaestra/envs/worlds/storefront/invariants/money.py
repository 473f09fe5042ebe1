"""Rules that always hold, on accounts, goods and money: ids name rows, cents and pieces count once."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from palaestra.envs import kit
from palaestra.envs.worlds.storefront.invariants.books import BUILD_SLOTS, Books, group_rows, parts_of, pieces_back
from palaestra.envs.worlds.storefront.policy import build_problems, paid_cents, promotion_cents, tier_for
from palaestra.envs.worlds.storefront.schema import (
    SCHEMA,
    Build,
    Category,
    Credit,
    Customer,
    Employee,
    Order,
    OrderLine,
    Payment,
    Product,
    Promotion,
    Refund,
    Return,
)


def references_are_whole(books: Books) -> Iterator[str]:
    """Every id that a row holds names a row."""
    return kit.references_are_whole(books.state, SCHEMA)


def emails_are_unique(books: Books) -> Iterator[str]:
    """No two customers share an e-mail address."""
    for email, owners in group_rows(books.state.find(Customer), "email").items():
        if len(owners) > 1:
            yield f"{', '.join(c.id for c in owners)}: they share the e-mail address {email}"


def lines_name_their_products(books: Books) -> Iterator[str]:
    """The name on an order line is that of its product."""
    for line in chain.from_iterable(books.lines.values()):
        name = books.state.get(Product, line.product_id).name
        if line.product_name != name:
            yield f"{line.id}: names {line.product_name!r}, but {line.product_id} is {name!r}"


def tiers_follow_spending(books: Books) -> Iterator[str]:
    """A customer's tier is the one that the lifetime spending earns."""
    for customer in books.state.find(Customer):
        earned = tier_for(books.policy, customer.lifetime_cents)
        if customer.tier != earned:
            yield f"{customer.id}: is {customer.tier}, but {customer.lifetime_cents} cents earn {earned}"


def credit_is_given(books: Books) -> Iterator[str]:
    """A customer has no debt and no more store credit than was given."""
    given: Counter[str] = Counter()
    for credit in books.state.find(Credit):
        given[credit.customer_id] += credit.amount_cents
        if credit.amount_cents <= 0:
            yield f"{credit.id}: a credit of {credit.amount_cents} cents is none"
        if books.orders[credit.order_id].customer_id != credit.customer_id:
            yield f"{credit.id}: is for {credit.order_id}, an order of another customer"
    for customer in books.state.find(Customer):
        if not 0 <= customer.credit_cents <= given[customer.id]:
            yield f"{customer.id}: holds {customer.credit_cents} cents of credit, given {given[customer.id]}"


def stock_is_real(books: Books) -> Iterator[str]:
    """A product costs something and there are no fewer than none of it."""
    for product in books.state.find(Product):
        if product.stock < 0:
            yield f"{product.id}: a stock of {product.stock} is below zero"
        if product.price_cents <= 0:
            yield f"{product.id}: a price of {product.price_cents} cents is none"


def builds_hold_fitting_slots(books: Books) -> Iterator[str]:
    """A build's parts stand in the slots of their categories, and an ordered build works."""
    for build in books.state.find(Build):
        for slot in BUILD_SLOTS:
            part = getattr(build, f"{slot}_id")
            if part is not None and books.state.get(Product, part).category != slot:
                yield f"{build.id}: {part} is no {slot}"
        problems = build_problems(books.policy, parts_of(books, build)) if build.status == "ordered" else []
        if problems:
            yield f"{build.id}: was ordered, but does not work: {'; '.join(problems)}"


def orders_add_up(books: Books) -> Iterator[str]:
    """Subtotal, discount, shipping and total of an order agree with each other and with its lines."""
    for order in books.orders.values():
        goods = sum(x.unit_cents * x.quantity for x in books.lines.get(order.id, ()))
        if goods != order.subtotal_cents or goods <= 0:
            yield f"{order.id}: the lines make {goods} cents, the subtotal is {order.subtotal_cents}"
        total = order.subtotal_cents - order.discount_cents + order.shipping_cents
        if total != order.total_cents:
            yield f"{order.id}: the total is {order.total_cents} cents, its parts make {total}"


def discounts_follow_promotions(books: Books) -> Iterator[str]:
    """An order's discount is what its promotion gives for its goods on its day; without one there is none."""
    for order in books.orders.values():
        due = _add_up_promised(books, order)
        if order.promotion_code is not None and due == 0:
            yield f"{order.id}: {order.promotion_code} did not hold for it on {order.placed.date()}"
        if order.discount_cents != due:
            yield f"{order.id}: the discount is {order.discount_cents} cents, its promotion gives {due}"


def _add_up_promised(books: Books, order: Order) -> int:
    if order.promotion_code is None:
        return 0
    goods: list[tuple[Category, int]] = [
        (books.state.get(Product, line.product_id).category, line.unit_cents * line.quantity)
        for line in books.lines.get(order.id, ())
    ]
    return promotion_cents(books.state.get(Promotion, order.promotion_code), goods, order.placed.date())


def payments_match_orders(books: Books) -> Iterator[str]:
    """An order has a payment, of its total, whose status follows the order's."""
    expected = {"processing": "authorised", "cancelled": "voided"}
    for order in books.orders.values():
        payments = books.payments.get(order.id, ())
        if not payments:
            yield f"{order.id}: has no payment"
        for payment in payments:
            if payment.amount_cents != order.total_cents:
                yield f"{payment.id}: is {payment.amount_cents} cents, {order.id} costs {order.total_cents}"
            status = expected.get(order.status, "captured")
            if payment.status != status:
                yield f"{payment.id}: is {payment.status}, but {order.id} is {order.status}, so: {status}"


def refunds_conserve_money(books: Books) -> Iterator[str]:
    """What is refunded of a payment is what its paid refunds say, and no more than was captured."""
    paid: Counter[str] = Counter()
    for refund in books.state.find(Refund):
        if refund.amount_cents <= 0:
            yield f"{refund.id}: a refund of {refund.amount_cents} cents is none"
        if refund.status == "paid":
            paid[refund.payment_id] += refund.amount_cents
    for payment in chain.from_iterable(books.payments.values()):
        if payment.refunded_cents != paid[payment.id]:
            yield f"{payment.id}: has {payment.refunded_cents} cents refunded, refunds say {paid[payment.id]}"
        captured = payment.amount_cents if payment.status == "captured" else 0
        if paid[payment.id] > captured:
            yield f"{payment.id}: {paid[payment.id]} cents went back, {captured} were captured"


def refunds_name_one_order(books: Books) -> Iterator[str]:
    """A refund's line and payment belong to its order; a line's refund is for pieces, at the price paid."""
    for refund in books.state.find(Refund):
        if books.state.get(Payment, refund.payment_id).order_id != refund.order_id:
            yield f"{refund.id}: {refund.payment_id} does not belong to {refund.order_id}"
        if refund.line_id is None:
            continue
        line, order = books.state.get(OrderLine, refund.line_id), books.orders[refund.order_id]
        if line.order_id != order.id:
            yield f"{refund.id}: {line.id} does not belong to {order.id}"
        elif not 1 <= refund.quantity <= line.quantity:
            yield f"{refund.id}: is for {refund.quantity} piece(s) of {line.id}, which has {line.quantity}"
        elif refund.amount_cents > (most := paid_cents(order, line, refund.quantity)):
            yield f"{refund.id}: {refund.amount_cents} cents for pieces of {line.id} that cost {most}"


def large_refunds_are_approved(books: Books) -> Iterator[str]:
    """A refund above the agent's limit is not paid without an approver who is more than an agent."""
    for refund in books.state.find(Refund):
        if refund.status == "pending_approval" and refund.approver_id is None:
            yield f"{refund.id}: waits for nobody's approval"
        if refund.amount_cents <= books.policy.agent_limit_cents or refund.status != "paid":
            continue
        approver = books.state.get(Employee, refund.approver_id) if refund.approver_id else None
        if approver is None or approver.rank == "agent":
            yield f"{refund.id}: {refund.amount_cents} cents were paid without an approver"


def returns_name_one_order(books: Books) -> Iterator[str]:
    """A return's line belongs to its order and arrived; fee and refund due make the price paid."""
    for back in books.state.find(Return):
        line, order = books.state.get(OrderLine, back.line_id), books.orders[back.order_id]
        if line.order_id != order.id:
            yield f"{back.id}: {line.id} does not belong to {order.id}"
            continue
        if not 1 <= back.quantity <= line.quantity:
            yield f"{back.id}: is for {back.quantity} piece(s) of {line.id}, which has {line.quantity}"
            continue
        # Pieces sent back one by one cost together what the line cost: a price depends on how many went before.
        paid = {
            paid_cents(order, line, before + back.quantity) - paid_cents(order, line, before)
            for before in range(line.quantity - back.quantity + 1)
        }
        if back.fee_cents < 0 or back.fee_cents + back.refund_due_cents not in paid:
            yield f"{back.id}: fee and refund do not make the {min(paid)} to {max(paid)} cents paid"
        arrived = books.delivery_day(order.id)
        if arrived is None or back.created.date() < arrived:
            yield f"{back.id}: came before {order.id} was delivered"


def pieces_come_back_once(books: Books) -> Iterator[str]:
    """Of a line, no more came back than was sold, and no less than refunds and returns say."""
    counted = pieces_back(books)
    for line in chain.from_iterable(books.lines.values()):
        if not 0 <= line.returned <= line.quantity:
            yield f"{line.id}: {line.returned} of {line.quantity} piece(s) came back"
        if line.returned < counted[line.id]:
            yield f"{line.id}: {line.returned} piece(s) came back, refunds and returns say {counted[line.id]}"

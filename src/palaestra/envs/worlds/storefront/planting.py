"""Orders that a task adds to its world, where the world holds too few of a kind.

An added order looks like any other and agrees with the account that it belongs to: its payment counts for the
customer's spending, and the customer stays in the same tier. What is drawn here follows from the ids of the new rows
and takes nothing from the desk's stream, so that a twin may add other orders than its sibling.
"""

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta

from palaestra.envs.kit.names import MAIL_HOSTS
from palaestra.envs.state.schema import number_of
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.policy import earns_tier, promotion_cents, tier_for
from palaestra.envs.worlds.storefront.population.courses import at
from palaestra.envs.worlds.storefront.population.plan import Course, Parcel
from palaestra.envs.worlds.storefront.population.sales import CARRIERS
from palaestra.envs.worlds.storefront.schema import (
    Category,
    Credit,
    CreditReason,
    Customer,
    Order,
    OrderLine,
    Payment,
    Product,
    Promotion,
    Shipment,
)
from palaestra.seeding import Stream

_SHIPPING_CENTS = (0, 490, 690)
DEAREST_SHIPPING_CENTS = max(_SHIPPING_CENTS)
_PREPARING_DAYS, _TRANSIT_DAYS = 1, 4


def waiting(desk: Desk, *, ago: int) -> Course:
    """An order of `ago` days before today whose parcel has not left."""
    placed = desk.today - timedelta(days=ago)
    due = desk.today + timedelta(days=_TRANSIT_DAYS)
    parcel = Parcel(status="preparing", shipped=None, due=due, last_scan=None, delivered=None)
    return Course(placed=at(_moment(desk), placed), status="processing", parcels=(parcel,))


def under_way(desk: Desk, *, due_in: int) -> Course:
    """An order whose parcel has left and is due in so many days; less than none where it is overdue."""
    due = desk.today + timedelta(days=due_in)
    shipped = min(due, desk.today) - timedelta(days=_TRANSIT_DAYS)
    scan = shipped + timedelta(days=1)
    parcel = Parcel(status="in_transit", shipped=shipped, due=due, last_scan=scan, delivered=None)
    return Course(placed=_date_placed(desk, shipped), status="shipped", parcels=(parcel,))


def arrival(desk: Desk, day: date, *, late: int = 0) -> Course:
    """An order that arrived on `day`, so many days after it was due."""
    due = day - timedelta(days=late)
    shipped = due - timedelta(days=_TRANSIT_DAYS)
    parcel = Parcel(status="delivered", shipped=shipped, due=due, last_scan=day, delivered=day)
    return Course(placed=_date_placed(desk, shipped), status="delivered", parcels=(parcel,))


def has_room(desk: Desk, customer: Customer, cents: int) -> bool:
    """Whether the customer may spend so much more and stays in the same tier."""
    return tier_for(desk.policy, customer.lifetime_cents + cents) == customer.tier


def plain_customer(desk: Desk, *, room: int, since_days: int = 150) -> Callable[[Customer], bool]:
    """Which customers can have orders added: no hold, known for long enough, and room for `room` cents in the tier."""
    joined = desk.today - timedelta(days=since_days)
    return lambda c: not c.fraud_hold and c.joined <= joined and has_room(desk, c, room)


def cheap(desk: Desk, *, below: int, above: int = 1_500) -> list[Product]:
    """Ordinary goods between two prices in cents, by id."""
    return [p for p in desk.state.find(Product) if above <= p.price_cents < below and not p.final_sale]


def sell(
    desk: Desk,
    customer: Customer,
    goods: Sequence[tuple[Product, int]],
    course: Course,
    *,
    carrier: str | None = None,
    promotion: Promotion | None = None,
) -> Order:
    """Add an order with its lines, its payment and its parcels.

    Args:
        desk: Where it is added.
        customer: Whose it is; the account may have changed since it was read.
        goods: Products and quantities, at today's prices.
        course: When it was placed, and where its parcels are.
        carrier: Who brings it; drawn where it is left out.
        promotion: The code that was used.
    """
    key = desk.state.next_id(Order)
    stream = desk.stream.split("sell", key)
    owner = desk.state.get(Customer, customer.id)
    listed: list[tuple[Category, int]] = [(p.category, p.price_cents * count) for p, count in goods]
    subtotal, shipping = sum(cents for _, cents in listed), stream.choice(_SHIPPING_CENTS)
    discount = promotion_cents(promotion, listed, course.placed.date()) if promotion else 0
    order = desk.state.insert(
        Order(
            id=key,
            customer_id=owner.id,
            placed=course.placed,
            status=course.status,
            build_id=None,
            promotion_code=promotion.id if promotion else None,
            subtotal_cents=subtotal,
            discount_cents=discount,
            shipping_cents=shipping,
            total_cents=subtotal - discount + shipping,
            ship_street=owner.street,
            ship_city=owner.city,
        )
    )
    for product, count in goods:
        _line(desk, order, product, count)
    _payment(desk, stream, order)
    for parcel in course.parcels:
        _shipment(desk, order, parcel, carrier or stream.choice(CARRIERS))
    return order


def credit(desk: Desk, order: Order, cents: int, reason: CreditReason) -> Credit:
    """Add store credit that the customer of an arrived order was given two days after it came, or by yesterday."""
    day = desk.delivery_day(order)
    assert day is not None, f"{order.id} has not been delivered"
    given = min(day + timedelta(days=2), desk.today - timedelta(days=1))
    owner = desk.customer(order)
    desk.state.update(owner, credit_cents=owner.credit_cents + cents)
    key = desk.state.next_id(Credit)
    return desk.state.insert(
        Credit(
            id=key,
            customer_id=owner.id,
            order_id=order.id,
            amount_cents=cents,
            reason=reason,
            created=at(desk.stream.split("credit", key), given),
        )
    )


def send_today(desk: Desk, order: Order) -> Order:
    """Let an order that was waiting have left this morning, so that its payment was captured.

    Its customer must have room for what it costs.
    """
    for parcel in desk.shipments(order):
        due = max(parcel.due, desk.today + timedelta(days=1))
        desk.state.update(parcel, status="in_transit", shipped=desk.today, last_scan=desk.today, due=due)
    for payment in desk.payments(order):
        desk.state.update(payment, status="captured")
    sent = desk.state.update(order, status="shipped")
    _plant_spent(desk, sent)
    return sent


def move_mailbox(desk: Desk, customer: Customer) -> Customer:
    """Give an account another e-mail address than the one that its owner is known to write from."""
    mailbox, _, host = customer.email.partition("@")
    return desk.state.update(customer, email=f"{mailbox}@{next(h for h in MAIL_HOSTS if h != host)}")


def _line(desk: Desk, order: Order, product: Product, count: int) -> OrderLine:
    return desk.state.insert(
        OrderLine(
            id=desk.state.next_id(OrderLine),
            order_id=order.id,
            product_id=product.id,
            product_name=product.name,
            quantity=count,
            unit_cents=product.price_cents,
            returned=0,
            opened=False,
        )
    )


def _payment(desk: Desk, stream: Stream, order: Order) -> None:
    captured = order.status in {"shipped", "delivered"}
    desk.state.insert(
        Payment(
            id=desk.state.next_id(Payment),
            order_id=order.id,
            method=stream.choice(("card", "paypal")),
            status="captured" if captured else "authorised",
            amount_cents=order.total_cents,
            refunded_cents=0,
            charged=order.placed + timedelta(seconds=stream.between(5, 90)),
        )
    )
    if captured:
        _plant_spent(desk, order)


def _plant_spent(desk: Desk, order: Order) -> None:
    """Count what an order cost for its customer's tier."""
    owner = desk.customer(order)
    if earns_tier(desk.policy, order.placed.date(), desk.today):
        assert has_room(desk, owner, order.total_cents), f"{order.id} would lift {owner.id} into another tier"
        desk.state.update(owner, lifetime_cents=owner.lifetime_cents + order.total_cents)


def _shipment(desk: Desk, order: Order, parcel: Parcel, carrier: str) -> None:
    key = desk.state.next_id(Shipment)
    number = desk.stream.split("tracking", key).between(10**9, 10**10 - 1)
    desk.state.insert(
        Shipment(
            id=key,
            order_id=order.id,
            carrier=carrier,
            tracking=f"{carrier[:2].upper()}{number}",
            status=parcel.status,
            shipped=parcel.shipped,
            due=parcel.due,
            last_scan=parcel.last_scan,
            delivered=parcel.delivered,
            replaces=None,
        )
    )


def _date_placed(desk: Desk, shipped: date) -> datetime:
    return at(_moment(desk), shipped - timedelta(days=_PREPARING_DAYS))


def _moment(desk: Desk) -> Stream:
    return desk.stream.split("moment", number_of(desk.state.next_id(Order)))

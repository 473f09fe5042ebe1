"""Grounds in the goods that are to come back or to be mended: too late, final sale, dealt with already."""

from datetime import date, datetime, timedelta

from palaestra.envs.storefront.desk import Desk
from palaestra.envs.storefront.grounds.consequences import lately, move_back
from palaestra.envs.storefront.policy import restocking_fee
from palaestra.envs.storefront.schema import Build, Fault, OrderLine, Product, Return, WarrantyClaim
from palaestra.envs.storefront.twins import Grounds
from palaestra.envs.task import call
from palaestra.rubrics import called, saw


def arrived_too_long_ago(desk: Desk, line: OrderLine) -> Grounds:
    """The return window closed yesterday, or as soon before as the calendar allows."""
    order = desk.order(line)
    while desk.last_return_day(order) >= desk.today:
        move_back(desk, order.id, days=1)
    [*_, parcel] = sorted(desk.shipments(order), key=lambda s: s.delivered or date.min)
    return Grounds(
        section="RET-1",
        evidence=parcel,
        facts=(desk.delivery(line),),
        lookups=(call("get_shipments", order_id=order.id),),
        otherwise=(call("compute_return_window", line_id=line.id),),
        message="Your return window has closed, so we cannot take it back.",
    )


def final_sale(desk: Desk, product: Product) -> Grounds:
    """The product was sold as clearance."""
    cleared = desk.state.update(product, final_sale=True)
    return Grounds(
        section="RET-3",
        evidence=cleared,
        facts=(saw(cleared, id="saw-product"),),
        lookups=(call("get_product", product_id=product.id),),
        message="It was a final sale, which we do not take back.",
    )


def coming_back_already(desk: Desk, line: OrderLine) -> Grounds:
    """A return of every piece of the line was authorised."""
    order = desk.order(line)
    paid, tier = desk.paid(line, line.quantity), desk.customer(order).tier
    fee = restocking_fee(desk.policy, tier, paid, opened=line.opened, change_of_mind=True)
    authorised = desk.state.insert(
        Return(
            id=desk.state.next_id(Return),
            order_id=order.id,
            line_id=line.id,
            quantity=line.quantity,
            reason="changed_mind",
            fee_cents=fee,
            refund_due_cents=paid - fee,
            status="authorised",
            created=lately(desk, order),
        )
    )
    desk.state.update(line, returned=line.quantity)
    return Grounds(
        section="RET-1",
        evidence=authorised,
        facts=(saw(authorised, id="saw-return"),),
        lookups=(call("get_returns", order_id=order.id),),
        message="A return is open for it already; please send it back as agreed.",
    )


def claimed_already(desk: Desk, line: OrderLine, fault: Fault) -> Grounds:
    """A claim is open for the line."""
    day = max(desk.last_return_day(desk.order(line)) + timedelta(days=1), desk.today - timedelta(days=3))
    claim = desk.state.insert(
        WarrantyClaim(
            id=desk.state.next_id(WarrantyClaim),
            line_id=line.id,
            fault=fault,
            remedy="replace" if desk.product(line).stock else "repair",
            status="open",
            opened=datetime.combine(day, desk.start.time()) - timedelta(hours=1),
        )
    )
    return Grounds(
        section="WAR-2",
        evidence=claim,
        facts=(saw(claim, id="saw-claim"),),
        lookups=(call("get_warranty_claims", line_id=line.id),),
        message="Your claim is open already, and our warranty team is at work on it.",
    )


def parts_sold_out(desk: Desk, build: Build, parts: list[Product]) -> Grounds:
    """None of the parts that would make the build work is left."""
    for part in parts:
        desk.state.update(part, stock=0)
    category = parts[0].category
    return Grounds(
        section="BLD-1",
        evidence=build,
        facts=(
            saw(build, id="saw-build"),
            called("search_products", arguments={"category": category}, id="saw-shelf"),
        ),
        lookups=(call("search_products", category=category, in_stock=True),),
        otherwise=(call("search_products", category=category),),
        message=f"No {category} that we have in stock makes your build work.",
    )

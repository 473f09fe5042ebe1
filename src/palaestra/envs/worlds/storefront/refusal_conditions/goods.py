"""Refusal conditions in goods that are to come back, or to be kept: too late, final sale, on their way, received."""

from palaestra.envs.kit import RefusalCondition, amount
from palaestra.envs.task import call
from palaestra.envs.worlds.storefront.aftersales import add_return
from palaestra.envs.worlds.storefront.consequences import move_back
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.replies import window_closed
from palaestra.envs.worlds.storefront.schema import Order, OrderLine, Product, Return
from palaestra.rubrics import expect_read


def arrived_too_long_ago(desk: Desk, line: OrderLine) -> RefusalCondition:
    """The return window closed yesterday, or as soon before as the calendar allows."""
    order = desk.order(line)
    while desk.last_planted_return_day(order) >= desk.today:
        move_back(desk, order.id, days=1)
    return RefusalCondition(
        section="RET-1",
        evidence=desk.window_record(desk.state.get(Order, order.id)),
        facts=(desk.delivery(line),),
        lookups=(call("compute_return_window", line_id=line.id),),
        otherwise=(call("get_shipments", order_id=order.id),),
        message=f"{window_closed(desk, line)} We can neither take it back nor refund it any more.",
    )


def final_sale(desk: Desk, product: Product) -> RefusalCondition:
    """The product was sold as clearance."""
    cleared = desk.state.update(product, final_sale=True)
    return RefusalCondition(
        section="RET-3",
        evidence=cleared,
        facts=(expect_read(cleared, fields=["final_sale"], id="saw-product"),),
        lookups=(call("get_product", product_id=product.id),),
        message=f"The {cleared.name} was a final sale, which we cannot take back because of a change of mind.",
    )


def coming_back_already(desk: Desk, line: OrderLine) -> RefusalCondition:
    """A return of every piece of the line was authorised."""
    back = add_return(desk, line, "authorised")
    due = amount(back.refund_due_cents)
    name = desk.product(line).name
    goods = f"the {name}" if back.quantity == 1 else f"all {back.quantity} pieces of the {name}"
    told = (
        f"The return {back.id} of {goods} is open already, so we cannot take back or refund any of it a second time. "
        f"Please send it as agreed; {due} are yours once it is here."
    )
    return _expect_returned("RET-1", back, told)


def received_already(desk: Desk, back: Return) -> RefusalCondition:
    """The warehouse has received what was to come back."""
    received = desk.state.update(back, status="received")
    told = (
        f"Our warehouse has received what you sent back from {back.order_id} already, so that you cannot keep it. "
        f"{amount(back.refund_due_cents)} are due."
    )
    return _expect_returned("RET-5", received, told)


def not_received(desk: Desk, back: Return) -> RefusalCondition:
    """What was sent back has not reached the warehouse."""
    expected = desk.state.update(back, status="authorised")
    return _expect_returned(
        "RET-5",
        expected,
        f"What you sent back from {back.order_id} has not reached our warehouse yet; we pay you once it has.",
    )


def _expect_returned(section: str, back: Return, message: str) -> RefusalCondition:
    return RefusalCondition(
        section=section,
        evidence=back,
        facts=(expect_read(back, fields=["line_id", "status"], id="saw-return"),),
        lookups=(call("get_returns", order_id=back.order_id),),
        message=message,
    )

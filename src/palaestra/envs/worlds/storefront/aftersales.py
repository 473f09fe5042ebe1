"""Returns, refunds and warranty claims that a task adds to its world, for orders to which nothing has happened."""

from datetime import datetime, timedelta
from typing import Literal

from palaestra.envs.worlds.storefront.consequences import settle_account
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.policy import restocking_fee
from palaestra.envs.worlds.storefront.schema import (
    Employee,
    Fault,
    Order,
    OrderLine,
    Payment,
    Refund,
    RefundReason,
    Return,
    WarrantyClaim,
)


def lately(desk: Desk, order: Order) -> datetime:
    """A moment of yesterday afternoon, or of this morning where the order was placed or came only today."""
    yesterday = desk.start - timedelta(hours=18)
    since = desk.delivery_day(order) or order.placed.date()
    return yesterday if since <= yesterday.date() else desk.start - timedelta(hours=1)


def add_return(desk: Desk, line: OrderLine, status: Literal["authorised", "received"]) -> Return:
    """Add a return of every piece of a line, for a change of mind, with the fee that the handbook asks for."""
    order = desk.order(line)
    paid, tier = desk.paid_cents(line, line.quantity), desk.customer(order).tier
    fee = restocking_fee(desk.planting_policy, tier, paid, opened=line.opened, change_of_mind=True)
    desk.state.update(line, returned=line.quantity)
    return desk.state.insert(
        Return(
            id=desk.state.next_id(Return),
            order_id=order.id,
            line_id=line.id,
            quantity=line.quantity,
            reason="changed_mind",
            fee_cents=fee,
            refund_due_cents=paid - fee,
            status=status,
            created=lately(desk, order),
        )
    )


def add_claim(
    desk: Desk,
    line: OrderLine,
    fault: Fault,
    *,
    ago: int,
    remedy: Literal["replace", "repair"] | None = None,
    status: Literal["open", "withdrawn"] = "open",
) -> WarrantyClaim:
    """Add a claim on a line that was opened `ago` days before today, or as soon after the return window as it can be.

    The remedy is the one that the stock calls for, where none is given.
    """
    first = desk.last_planted_return_day(desk.order(line)) + timedelta(days=1)
    day = max(first, desk.today - timedelta(days=ago))
    return desk.state.insert(
        WarrantyClaim(
            id=desk.state.next_id(WarrantyClaim),
            line_id=line.id,
            fault=fault,
            remedy=remedy or ("replace" if desk.product(line).stock else "repair"),
            status=status,
            opened=datetime.combine(day, desk.start.time()) - timedelta(hours=1),
        )
    )


def add_refund(
    desk: Desk,
    payment: Payment,
    amount: int,
    reason: RefundReason,
    *,
    line: OrderLine | None = None,
    pieces: int = 0,
) -> Refund:
    """Add a refund that was paid, and let the account follow. The pieces of a line are the caller's to count."""
    order = desk.state.get(Order, payment.order_id)
    refund = desk.state.insert(
        Refund(
            id=desk.state.next_id(Refund),
            order_id=order.id,
            line_id=line.id if line else None,
            payment_id=payment.id,
            quantity=pieces,
            amount_cents=amount,
            reason=reason,
            status="paid",
            approver_id=None,
            created=lately(desk, order),
        )
    )
    desk.state.update(payment, refunded_cents=payment.refunded_cents + amount)
    settle_account(desk, order.customer_id)
    return refund


def add_pending_refund(desk: Desk, line: OrderLine, approver: Employee) -> Refund:
    """Add a refund of every piece of a faulty line that waits for the approval of a colleague."""
    order = desk.order(line)
    [payment] = desk.payments(order)
    return desk.state.insert(
        Refund(
            id=desk.state.next_id(Refund),
            order_id=order.id,
            line_id=line.id,
            payment_id=payment.id,
            quantity=line.quantity,
            amount_cents=desk.paid_cents(line, line.quantity),
            reason="faulty",
            status="pending_approval",
            approver_id=approver.id,
            created=lately(desk, order),
        )
    )

"""Tools that move money: refunds, approvals, store credit."""

from typing import Annotated

from pydantic import Field

from palaestra.envs.worlds.storefront.policy import StorePolicy, paid_cents
from palaestra.envs.worlds.storefront.schema import (
    Credit,
    CreditReason,
    Customer,
    CustomerId,
    Employee,
    EmployeeId,
    LineId,
    Order,
    OrderId,
    OrderLine,
    Payment,
    PaymentId,
    Refund,
    RefundReason,
)
from palaestra.envs.worlds.storefront.tools.compute import Quantity
from palaestra.envs.worlds.storefront.tools.facts import line_and_order, refundable_payment
from palaestra.errors import ToolRefusal
from palaestra.records import Money, References
from palaestra.tools import ToolContext, tool

Cents = Annotated[int, Money(), Field(ge=1, le=10_000_000)]
RefundId = Annotated[str, References("refunds")]


def euros(cents: int) -> str:
    """An amount as people write it."""
    return f"EUR {cents // 100}.{cents % 100:02d}"


@tool(writes=True, latency=5)
def issue_refund(
    context: ToolContext, line_id: LineId, quantity: Quantity, amount_cents: Cents, reason: RefundReason
) -> object:
    """Pay back money for pieces of an order line, to the payment that they were bought with. It cannot be undone.

    Args:
        line_id: The line's id.
        quantity: How many pieces the refund is for.
        amount_cents: How much, in cents.
        reason: Why.
    """
    line, order = line_and_order(context, line_id)
    _check_pieces(line, quantity)
    _check_amount(order, line, quantity, amount_cents)
    _check_limit(context.rules, amount_cents)
    payment = _charge(context, order, amount_cents)
    context.state.update(line, returned=line.returned + quantity)
    return _refund(context, order, line, payment, quantity, amount_cents, reason)


@tool(writes=True, latency=5)
def refund_payment(context: ToolContext, payment_id: PaymentId, amount_cents: Cents, reason: RefundReason) -> object:
    """Pay back money of a payment that is not for pieces of a line: a wrong charge, or an order that never came.

    Args:
        payment_id: The payment's id, such as PAY-10042.
        amount_cents: How much, in cents.
        reason: Why.
    """
    payment = context.state.get(Payment, payment_id)
    order = context.state.get(Order, payment.order_id)
    if payment.status != "captured":
        raise ToolRefusal("not_captured", f"{payment_id} is {payment.status}; only captured money can go back")
    _check_limit(context.rules, amount_cents)
    _check_left(payment, amount_cents)
    return _refund(context, order, None, payment, 0, amount_cents, reason)


@tool(writes=True, latency=5)
def request_refund_approval(
    context: ToolContext,
    line_id: LineId,
    quantity: Quantity,
    amount_cents: Cents,
    reason: RefundReason,
    approver_id: EmployeeId,
) -> object:
    """Ask a colleague to approve a refund that is above your limit. It is paid once they agree.

    Args:
        line_id: The line's id.
        quantity: How many pieces the refund is for.
        amount_cents: How much, in cents.
        reason: Why.
        approver_id: The colleague who is asked.
    """
    line, order = line_and_order(context, line_id)
    _check_pieces(line, quantity)
    _check_amount(order, line, quantity, amount_cents)
    approver = context.state.get(Employee, approver_id)
    if approver.rank == "agent":
        raise ToolRefusal("forbidden", f"{approver_id} is an agent and approves no refunds")
    payment = refundable_payment(context.state, order)
    refund = Refund(
        id=context.state.next_id(Refund),
        order_id=order.id,
        line_id=line.id,
        payment_id=payment.id,
        quantity=quantity,
        amount_cents=amount_cents,
        reason=reason,
        status="pending_approval",
        approver_id=approver_id,
        created=context.clock.now,
    )
    context.state.insert(refund)
    context.show(refund)
    return refund


@tool(writes=True, roles=("supervisor", "manager"))
def approve_refund(context: ToolContext, refund_id: RefundId) -> object:
    """Approve a refund that waits for you, and pay it.

    Args:
        refund_id: The refund's id, such as RFD-1042.
    """
    refund = context.state.get(Refund, refund_id)
    if refund.status != "pending_approval":
        raise ToolRefusal("not_pending", f"{refund_id} is {refund.status}")
    payment = context.state.get(Payment, refund.payment_id)
    _check_left(payment, refund.amount_cents)
    if refund.line_id is not None:
        line = context.state.get(OrderLine, refund.line_id)
        _check_pieces(line, refund.quantity)
        context.state.update(line, returned=line.returned + refund.quantity)
    context.state.update(payment, refunded_cents=payment.refunded_cents + refund.amount_cents)
    return context.state.update(refund, status="paid")


@tool(writes=True, latency=5)
def give_credit(
    context: ToolContext,
    customer_id: CustomerId,
    order_id: OrderId,
    amount_cents: Cents,
    reason: CreditReason,
) -> object:
    """Give a customer store credit. It cannot be undone.

    Args:
        customer_id: The customer's id.
        order_id: The order that it is about.
        amount_cents: How much, in cents.
        reason: Why.
    """
    customer = context.state.get(Customer, customer_id)
    order = context.state.get(Order, order_id)
    if order.customer_id != customer_id:
        raise ToolRefusal("wrong_customer", f"{order_id} is not an order of {customer_id}")
    _check_limit(context.rules, amount_cents)
    credit = Credit(
        id=context.state.next_id(Credit),
        customer_id=customer_id,
        order_id=order_id,
        amount_cents=amount_cents,
        reason=reason,
        created=context.clock.now,
    )
    context.state.insert(credit)
    context.state.update(customer, credit_cents=customer.credit_cents + amount_cents)
    context.show(credit)
    return credit


def _check_pieces(line: OrderLine, quantity: int) -> None:
    left = line.quantity - line.returned
    if quantity > left:
        raise ToolRefusal("bad_quantity", f"{line.id} has {left} piece(s) left to refund or return, not {quantity}")


def _check_amount(order: Order, line: OrderLine, quantity: int, amount_cents: int) -> None:
    # Rounding must let pieces that are refunded one by one cost no more than the line, nor than they cost alone.
    left = paid_cents(order, line, line.returned + quantity) - paid_cents(order, line, line.returned)
    most = min(left, paid_cents(order, line, quantity))
    if amount_cents > most:
        raise ToolRefusal(
            "over_paid",
            f"{quantity} piece(s) of {line.id} cost {euros(most)}; {euros(amount_cents)} is more than was paid",
        )


def _check_limit(policy: StorePolicy, amount_cents: int) -> None:
    if amount_cents > policy.agent_limit_cents:
        raise ToolRefusal(
            "over_limit",
            f"{euros(amount_cents)} is above your limit of {euros(policy.agent_limit_cents)}; ask for approval",
        )


def _check_left(payment: Payment, amount_cents: int) -> None:
    left = payment.amount_cents - payment.refunded_cents
    if amount_cents > left:
        raise ToolRefusal("over_paid", f"{payment.id} has {euros(left)} left to give back, not {euros(amount_cents)}")


def _charge(context: ToolContext, order: Order, amount_cents: int) -> Payment:
    payment = refundable_payment(context.state, order)
    _check_left(payment, amount_cents)
    return payment


def _refund(
    context: ToolContext,
    order: Order,
    line: OrderLine | None,
    payment: Payment,
    quantity: int,
    amount_cents: int,
    reason: RefundReason,
) -> Refund:
    """Pay `amount_cents` back to `payment` and record it."""
    context.state.update(payment, refunded_cents=payment.refunded_cents + amount_cents)
    refund = Refund(
        id=context.state.next_id(Refund),
        order_id=order.id,
        line_id=line.id if line else None,
        payment_id=payment.id,
        quantity=quantity,
        amount_cents=amount_cents,
        reason=reason,
        status="paid",
        approver_id=None,
        created=context.clock.now,
    )
    context.state.insert(refund)
    context.show(refund)
    return refund


TOOLS = (issue_refund, refund_payment, request_refund_approval, approve_refund, give_credit)

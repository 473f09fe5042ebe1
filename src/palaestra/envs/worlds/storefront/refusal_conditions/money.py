"""Refusal conditions in payments and refunds: paid back already, waiting for approval, nobody there to approve."""

from dataclasses import replace

from palaestra.envs.kit import RefusalCondition
from palaestra.envs.task import call
from palaestra.envs.worlds.storefront.aftersales import paid_back
from palaestra.envs.worlds.storefront.consequences import settle_account
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.schema import Employee, Order, OrderLine, Payment, Refund, RefundReason, Return
from palaestra.rubrics import expect_any, expect_call, expect_listing, expect_read


def paid_back_already(desk: Desk, line: OrderLine, reason: RefundReason) -> RefusalCondition:
    """A colleague has refunded every piece of the line."""
    order = desk.order(line)
    [payment] = desk.payments(order)
    refund = paid_back(desk, payment, desk.paid(line, line.quantity), reason, line=line, pieces=line.quantity)
    desk.state.update(line, returned=line.quantity)
    return _refunded("RET-1", refund)


def return_paid_already(desk: Desk, back: Return) -> RefusalCondition:
    """A colleague has paid what was due for a return."""
    line = desk.state.get(OrderLine, back.line_id)
    [payment] = desk.payments(desk.order(line))
    due = back.refund_due_cents
    return _refunded("RET-5", paid_back(desk, payment, due, "changed_mind", line=line, pieces=back.quantity))


def loss_paid_already(desk: Desk, order: Order) -> RefusalCondition:
    """A colleague has paid a lost order back."""
    [payment] = desk.payments(order)
    return _refunded("SHP-1", paid_back(desk, payment, order.total_cents, "lost"))


def refund_was_right(desk: Desk, refund: Refund, amount: int) -> RefusalCondition:
    """The refund of pieces of a line was for all that was due."""
    more = amount - refund.amount_cents
    payment = desk.state.get(Payment, refund.payment_id)
    desk.state.update(payment, refunded_cents=payment.refunded_cents + more)
    right = desk.state.update(refund, amount_cents=amount)
    settle_account(desk, desk.state.get(Order, refund.order_id).customer_id)
    line = desk.state.get(OrderLine, str(refund.line_id))
    price = expect_any(expect_read(line), expect_call("compute_paid", arguments={"line_id": line.id}), id="knew-price")
    return replace(_refunded("REF-3", right), facts=(price, expect_read(right, id="saw-refund")))


def rest_paid_already(desk: Desk, refund: Refund, amount: int) -> RefusalCondition:
    """A colleague has paid what was missing from the refund."""
    payment = desk.state.get(Payment, refund.payment_id)
    return _refunded("REF-3", paid_back(desk, payment, amount - refund.amount_cents, "billing_error"))


def charge_went_back(desk: Desk, charge: Payment) -> RefusalCondition:
    """A colleague has paid the second charge back."""
    return _refunded("REF-4", paid_back(desk, charge, charge.amount_cents, "billing_error"))


def charged_once(desk: Desk, order: Order, extra: Payment) -> RefusalCondition:
    """The second charge was never made."""
    desk.state.delete(extra)
    settle_account(desk, order.customer_id)
    [only] = desk.payments(order)
    return RefusalCondition(
        section="REF-4",
        evidence=only,
        facts=(expect_read(only, id="saw-payment"),),
        lookups=(call("get_payments", order_id=order.id),),
        message="We find one charge only for this order.",
    )


def waiting_for_approval(desk: Desk, waiting: Refund, approver: Employee) -> RefusalCondition:
    """The refund waits for the approval of a colleague who is at work."""
    asked = desk.state.update(waiting, approver_id=approver.id)
    at_work = expect_listing(approver, "search_employees", id="saw-approver")
    return RefusalCondition(
        section="REF-2",
        evidence=asked,
        facts=(expect_read(asked, id="saw-refund"), at_work),
        lookups=(
            call("get_refunds", order_id=asked.order_id),
            call("search_employees", team=approver.team, rank=approver.rank),
        ),
        otherwise=(call("search_employees", team=approver.team), call("get_refunds", order_id=asked.order_id)),
        message="Your refund has been asked for and waits for a colleague's approval.",
    )


def nobody_to_approve(desk: Desk, line: OrderLine, approvers: list[Employee]) -> RefusalCondition:
    """Everyone who may approve the amount is on leave."""
    for approver in approvers:
        desk.state.update(approver, on_leave=True)
    [first, *_] = approvers
    return RefusalCondition(
        section="REF-2",
        evidence=line,
        facts=(expect_read(line, id="saw-line"), expect_listing(first, "search_employees", id="saw-approvers")),
        lookups=(call("search_employees", team=first.team, rank=first.rank),),
        otherwise=(call("search_employees", team=first.team),),
        team="finance",
        message="Our finance team will decide on your refund and write to you.",
    )


def _refunded(section: str, refund: Refund) -> RefusalCondition:
    return RefusalCondition(
        section=section,
        evidence=refund,
        facts=(expect_read(refund, id="saw-refund"),),
        lookups=(call("get_refunds", order_id=refund.order_id),),
        message="It has been paid back already.",
    )

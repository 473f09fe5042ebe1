"""Refusal conditions in payments and refunds: paid back already, waiting for approval, nobody there to approve."""

from dataclasses import replace

from palaestra.envs.kit import RefusalCondition
from palaestra.envs.kit import amount as euros
from palaestra.envs.task import call
from palaestra.envs.worlds.storefront.aftersales import add_refund
from palaestra.envs.worlds.storefront.consequences import settle_account
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.schema import Employee, Order, OrderLine, Payment, Refund, RefundReason, Return
from palaestra.records import ToolCall
from palaestra.rubrics import Criterion, expect_any, expect_call, expect_read


def paid_back_already(desk: Desk, line: OrderLine, reason: RefundReason) -> RefusalCondition:
    """A colleague has refunded every piece of the line."""
    order = desk.order(line)
    [payment] = desk.payments(order)
    refund = add_refund(desk, payment, desk.paid_cents(line, line.quantity), reason, line=line, pieces=line.quantity)
    desk.state.update(line, returned=line.quantity)
    # The line shows that its pieces came back, and not whether as a return or as a refund.
    looks = (call("get_returns", order_id=order.id), call("get_refunds", order_id=order.id))
    return replace(_expect_refunded("RET-1", refund), lookups=looks, otherwise=looks[1:])


def return_paid_already(desk: Desk, back: Return) -> RefusalCondition:
    """A colleague has paid what was due for a return."""
    line = desk.state.get(OrderLine, back.line_id)
    [payment] = desk.payments(desk.order(line))
    due = back.refund_due_cents
    return _expect_refunded("RET-5", add_refund(desk, payment, due, "changed_mind", line=line, pieces=back.quantity))


def loss_paid_already(desk: Desk, order: Order) -> RefusalCondition:
    """A colleague has paid a lost order back."""
    [payment] = desk.payments(order)
    return _expect_refunded("SHP-1", add_refund(desk, payment, order.total_cents, "lost"))


def refund_was_right(desk: Desk, refund: Refund, amount: int) -> RefusalCondition:
    """The refund of pieces of a line was for all that was due."""
    more = amount - refund.amount_cents
    payment = desk.state.get(Payment, refund.payment_id)
    desk.state.update(payment, refunded_cents=payment.refunded_cents + more)
    right = desk.state.update(refund, amount_cents=amount)
    settle_account(desk, desk.state.get(Order, refund.order_id).customer_id)
    line = desk.state.get(OrderLine, str(refund.line_id))
    return replace(
        _expect_refunded("REF-3", right),
        facts=(_knew_price(line), expect_read(right, fields=["status", "amount_cents"], id="saw-refund")),
        lookups=_comparison(line),
        states=amount,
        message=f"Your refund of {euros(amount)} is what you paid for the piece: its list price of "
        f"{euros(line.unit_cents)} less its share of the order's discount.",
    )


def rest_paid_already(desk: Desk, refund: Refund, amount: int) -> RefusalCondition:
    """A colleague has paid what was missing from the refund."""
    payment = desk.state.get(Payment, refund.payment_id)
    line = desk.state.get(OrderLine, str(refund.line_id))
    rest = add_refund(desk, payment, amount - refund.amount_cents, "billing_error")
    paid = _expect_refunded("REF-3", rest)
    return replace(
        paid,
        facts=(_knew_price(line), *paid.facts),
        lookups=_comparison(line),
        otherwise=(call("get_refunds", order_id=rest.order_id),),
        states=frozenset({rest.amount_cents, amount}),
        message=f"The rest of {euros(rest.amount_cents)} was paid back already on {rest.created.date()}. With the "
        f"first refund of {euros(refund.amount_cents)} you have all of the {euros(amount)} that you paid for it.",
    )


def charge_went_back(desk: Desk, charge: Payment) -> RefusalCondition:
    """A colleague has paid the second charge back."""
    looks = (call("get_payments", order_id=charge.order_id), call("get_refunds", order_id=charge.order_id))
    refunded = _expect_refunded("REF-4", add_refund(desk, charge, charge.amount_cents, "billing_error"))
    return replace(refunded, lookups=looks, otherwise=looks[1:])


def charged_once(desk: Desk, order: Order, extra: Payment) -> RefusalCondition:
    """The second charge was never made."""
    desk.state.delete(extra)
    settle_account(desk, order.customer_id)
    [only] = desk.payments(order)
    return RefusalCondition(
        section="REF-4",
        evidence=only,
        facts=(expect_read(only, fields=["status", "amount_cents"], id="saw-payment"),),
        lookups=(call("get_payments", order_id=order.id),),
        message=f"We find one charge of {euros(only.amount_cents)} only for {order.id}, so nothing was paid twice.",
    )


def waiting_for_approval(desk: Desk, waiting: Refund, approver: Employee) -> RefusalCondition:
    """The refund waits for the approval of a colleague who is at work."""
    asked = desk.state.update(waiting, approver_id=approver.id)
    at_work = desk.colleague(approver, id="saw-approver")
    return RefusalCondition(
        section="REF-2",
        evidence=asked,
        facts=(expect_read(asked, fields=["status", "approver_id"], id="saw-refund"), at_work),
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
        facts=(desk.colleague(first, id="saw-approvers"),),
        lookups=(call("search_employees", team=first.team, rank=first.rank),),
        otherwise=(call("search_employees", team=first.team),),
        team="finance",
        message="Nobody here may approve your refund today, so our finance team decides on it.",
    )


def _knew_price(line: OrderLine) -> Criterion:
    """Expect that the agent found out what was paid for a line."""
    priced = expect_read(line, fields=["unit_cents"], id="price")
    return expect_any(priced, expect_call("compute_paid", arguments={"line_id": line.id}), id="knew-price")


def _comparison(line: OrderLine) -> tuple[ToolCall, ToolCall]:
    """The look-ups that hold what was refunded against what was paid."""
    return call("get_refunds", order_id=line.order_id), call("compute_paid", line_id=line.id, quantity=1)


def _expect_refunded(section: str, refund: Refund) -> RefusalCondition:
    day = refund.created.date()
    return RefusalCondition(
        section=section,
        evidence=refund,
        facts=(expect_read(refund, fields=["status", "amount_cents"], id="saw-refund"),),
        lookups=(call("get_refunds", order_id=refund.order_id),),
        message=f"{euros(refund.amount_cents)} were paid back for {refund.order_id} already on {day}.",
    )

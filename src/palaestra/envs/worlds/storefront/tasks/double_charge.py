"""Charged twice for one order: the charge that the handbook says goes back, whole."""

from palaestra.envs.kit import amount, permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls
from palaestra.envs.worlds.storefront.refusal_conditions import charge_went_back, charged_once
from palaestra.envs.worlds.storefront.schema import Order, Payment, Refund, Ticket
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.records import Json
from palaestra.rubrics import expect_read, expect_row


@family("storefront/double-charge", level=2, traits=("write", "lookup"), twin=True)
def double_charge(desk: Desk) -> Task:
    def fits(order: Order) -> bool:
        charges = [(p.amount_cents, p.status, p.refunded_cents) for p in desk.payments(order)]
        twice = charges == [(order.total_cents, "captured", 0)] * 2
        return twice and order.total_cents <= desk.policy.agent_limit_cents and not desk.customer(order).fraud_hold

    order = desk.pick(Order, fits, what="order that was charged twice")
    customer, (first, second) = desk.customer(order), desk.payments(order)
    if desk.stream.chance(50):  # which of the two is the later one must not follow from their ids
        first, second = (
            desk.state.update(first, charged=second.charged),
            desk.state.update(second, charged=first.charged),
        )
    earlier, later = sorted((first, second), key=lambda p: p.charged)
    wrong = later if desk.policy.wrong_charge == "later" else earlier
    ticket = desk.ticket(customer, desk.word_subject("charged-twice", "Charged twice"))
    bodies = (f"My bank shows two charges for {order.id}. I ordered once. Please put that right.",)
    prompt = desk.mail(ticket, desk.word_body("charged-twice", bodies, order=order.id))
    if desk.twin:
        return refusal(desk, ticket, prompt, order, wrong)
    paid_back: dict[str, Json] = {
        "payment_id": wrong.id,
        "amount_cents": wrong.amount_cents,
        "reason": "billing_error",
    }
    facts = ["saw-payment", "saw-account", "read-REF-4", "read-REF-2"]
    return Task(
        prompt=prompt,
        rubric=[
            expect_read(wrong, fields=["status", "amount_cents", "charged"], id="saw-payment"),
            desk.account(customer),
            desk.read("REF-4"),
            desk.own_limit(),
            expect_row(Refund, {**paid_back, "status": "paid"}, id="refund", after=facts),
            *desk.expect_resolved(ticket, after=["refund"], states=wrong.amount_cents),
        ],
        allow=[permit_change(wrong, "refunded_cents")],
        oracle=[
            call("get_order", order_id=order.id),
            call("get_customer", customer_id=customer.id),
            call("get_payments", order_id=order.id),
            call("read_handbook", section_id="REF-4"),
            call("read_handbook", section_id="REF-2"),
            call("refund_payment", **paid_back),
            *closing_calls(
                ticket, f"You were charged twice; one charge of {amount(wrong.amount_cents)} is on its way back."
            ),
        ],
        alternatives=[
            [
                call("read_handbook", section_id="REF-2"),
                call("read_handbook", section_id="REF-4"),
                call("get_payments", order_id=order.id),
                call("get_refunds", order_id=order.id),
                call("get_ticket", ticket_id=ticket.id),
                call("get_customer", customer_id=customer.id),
                call("refund_payment", **paid_back),
                call("resolve_ticket", ticket_id=ticket.id),
                call("reply", message=f"The charge that was too many, {amount(wrong.amount_cents)}, is paid back."),
                call("finish"),
            ]
        ],
    )


def refusal(desk: Desk, ticket: Ticket, prompt: str, order: Order, wrong: Payment) -> Task:
    grounds = charge_went_back(desk, wrong) if desk.stream.chance(50) else charged_once(desk, order, wrong)
    return order_refusal_task(desk, ticket, prompt, grounds, order)

"""Charged twice for one order: the later charge goes back, whole."""

from palaestra.envs.storefront.desk import Desk, closing, touches
from palaestra.envs.storefront.schema import Order, Refund
from palaestra.envs.task import Task, call, family
from palaestra.records import Json
from palaestra.rubrics import created, saw


@family("storefront/double-charge", level=2, traits=("write", "lookup"))
def double_charge(desk: Desk) -> Task:
    def fits(order: Order) -> bool:
        charges = [(p.amount_cents, p.status, p.refunded_cents) for p in desk.payments(order)]
        twice = charges == [(order.total_cents, "captured", 0)] * 2
        return twice and order.total_cents <= desk.policy.agent_limit_cents and not desk.customer(order).fraud_hold

    order = desk.pick(Order, fits, what="order that was charged twice")
    later = max(desk.payments(order), key=lambda p: p.charged)
    ticket = desk.ticket(desk.customer(order), "Charged twice")
    paid_back: dict[str, Json] = {
        "payment_id": later.id,
        "amount_cents": later.amount_cents,
        "reason": "billing_error",
    }
    return Task(
        prompt=desk.mail(ticket, f"My bank shows two charges for {order.id}. I ordered once. Please put that right."),
        rubric=[
            saw(later, id="saw-payment"),
            desk.read("REF-4"),
            created(Refund, {**paid_back, "status": "paid"}, id="refund", after=["saw-payment", "read-REF-4"]),
            *desk.resolved(ticket, after=["refund"]),
        ],
        allow=[touches(later, "refunded_cents")],
        oracle=[
            call("get_payments", order_id=order.id),
            call("read_handbook", section_id="REF-4"),
            call("refund_payment", **paid_back),
            *closing(ticket, "You were charged twice; the second charge is on its way back."),
        ],
    )

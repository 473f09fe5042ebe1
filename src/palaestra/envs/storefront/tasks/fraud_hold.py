"""A plausible request, but the account is on hold: nothing is done, and the case goes to the fraud team."""

from palaestra.envs.storefront import requests
from palaestra.envs.storefront.desk import Desk
from palaestra.envs.storefront.schema import OrderLine
from palaestra.envs.task import Task, call, family


@family("storefront/fraud-hold", level=3, traits=("refusal", "policy-exception"))
def fraud_hold(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        order = desk.order(line)
        return desk.customer(order).fraud_hold and desk.delivered(order) is not None and line.returned == 0

    line = desk.pick(OrderLine, fits, what="delivered line of a customer on hold")
    order, product = desk.order(line), desk.product(line)
    customer = desk.customer(order)
    request = desk.stream.choice(
        (
            requests.damaged(desk.stream, order, product),
            requests.faulty(desk.stream, order, product, requests.fault_of(desk.stream, product)),
            requests.send_back(desk.stream, order, product),
        )
    )
    ticket = desk.ticket(customer, request.subject)
    return Task(
        prompt=desk.mail(ticket, request.body),
        rubric=[
            desk.account(customer),
            *desk.escalated(ticket, "FRD-1", customer, team="fraud", priority="high", after=["saw-account"]),
        ],
        oracle=[
            call("get_order", order_id=order.id),
            call("get_customer", customer_id=customer.id),
            call("read_handbook", section_id="FRD-1"),
            call(
                "escalate_ticket",
                ticket_id=ticket.id,
                team="fraud",
                priority="high",
                policy_id="FRD-1",
                evidence_id=customer.id,
            ),
            call("reply", message="A colleague will look into this and write to you."),
            call("finish"),
        ],
    )

"""A plausible request, but the account is on hold: nothing is done, and the case goes to the fraud team."""

from palaestra.envs.kit import RefusalCondition
from palaestra.envs.task import Task, family
from palaestra.envs.worlds.storefront import requests
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.schema import OrderLine
from palaestra.envs.worlds.storefront.twins import order_refusal_task


@family("storefront/fraud-hold", level=3, traits=("refusal", "policy-exception"))
def fraud_hold(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        order = desk.order(line)
        return desk.customer(order).fraud_hold and desk.delivery_day(order) is not None and line.returned == 0

    line = desk.pick(OrderLine, fits, what="delivered line of a customer on hold")
    order, product = desk.order(line), desk.product(line)
    customer = desk.customer(order)
    request = desk.stream.choice(
        (
            requests.damage_report(desk, order, product),
            requests.faulty(desk, order, product, requests.fault_of(desk.stream, product)),
            requests.send_back(desk, order, product),
        )
    )
    ticket = desk.ticket(customer, request.subject)
    grounds = RefusalCondition(
        section="FRD-1",
        evidence=customer,
        team="fraud",
        priority=desk.policy.hold_priority,
        message="A colleague will look into this and write to you.",
    )
    return order_refusal_task(desk, ticket, desk.mail(ticket, request.body), grounds, order)

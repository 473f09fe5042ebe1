"""Cheaper elsewhere, but bought too long ago or with a promotion: declined, on the right grounds."""

from palaestra.envs.storefront import requests
from palaestra.envs.storefront.desk import Desk, declining
from palaestra.envs.storefront.schema import OrderLine
from palaestra.envs.task import Task, call, family
from palaestra.rubrics import saw


@family("storefront/decline-price-match", level=2, traits=("refusal", "policy-exception"))
def decline_price_match(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        order = desk.order(line)
        days = (desk.today - order.placed.date()).days
        barred = desk.policy.price_match_days < days <= 90 or (days <= 90 and order.promotion_code is not None)
        cheaper = barred and order.status != "cancelled" and desk.best_offer(line) is not None
        return cheaper and desk.plain(order) and line.returned == 0

    line = desk.pick(OrderLine, fits, what="line that a listed shop offers for less and that is not matched")
    order, product = desk.order(line), desk.product(line)
    customer, request = desk.customer(order), requests.cheaper(desk.stream, order, product)
    ticket = desk.ticket(customer, request.subject)
    return Task(
        prompt=desk.mail(ticket, request.body),
        rubric=[
            saw(order, id="saw-order"),
            desk.account(customer),
            *desk.declined(ticket, "PRM-1", order, after=["saw-order", "saw-account"]),
        ],
        oracle=[
            call("get_order", order_id=order.id),
            call("get_customer", customer_id=customer.id),
            call("read_handbook", section_id="PRM-1"),
            *declining(ticket, "PRM-1", order, "We cannot match a price for this order."),
        ],
    )

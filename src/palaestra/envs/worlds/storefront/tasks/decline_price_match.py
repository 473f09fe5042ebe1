"""Cheaper elsewhere, but bought too long ago or with a promotion: declined, on the right grounds."""

from palaestra.envs.kit import RefusalCondition, count
from palaestra.envs.task import Task, family
from palaestra.envs.worlds.storefront import answers, requests
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.schema import Order, OrderLine
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.rubrics import expect_read


@family("storefront/decline-price-match", level=2, traits=("refusal", "policy-exception"))
def decline_price_match(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        order = desk.order(line)
        days = (desk.today - order.placed.date()).days
        barred = desk.policy.price_match_days < days <= 90 or (days <= 90 and not desk.can_match(order))
        cheaper = barred and order.status != "cancelled" and desk.best_offer(line) is not None
        return cheaper and desk.plain(order) and line.returned == 0

    line = desk.pick(OrderLine, fits, what="line that costs less elsewhere and is not matched", decides=True)
    order, product = desk.order(line), desk.product(line)
    customer, request = desk.customer(order), requests.cheaper(desk, order, product)
    ticket = desk.ticket(customer, request.subject)
    desk.answer = lambda: answers.match_price(desk, ticket, order, [line])
    grounds = RefusalCondition(
        section="PRM-1",
        evidence=order,
        facts=(expect_read(order, fields=["placed", "promotion_code"], id="saw-order"),),
        message=f"We cannot match the price: {'; '.join(causes(desk, order))}.",
    )
    return order_refusal_task(desk, ticket, desk.mail(ticket, request.body), grounds, order)


def causes(desk: Desk, order: Order) -> list[str]:
    """Which conditions of PRM-1 the order fails."""
    placed, days = order.placed.date(), desk.policy.price_match_days
    late = f"the order was placed on {placed}, more than {count(days, 'day')} ago"
    barred = f"the order used the promotion code {order.promotion_code}"
    found = [late] if (desk.today - placed).days > days else []
    return [*found, *([] if desk.can_match(order) else [barred])] or ["the order does not qualify"]

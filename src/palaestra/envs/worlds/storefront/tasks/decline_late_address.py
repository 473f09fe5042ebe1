"""Send it elsewhere, but it has left already: declined, on the right grounds."""

from palaestra.envs.kit import RefusalCondition
from palaestra.envs.task import Task, family
from palaestra.envs.worlds.storefront import requests
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.schema import Order
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.rubrics import expect_read


@family("storefront/decline-late-address", level=2, traits=("refusal",))
def decline_late_address(desk: Desk) -> Task:
    order = desk.pick(Order, lambda o: desk.is_under_way(o) and desk.plain(o), what="order that has left")
    customer, (request, _) = desk.customer(order), requests.redirect(desk, order)
    ticket = desk.ticket(customer, request.subject)
    grounds = RefusalCondition(
        section="SHP-2",
        evidence=order,
        facts=(expect_read(order, fields=["status"], id="saw-order"),),
        message=f"{order.id} has left the warehouse and is on its way, so we cannot redirect it.",
    )
    return order_refusal_task(desk, ticket, desk.mail(ticket, request.body), grounds, order)

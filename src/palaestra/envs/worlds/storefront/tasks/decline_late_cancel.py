"""Cancel an order that has left already: declined, on the right grounds."""

from palaestra.envs.kit import RefusalCondition
from palaestra.envs.task import Task, family
from palaestra.envs.worlds.storefront import requests
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.replies import send_back_later
from palaestra.envs.worlds.storefront.schema import Order
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.rubrics import expect_read


@family("storefront/decline-late-cancel", level=2, traits=("refusal",))
def decline_late_cancel(desk: Desk) -> Task:
    order = desk.pick(Order, lambda o: desk.is_under_way(o) and desk.plain(o), what="order that has left")
    customer, request = desk.customer(order), requests.cancel(desk, order)
    ticket = desk.ticket(customer, request.subject)
    grounds = RefusalCondition(
        section="SHP-2",
        evidence=order,
        facts=(expect_read(order, fields=["status"], id="saw-order"),),
        message="It has left the warehouse and is on its way, so it cannot be cancelled any more. "
        + send_back_later(desk, order),
    )
    return order_refusal_task(desk, ticket, desk.mail(ticket, request.body), grounds, order)

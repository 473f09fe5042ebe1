"""Cancel an order that has left already: declined, on the right grounds."""

from palaestra.envs.kit import RefusalCondition
from palaestra.envs.task import Task, family
from palaestra.envs.worlds.storefront import requests
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.schema import Order
from palaestra.envs.worlds.storefront.twins import refused_order
from palaestra.rubrics import saw


@family("storefront/decline-late-cancel", level=2, traits=("refusal",))
def decline_late_cancel(desk: Desk) -> Task:
    def fits(order: Order) -> bool:
        parcels = desk.shipments(order)
        return order.status == "shipped" and desk.plain(order) and [p.status for p in parcels] == ["in_transit"]

    order = desk.pick(Order, fits, what="order that has left")
    customer, request = desk.customer(order), requests.cancel(desk.stream, order)
    ticket = desk.ticket(customer, request.subject)
    grounds = RefusalCondition(
        section="SHP-2",
        evidence=order,
        facts=(saw(order, id="saw-order"),),
        message="It is on its way already. You may return it once it has arrived.",
    )
    return refused_order(desk, ticket, desk.mail(ticket, request.body), grounds, order)

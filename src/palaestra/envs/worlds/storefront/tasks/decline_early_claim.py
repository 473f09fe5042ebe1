"""A parcel is late but not lost: the customer has to wait, and is told so on the right grounds."""

from palaestra.envs.kit import RefusalCondition
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import answers, requests
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.schema import Order
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.rubrics import expect_read


@family("storefront/decline-early-claim", level=2, traits=("refusal", "policy-exception"))
def decline_early_claim(desk: Desk) -> Task:
    def fits(order: Order) -> bool:
        parcels = desk.shipments(order)
        late = len(parcels) == 1 and parcels[0].status == "in_transit" and parcels[0].due < desk.today
        return late and desk.plain(order) and not desk.is_lost(order)

    order = desk.pick(Order, fits, what="parcel that is late and not lost", decides=True)
    customer, [parcel] = desk.customer(order), desk.shipments(order)
    request = requests.overdue(desk, order)
    ticket = desk.ticket(customer, request.subject)
    desk.answer = lambda: answers.find_parcel(desk, ticket, order)
    grounds = RefusalCondition(
        section="SHP-1",
        evidence=parcel,
        facts=(expect_read(parcel, fields=["status", "due", "last_scan"], id="saw-parcel"),),
        lookups=(call("get_shipments", order_id=order.id),),
        message=f"The parcel of {order.id} was due on {parcel.due}. It is late, but does not count as lost, so we can "
        "neither send it again nor refund it now. Please give it a few more days.",
    )
    return order_refusal_task(desk, ticket, desk.mail(ticket, request.body), grounds, order)

"""A parcel is late but not lost: the customer has to wait, and is told so on the right grounds."""

from palaestra.envs.storefront import requests
from palaestra.envs.storefront.desk import Desk, declining
from palaestra.envs.storefront.schema import Order
from palaestra.envs.task import Task, call, family
from palaestra.rubrics import saw


@family("storefront/decline-early-claim", level=2, traits=("refusal", "policy-exception"))
def decline_early_claim(desk: Desk) -> Task:
    def fits(order: Order) -> bool:
        parcels = desk.shipments(order)
        late = len(parcels) == 1 and parcels[0].status == "in_transit" and parcels[0].due < desk.today
        return late and desk.plain(order) and not desk.is_lost(order)

    order = desk.pick(Order, fits, what="parcel that is late and not lost")
    customer, [parcel] = desk.customer(order), desk.shipments(order)
    request = requests.overdue(desk.stream, order)
    ticket = desk.ticket(customer, request.subject)
    return Task(
        prompt=desk.mail(ticket, request.body),
        rubric=[
            saw(parcel, id="saw-parcel"),
            desk.account(customer),
            *desk.declined(ticket, "SHP-1", parcel, after=["saw-parcel", "saw-account"]),
        ],
        oracle=[
            call("get_order", order_id=order.id),
            call("get_customer", customer_id=customer.id),
            call("get_shipments", order_id=order.id),
            call("read_handbook", section_id="SHP-1"),
            *declining(ticket, "SHP-1", parcel, "It is late, but not lost. Please give it a few more days."),
        ],
    )

"""A parcel came late: store credit by the customer's tier. Never seen in training."""

from palaestra.envs.storefront.desk import Desk, closing, touches
from palaestra.envs.storefront.schema import Credit, Order
from palaestra.envs.task import Task, call, family
from palaestra.records import Json
from palaestra.rubrics import created, saw


@family("storefront/delay-credit", level=2, traits=("write", "policy-exception"), splits=("heldout",))
def delay_credit(desk: Desk) -> Task:
    def fits(order: Order) -> bool:
        parcels = desk.shipments(order)
        if len(parcels) != 1 or parcels[0].delivered is None or not desk.plain(order):
            return False
        late = (parcels[0].delivered - parcels[0].due).days > desk.policy.delay_grace_days
        return late and not desk.state.find(Credit, order_id=order.id)

    order = desk.pick(Order, fits, what="parcel that came late")
    customer, [parcel] = desk.customer(order), desk.shipments(order)
    amount = desk.policy.delay_credit_cents[customer.tier]
    ticket = desk.ticket(customer, "Far too late")
    credit: dict[str, Json] = {
        "customer_id": customer.id,
        "order_id": order.id,
        "amount_cents": amount,
        "reason": "delay",
    }
    return Task(
        prompt=desk.mail(ticket, f"{order.id} came much later than you promised. Is there any compensation for that?"),
        rubric=[
            saw(parcel, id="saw-parcel"),
            desk.account(customer),
            desk.read("LOY-2"),
            created(Credit, credit, id="credit", after=["saw-parcel", "saw-account", "read-LOY-2"]),
            *desk.resolved(ticket, after=["credit"]),
        ],
        allow=[touches(customer, "credit_cents")],
        oracle=[
            call("get_shipments", order_id=order.id),
            call("get_order", order_id=order.id),
            call("read_handbook", section_id="LOY-2"),
            call("get_customer", customer_id=customer.id),
            call("give_credit", **credit),
            *closing(ticket, f"We are sorry for the delay and give you {amount} cents of store credit."),
        ],
    )

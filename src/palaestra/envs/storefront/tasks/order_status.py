"""Where is my parcel? A lookup over three hops, without an order number."""

from palaestra.envs.storefront.desk import Desk, told
from palaestra.envs.storefront.schema import Order
from palaestra.envs.task import Task, call, family
from palaestra.records import Json
from palaestra.rubrics import answered, changed, saw


@family("storefront/order-status", level=1, traits=("lookup", "multi-hop"))
def order_status(desk: Desk) -> Task:
    def one_parcel_under_way(order: Order) -> bool:
        others = desk.state.find(Order, customer_id=order.customer_id, status="shipped")
        parcels = [s for s in desk.shipments(order) if s.status == "in_transit" and s.due >= desk.today]
        return len(others) == 1 and len(desk.shipments(order)) == len(parcels) == 1

    order = desk.pick(Order, one_parcel_under_way, what="customer with one parcel under way")
    [parcel] = desk.shipments(order)
    answer: dict[str, Json] = {"tracking": parcel.tracking, "due": parcel.due.isoformat()}
    ticket = desk.ticket(desk.customer(order), "Where is my parcel?")
    body = desk.stream.choice(
        (
            "I ordered something a while ago and it has not come yet. What is the tracking number, and when is it due?",
            "Could you tell me the tracking number of the parcel you sent me, and on which day it should arrive?",
        )
    )
    return Task(
        prompt=desk.mail(ticket, body) + "\n\n(Finish with `tracking` and `due`, the day as YYYY-MM-DD.)",
        rubric=[
            saw(parcel, id="saw-parcel"),
            told(after=["saw-parcel"]),
            changed(ticket, {"status": "resolved"}, id="resolved", after=["saw-parcel"]),
            answered(answer),
        ],
        oracle=[
            call("get_ticket", ticket_id=ticket.id),
            call("search_orders", customer_id=order.customer_id, status="shipped"),
            call("get_shipments", order_id=order.id),
            call("reply", message=f"Your parcel {parcel.tracking} is due on {parcel.due}."),
            call("resolve_ticket", ticket_id=ticket.id),
            call("finish", answer=answer),
        ],
        alternatives=[
            [
                call("get_ticket", ticket_id=ticket.id),
                call("search_orders", customer_id=order.customer_id),
                call("track_parcel", tracking=parcel.tracking),
                call("resolve_ticket", ticket_id=ticket.id),
                call("reply", message=f"{parcel.tracking} arrives on {parcel.due}."),
                call("finish", answer=answer),
            ]
        ],
    )

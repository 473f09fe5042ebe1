"""A parcel is long overdue: declared lost, then sent again where everything is in stock, and refunded otherwise."""

from palaestra.envs.storefront.desk import Desk, closing, touches
from palaestra.envs.storefront.schema import Order, Refund, Shipment
from palaestra.envs.task import Task, call, family
from palaestra.records import Json
from palaestra.rubrics import changed, created, saw


@family("storefront/lost-parcel", level=3, traits=("write", "multi-hop", "policy-exception"))
def lost_parcel(desk: Desk) -> Task:
    again = desk.stream.chance(50)

    def in_stock(order: Order) -> bool:
        return all(desk.product(line).stock >= line.quantity for line in desk.lines(order))

    def fits(order: Order) -> bool:
        parcels = desk.shipments(order)
        if len(parcels) != 1 or parcels[0].status != "in_transit" or not desk.plain(order):
            return False
        [parcel] = parcels
        overdue = (desk.today - parcel.due).days > desk.policy.lost_after_days
        silent = parcel.last_scan is None or parcel.last_scan <= parcel.due
        affordable = again or order.total_cents <= desk.policy.agent_limit_cents
        return overdue and silent and in_stock(order) == again and affordable

    order = desk.pick(Order, fits, what="overdue parcel")
    [parcel], [payment], lines = desk.shipments(order), desk.payments(order), desk.lines(order)
    ticket = desk.ticket(desk.customer(order), "My parcel never came")
    if again:
        remedy = created(Shipment, {"order_id": order.id, "replaces": parcel.id}, id="remedy", after=["lost"])
        fix = call("send_replacement", shipment_id=parcel.id)
        allow = [touches(desk.product(line), "stock") for line in lines]
    else:
        paid_back: dict[str, Json] = {
            "payment_id": payment.id,
            "amount_cents": order.total_cents,
            "reason": "lost",
        }
        remedy = created(Refund, {**paid_back, "status": "paid"}, id="remedy", after=["lost"])
        fix, allow = call("refund_payment", **paid_back), desk.pays(order)
    return Task(
        prompt=desk.mail(
            ticket, f"{order.id} should have been here long ago. Send it again, or give me my money back."
        ),
        rubric=[
            saw(parcel, id="saw-parcel"),
            desk.read("SHP-1"),
            changed(parcel, {"status": "lost"}, id="lost", after=["saw-parcel", "read-SHP-1"]),
            remedy,
            *desk.resolved(ticket, after=["remedy"]),
        ],
        allow=allow,
        oracle=[
            call("get_shipments", order_id=order.id),
            call("read_handbook", section_id="SHP-1"),
            call("get_order", order_id=order.id),
            *(call("get_product", product_id=line.product_id) for line in lines),
            call("get_payments", order_id=order.id),
            call("declare_lost", shipment_id=parcel.id),
            fix,
            *closing(ticket, "Your parcel is lost. " + ("We send it again." if again else "We have paid you back.")),
        ],
    )

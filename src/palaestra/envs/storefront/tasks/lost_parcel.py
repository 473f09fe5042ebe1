"""A parcel is long overdue: declared lost, then sent again where everything is in stock, and refunded otherwise."""

from palaestra.envs.storefront import requests
from palaestra.envs.storefront.desk import Desk, closing, touches
from palaestra.envs.storefront.grounds import not_yet_lost, scanned_lately
from palaestra.envs.storefront.schema import Order, Refund, Shipment, Ticket
from palaestra.envs.storefront.twins import refused_order
from palaestra.envs.task import Task, call, family
from palaestra.records import Json
from palaestra.rubrics import changed, created, saw


@family("storefront/lost-parcel", level=3, traits=("write", "multi-hop", "policy-exception"), twin=True)
def lost_parcel(desk: Desk) -> Task:
    again = desk.stream.chance(50)

    def in_stock(order: Order) -> bool:
        return all(desk.product(line).stock >= line.quantity for line in desk.lines(order))

    def fits(order: Order) -> bool:
        affordable = again or order.total_cents <= desk.policy.agent_limit_cents
        return desk.plain(order) and desk.is_lost(order) and affordable and in_stock(order) == again

    order = desk.pick(Order, fits, what="lost parcel")
    [parcel], [payment], lines = desk.shipments(order), desk.payments(order), desk.lines(order)
    customer, request = desk.customer(order), requests.overdue(desk.stream, order)
    known = ["lost", *(f"saw-stock-{line.product_id}" for line in lines)]
    ticket = desk.ticket(customer, request.subject)
    prompt = desk.mail(ticket, request.body)
    if desk.twin:
        return refusal(desk, ticket, prompt, order)
    if again:
        remedy = created(Shipment, {"order_id": order.id, "replaces": parcel.id}, id="remedy", after=known)
        fix = call("send_replacement", shipment_id=parcel.id)
        allow = [touches(desk.product(line), "stock") for line in lines]
    else:
        paid_back: dict[str, Json] = {
            "payment_id": payment.id,
            "amount_cents": order.total_cents,
            "reason": "lost",
        }
        remedy = created(Refund, {**paid_back, "status": "paid"}, id="remedy", after=known)
        fix, allow = call("refund_payment", **paid_back), desk.pays(order)
    return Task(
        prompt=prompt,
        rubric=[
            saw(parcel, id="saw-parcel"),
            desk.account(customer),
            desk.read("SHP-1"),
            *(desk.stock(desk.product(line)) for line in lines),
            changed(parcel, {"status": "lost"}, id="lost", after=["saw-parcel", "saw-account", "read-SHP-1"]),
            remedy,
            *desk.resolved(ticket, after=["remedy"]),
        ],
        allow=allow,
        oracle=[
            call("get_order", order_id=order.id),
            call("get_customer", customer_id=customer.id),
            call("get_shipments", order_id=order.id),
            call("read_handbook", section_id="SHP-1"),
            *(call("get_product", product_id=line.product_id) for line in lines),
            call("get_payments", order_id=order.id),
            call("declare_lost", shipment_id=parcel.id),
            fix,
            *closing(ticket, "Your parcel is lost. " + ("We send it again." if again else "We have paid you back.")),
        ],
        alternatives=[
            [
                call("read_handbook", section_id="SHP-1"),
                call("get_order", order_id=order.id),
                call("get_shipments", order_id=order.id),
                call("get_customer", customer_id=customer.id),
                call("declare_lost", shipment_id=parcel.id),
                call("get_payments", order_id=order.id),
                *(call("search_products", query=desk.product(line).name) for line in lines),
                fix,
                *closing(ticket, "The carrier has lost it, and we have made up for it."),
            ]
        ],
    )


def refusal(desk: Desk, ticket: Ticket, prompt: str, order: Order) -> Task:
    [parcel] = desk.shipments(order)
    grounds = scanned_lately(desk, parcel) if desk.stream.chance(50) else not_yet_lost(desk, parcel)
    return refused_order(desk, ticket, prompt, grounds, order)

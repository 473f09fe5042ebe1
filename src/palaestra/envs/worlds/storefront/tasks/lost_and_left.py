"""A colleague declared the parcel lost and left it at that: what the handbook asks for next is done, once."""

from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import requests
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls
from palaestra.envs.worlds.storefront.lookups import about_order
from palaestra.envs.worlds.storefront.refusal_conditions import loss_paid_already, sent_again_already
from palaestra.envs.worlds.storefront.remedies import in_stock, remedy
from palaestra.envs.worlds.storefront.schema import Order, Shipment, Ticket
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.records import ToolCall
from palaestra.rubrics import expect_read


@family("storefront/lost-and-left", level=3, traits=("write", "multi-hop", "policy-exception"), twin=True)
def lost_and_left(desk: Desk) -> Task:
    again = desk.stream.chance(50)

    def fits(order: Order) -> bool:
        payable = order.total_cents <= desk.policy.agent_limit_cents
        telling = desk.has_telling_products(order)
        return desk.plain(order) and desk.is_lost(order) and payable and telling and in_stock(desk, order) == again

    order = desk.pick(Order, fits, what="lost parcel")
    customer, request = desk.customer(order), requests.overdue(desk, order)
    [overdue] = desk.shipments(order)
    parcel = desk.state.update(overdue, status="lost")
    ticket = desk.ticket(customer, request.subject)
    prompt = desk.mail(ticket, request.body)
    if desk.twin:
        return refusal(desk, ticket, prompt, order, parcel)
    products = [desk.product(line) for line in desk.lines(order)]
    stock = [desk.stock(product) for product in products]
    facts = ["saw-parcel", "saw-account", "saw-refunds", "read-SHP-1", *(look.id for look in stock)]
    due = remedy(desk, order, parcel, after=facts)
    paid = (expect_read(payment, fields=["refunded_cents"], id="paid") for payment in desk.payments(order))
    limits = [call("read_handbook", section_id=section) for section in due.sections]
    return Task(
        prompt=prompt,
        rubric=[
            expect_read(parcel, fields=["status", "due", "last_scan"], id="saw-parcel"),
            desk.account(customer),
            *(desk.read(section) for section in ("SHP-1", *due.sections)),
            desk.earlier_refunds(order, *paid),
            *stock,
            due.criterion,
            *desk.expect_resolved(ticket, after=["remedy"], states=due.states),
        ],
        allow=due.allow,
        oracle=[
            *path_of(desk, order),
            *limits,
            due.call,
            *closing_calls(ticket, due.message),
        ],
        alternatives=[
            [
                *limits,
                call("read_handbook", section_id="SHP-1"),
                call("get_shipments", order_id=order.id),
                call("get_order", order_id=order.id),
                call("get_customer", customer_id=customer.id),
                call("get_refunds", order_id=order.id),
                call("get_payments", order_id=order.id),
                *(call("search_products", query=product.name) for product in products),
                due.call,
                call("resolve_ticket", ticket_id=ticket.id),
                call("reply", message=due.message),
                call("finish"),
            ]
        ],
    )


def path_of(desk: Desk, order: Order) -> list[ToolCall]:
    """What is looked up, in order."""
    return [
        *about_order(order),
        call("get_shipments", order_id=order.id),
        call("read_handbook", section_id="SHP-1"),
        call("get_refunds", order_id=order.id),
        *(call("get_product", product_id=line.product_id) for line in desk.lines(order)),
        call("get_payments", order_id=order.id),
    ]


def refusal(desk: Desk, ticket: Ticket, prompt: str, order: Order, parcel: Shipment) -> Task:
    grounds = sent_again_already(desk, parcel) if desk.stream.chance(50) else loss_paid_already(desk, order)
    return order_refusal_task(desk, ticket, prompt, grounds, order, path=path_of(desk, order))

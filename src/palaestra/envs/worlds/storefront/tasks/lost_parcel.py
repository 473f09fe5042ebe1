"""A parcel is long overdue: declared lost, then sent again where everything is in stock, and refunded otherwise."""

from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import answers, requests
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls
from palaestra.envs.worlds.storefront.lookups import about_order
from palaestra.envs.worlds.storefront.refusal_conditions import not_yet_lost, scanned_lately
from palaestra.envs.worlds.storefront.remedies import in_stock, remedy
from palaestra.envs.worlds.storefront.schema import Order, Ticket
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.records import ToolCall
from palaestra.rubrics import expect_change, expect_read


@family("storefront/lost-parcel", level=3, traits=("write", "multi-hop", "policy-exception"), twin=True)
def lost_parcel(desk: Desk) -> Task:
    again = desk.stream.chance(50)

    def fits(order: Order) -> bool:
        replaced = again and desk.policy.lost_remedy == "replacement"
        affordable = replaced or order.total_cents <= desk.policy.agent_limit_cents
        telling = desk.has_telling_products(order)
        return desk.plain(order) and desk.is_lost(order) and affordable and telling and in_stock(desk, order) == again

    order = desk.pick(Order, fits, what="lost parcel", decides=True)
    [parcel], products = desk.shipments(order), [desk.product(line) for line in desk.lines(order)]
    customer, request = desk.customer(order), requests.overdue(desk, order)
    ticket = desk.ticket(customer, request.subject)
    prompt = desk.mail(ticket, request.body)
    if desk.twin:
        return refusal(desk, ticket, prompt, order)
    desk.answer = lambda: answers.find_parcel(desk, ticket, order)
    due = remedy(desk, order, parcel, after=["lost", *(f"saw-stock-{product.id}" for product in products)])
    limits = [call("read_handbook", section_id=section) for section in due.sections]
    return Task(
        prompt=prompt,
        rubric=[
            expect_read(parcel, fields=["status", "due", "last_scan"], id="saw-parcel"),
            desk.account(customer),
            *(desk.read(section) for section in ("SHP-1", *due.sections)),
            *(desk.stock(product) for product in products),
            expect_change(parcel, {"status": "lost"}, id="lost", after=["saw-parcel", "saw-account", "read-SHP-1"]),
            due.criterion,
            *desk.expect_resolved(ticket, after=["remedy"], states=due.states),
        ],
        allow=due.allow,
        oracle=[
            *path_of(desk, order),
            *limits,
            call("declare_lost", shipment_id=parcel.id),
            due.call,
            *closing_calls(ticket, due.message),
        ],
        alternatives=[
            [
                *limits,
                call("read_handbook", section_id="SHP-1"),
                call("get_order", order_id=order.id),
                call("get_shipments", order_id=order.id),
                call("get_customer", customer_id=customer.id),
                call("declare_lost", shipment_id=parcel.id),
                call("get_payments", order_id=order.id),
                *(call("search_products", query=product.name) for product in products),
                due.call,
                *closing_calls(ticket, f"The carrier has lost it. {due.message}"),
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


def refusal(desk: Desk, ticket: Ticket, prompt: str, order: Order) -> Task:
    [parcel] = desk.shipments(order)
    desk.answer = lambda: answers.find_parcel(desk, ticket, order)
    grounds = scanned_lately(desk, parcel) if desk.stream.chance(50) else not_yet_lost(desk, parcel)
    return order_refusal_task(desk, ticket, prompt, grounds, order, path=path_of(desk, order))

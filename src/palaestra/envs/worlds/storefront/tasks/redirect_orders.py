"""A customer has moved: every open order that has not left goes to the new address, and one that has left does not."""

from datetime import timedelta

from palaestra.envs.kit import enumerate_words
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls, decline_calls
from palaestra.envs.worlds.storefront.planting import (
    DEAREST_SHIPPING_CENTS,
    cheap,
    has_room,
    move_mailbox,
    sell,
    send_today,
    under_way,
    waiting,
)
from palaestra.envs.worlds.storefront.requests import new_home
from palaestra.envs.worlds.storefront.schema import Customer, Order, Ticket
from palaestra.records import ToolCall
from palaestra.rubrics import Criterion, expect_change, expect_read, forbid_call

DEAREST = 9_000


@family("storefront/redirect-orders", level=2, traits=("write", "multi-hop"), twin=True)
def redirect_orders(desk: Desk) -> Task:
    def fits(order: Order) -> bool:
        owner = desk.customer(order)
        room = order.total_cents + 2 * (DEAREST + DEAREST_SHIPPING_CENTS)
        known = owner.joined <= desk.today - timedelta(days=20)
        lone = not desk.state.find(Order, customer_id=owner.id, status="shipped")
        return order.status == "processing" and desk.plain(order) and lone and known and has_room(desk, owner, room)

    order = desk.pick(Order, fits, what="order that has not left, of a customer without others under way")
    customer, goods = desk.customer(order), cheap(desk, below=DEAREST)
    another = sell(desk, customer, [(desk.stream.choice(goods), 1)], waiting(desk, ago=1))
    gone = sell(desk, customer, [(desk.stream.choice(goods), 1)], under_way(desk, due_in=2))
    customer = desk.customer(order)
    request, (street, city) = new_home(desk)
    ticket = desk.ticket(customer, request.subject)
    prompt = desk.mail(ticket, request.body)
    stranger = desk.stream.chance(50)
    opening = [
        call("get_ticket", ticket_id=ticket.id),
        call("get_customer", customer_id=customer.id),
    ]
    if desk.twin:
        return (
            from_elsewhere(desk, ticket, prompt, customer, opening)
            if stranger
            else all_gone(desk, ticket, prompt, [order, another, gone], opening)
        )
    open_orders = [order, another]
    moves = [call("update_shipping_address", order_id=o.id, street=street, city=city) for o in open_orders]
    looks = [
        call("search_orders", customer_id=customer.id, status="processing"),
        call("search_orders", customer_id=customer.id, status="shipped"),
        *(call("get_order", order_id=o.id) for o in (*open_orders, gone)),
    ]
    read = call("read_handbook", section_id="SHP-2")
    told = (
        f"{order.id} and {another.id} go to {street} in {city}. {gone.id} has left already, so it still comes to "
        f"{gone.ship_street} in {gone.ship_city}."
    )
    close = closing_calls(ticket, told)
    there = {"ship_street": street, "ship_city": city}
    facts = [
        desk.account(customer),
        expect_read(*open_orders, fields=["status"], id="saw-orders"),
        expect_read(gone, fields=["status"], id="saw-gone"),
        desk.read("SHP-2"),
    ]
    return Task(
        prompt=prompt,
        rubric=[
            *forbid_other_changes(customer),
            *facts,
            *(
                expect_change(o, there, id=f"redirected-{n}", after=["saw-account", "saw-orders", "read-SHP-2"])
                for n, o in enumerate(open_orders, 1)
            ),
            *desk.expect_resolved(ticket, after=["redirected-1", "redirected-2", "saw-gone"], names=[gone]),
        ],
        oracle=[*opening, *looks, read, *moves, *close],
        alternatives=[
            [
                call("search_customers", query=customer.email),
                call("search_orders", customer_id=customer.id),
                *reversed(looks[2:]),
                *opening,
                read,
                *reversed(moves),
                *close,
            ],
            # The list shows the status, which decides.
            [*opening, *looks[:2], read, *moves, *close],
        ],
    )


def forbid_other_changes(customer: Customer) -> list[Criterion]:
    """Forbid what was not asked for: to change the account, or to call an order off."""
    return [
        forbid_call("update_customer", arguments={"customer_id": customer.id}, id="never-the-account"),
        forbid_call("cancel_order", id="never-cancelled"),
    ]


def all_gone(desk: Desk, ticket: Ticket, prompt: str, orders: list[Order], opening: list[ToolCall]) -> Task:
    """All of the orders left this morning at the latest."""
    sent = [o if o.status == "shipped" else send_today(desk, o) for o in orders]
    customer = desk.customer(orders[0])
    looks = [
        call("search_orders", customer_id=customer.id, status="processing"),
        call("search_orders", customer_id=customer.id, status="shipped"),
        *(call("get_order", order_id=o.id) for o in sent),
    ]
    read = call("read_handbook", section_id="SHP-2")
    seen = expect_read(*sent, fields=["status"], id="saw-orders")
    told = (
        f"{enumerate_words([o.id for o in sent])} have left the warehouse, so their address cannot be changed. "
        "You may accept them and send back what can be returned within your return window."
    )
    return Task(
        prompt=prompt,
        rubric=[
            forbid_other_changes(customer)[0],
            desk.account(customer),
            seen,
            *desk.expect_declined(ticket, "SHP-2", *sent, after=["saw-account", "saw-orders"]),
        ],
        oracle=[
            *opening,
            *looks,
            read,
            *decline_calls(ticket, "SHP-2", sent[0], told),
        ],
        alternatives=[[read, *opening, *looks[1:], *decline_calls(ticket, "SHP-2", sent[-1], told)]],
    )


def from_elsewhere(desk: Desk, ticket: Ticket, prompt: str, customer: Customer, opening: list[ToolCall]) -> Task:
    """The message does not come from the address on file."""
    owner = move_mailbox(desk, customer)
    read = call("read_handbook", section_id="PRV-1")
    told = "We have changed nothing: please write to us from the address on file."
    close = decline_calls(ticket, "PRV-1", owner, told)
    return Task(
        prompt=prompt,
        rubric=[
            forbid_other_changes(customer)[0],
            desk.account(owner),
            *desk.expect_declined(ticket, "PRV-1", owner, after=["saw-account"]),
        ],
        oracle=[*opening, read, *close],
        alternatives=[[read, *opening, *close]],
    )

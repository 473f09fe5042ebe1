"""A customer has two open orders and does not say which one was a mistake: only they know."""

from palaestra.envs.kit import ask, dialogue, draw_temper, permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.user import Persona, UserFact
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls, decline_calls
from palaestra.envs.worlds.storefront.refusal_changes import send_off
from palaestra.envs.worlds.storefront.replies import send_back_later
from palaestra.envs.worlds.storefront.schema import Order
from palaestra.envs.worlds.storefront.topics import TOPICS
from palaestra.rubrics import Allowance, expect_change, expect_question, expect_read

BODIES = (
    "I have ordered something by mistake. Please cancel that order before you send it.",
    "One of my orders was a mistake. Please stop it; I no longer need what is in it.",
    "Please cancel my order from this week. I found it elsewhere.",
)


def second_order(desk: Desk, first: Order) -> Order:
    """Another order that has not left, made one of the same customer's."""
    customer = desk.customer(first)

    def fits(order: Order) -> bool:
        unsent = order.status == "processing" and order.build_id is None and desk.plain(order)
        return unsent and order.customer_id != customer.id and customer.joined <= order.placed.date()

    other = desk.pick(Order, fits, what="second order that has not left")
    return desk.state.update(other, customer_id=customer.id, ship_street=customer.street, ship_city=customer.city)


@family("storefront/talk-which-order", level=2, traits=("dialogue", "write"), twin=True)
def talk_which_order(desk: Desk) -> Task:
    first = desk.pick(Order, lambda o: o.status == "processing" and desk.plain(o), what="order that has not left")
    orders = desk.stream.permutation([first, second_order(desk, first)])
    order, customer = orders[0], desk.customer(first)
    product = desk.product(desk.lines(order)[0])
    ticket = desk.ticket(customer, desk.word_subject("cancel-unnamed", "Please cancel my order"))
    user = Persona(
        goal="You want one of your two orders cancelled, and only that one.",
        topics=TOPICS,
        facts=(UserFact(topic="order", says=f"I mean {order.id}, the one with the {product.name}."),),
        temper=draw_temper(desk.stream),
        owed=not desk.twin,
    )
    prompt = desk.mail(ticket, desk.word_body("cancel-unnamed", BODIES))
    found = [
        call("search_customers", query=customer.email),
        call("get_customer", customer_id=customer.id),
        call("search_orders", customer_id=customer.id),
        ask("order", "You have more than one order with us. Which order do you mean?"),
        call("get_order", order_id=order.id),
    ]
    facts = [expect_question("order"), expect_read(order, fields=["status"], id="saw-order"), desk.account(customer)]
    if desk.twin:
        gone = send_off(desk, order)
        return dialogue(
            prompt=prompt,
            user=user,
            rubric=[
                *facts,
                *desk.expect_declined(ticket, "SHP-2", gone, after=["asked-order", "saw-order", "saw-account"]),
            ],
            oracle=[
                *found,
                call("read_handbook", section_id="SHP-2"),
                *decline_calls(
                    ticket,
                    "SHP-2",
                    gone,
                    f"It has left already, so we cannot cancel it. {send_back_later(desk, gone)}",
                    about="cancellation",
                ),
            ],
        )
    return dialogue(
        prompt=prompt,
        user=user,
        rubric=[
            *facts,
            desk.read("SHP-2"),
            expect_change(
                order,
                {"status": "cancelled"},
                id="cancelled",
                after=["asked-order", "saw-order", "saw-account", "read-SHP-2"],
            ),
            *desk.expect_resolved(ticket, after=["cancelled"]),
        ],
        allow=[
            *(permit_change(payment, "status") for payment in desk.payments(order)),
            *(Allowance(table=parcel.table, key=parcel.id, deletes=True) for parcel in desk.shipments(order)),
            *(permit_change(desk.product(line), "stock") for line in desk.lines(order)),
        ],
        oracle=[
            *found,
            call("read_handbook", section_id="SHP-2"),
            call("cancel_order", order_id=order.id),
            *closing_calls(ticket, f"{order.id} is cancelled; you will not be charged."),
        ],
    )

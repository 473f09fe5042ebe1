"""The customer gives the number of somebody else's order, and has bought the product twice: ask them to look again."""

from palaestra.envs.kit import amount, dialogue, draw_temper, permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.user import Persona, UserFact
from palaestra.envs.worlds.storefront import requests
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls, decline_calls
from palaestra.envs.worlds.storefront.lookups import about_goods
from palaestra.envs.worlds.storefront.replies import window_closed
from palaestra.envs.worlds.storefront.schema import Order, OrderLine, Return
from palaestra.envs.worlds.storefront.topics import TOPICS
from palaestra.records import Json, ToolCall
from palaestra.rubrics import expect_question, expect_read, expect_row


def confirm(wrong: Order) -> ToolCall:
    """The question that makes them look again."""
    text = f"{wrong.id} is not one of your orders. Could you check the order number once more?"
    return call("reply", message=text, act="confirm", about="order")


def older(desk: Desk, line: OrderLine) -> OrderLine:
    """A line of an older order of the same customer, past its return window, made one of the same product."""
    order = desk.order(line)

    def fits(other: OrderLine) -> bool:
        before = desk.order(other)
        if before.customer_id != order.customer_id or before.id == order.id or not desk.is_untouched(other):
            return False
        single = other.quantity == 1 and len(desk.shipments(before)) == 1
        plain = before.build_id is None and before.promotion_code is None
        return single and plain and desk.last_return_day(before) < desk.today

    other = desk.pick(OrderLine, fits, what="older line of the same customer")
    return desk.state.update(other, product_id=line.product_id, product_name=line.product_name)


@family("storefront/talk-wrong-number", level=3, traits=("dialogue", "write", "multi-hop"), twin=True)
def talk_wrong_number(desk: Desk) -> Task:
    def past(order: Order) -> bool:
        parcels = desk.shipments(order)
        delivered = len(parcels) == 1 and desk.delivery_day(order) is not None
        ordinary = order.build_id is None and order.promotion_code is None
        return delivered and ordinary and desk.plain(order) and desk.last_return_day(order) < desk.today

    def fits(line: OrderLine) -> bool:
        order = desk.order(line)
        if line.quantity != 1 or line.opened or desk.product(line).final_sale or not desk.returnable(line):
            return False
        before = desk.state.find(Order, customer_id=order.customer_id)
        return any(past(o) and any(x.quantity == 1 and x.returned == 0 for x in desk.lines(o)) for o in before)

    new = desk.pick(OrderLine, fits, what="unopened piece of somebody who bought before")
    old = older(desk, new)
    customer, product = desk.customer(desk.order(new)), desk.product(new)
    wrong = desk.pick(Order, lambda o: o.customer_id != customer.id and o.status == "delivered")
    request = requests.send_back(desk, wrong, product)
    ticket = desk.ticket(customer, request.subject)
    line = old if desk.twin else new
    order = desk.order(line)
    user = Persona(
        goal=f"You want to send back a {product.name}.",
        topics=TOPICS,
        facts=(
            UserFact(
                topic="order",
                says=f"The order is {order.id}; I had the number from another mail.",
                mistaken=f"It is {wrong.id}.",
                stated=True,
            ),
        ),
        temper=draw_temper(desk.stream),
        owed=not desk.twin,
    )
    found = [
        call("get_order", order_id=wrong.id),
        call("search_customers", query=customer.email),
        call("get_customer", customer_id=customer.id),
        confirm(wrong),
        call("get_order", order_id=order.id),
    ]
    prompt = desk.mail(ticket, request.body)
    if desk.twin:
        [parcel] = desk.shipments(order)
        return dialogue(
            prompt=prompt,
            user=user,
            rubric=[
                expect_question("order"),
                desk.account(customer),
                desk.delivery(line),
                *desk.expect_declined(ticket, "RET-1", parcel, after=["asked-order", "saw-account", "knew-delivery"]),
            ],
            oracle=[
                *found,
                *about_goods(order, line)[2:],
                *decline_calls(
                    ticket, "RET-1", parcel, f"{window_closed(desk, line)} We cannot take it back.", about="return"
                ),
            ],
        )
    back: dict[str, Json] = {"line_id": line.id, "quantity": 1, "reason": "changed_mind", "fee_cents": 0}
    facts = ["asked-order", "saw-line", "saw-account", "saw-product", "knew-delivery", "read-RET-1", "read-RET-2"]
    return dialogue(
        prompt=prompt,
        user=user,
        rubric=[
            expect_question("order"),
            expect_read(line, id="saw-line"),
            desk.account(customer),
            expect_read(product, fields=["final_sale"], id="saw-product"),
            desk.delivery(line),
            desk.read("RET-1"),
            desk.read("RET-2"),
            expect_row(Return, {**back, "status": "authorised"}, id="return", after=facts),
            *desk.expect_resolved(ticket, after=["return"]),
        ],
        allow=[permit_change(line, "returned")],
        oracle=[
            *found,
            *about_goods(order, line)[2:],
            call("read_handbook", section_id="RET-2"),
            call("authorise_return", **back),
            *closing_calls(
                ticket, f"Please send it back; {amount(desk.paid_cents(line, 1))} are yours once it is here."
            ),
        ],
    )

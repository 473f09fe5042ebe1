"""An order is to go elsewhere, and the customer forgot to say where."""

from palaestra.envs.kit import ask, dialogue, draw_temper
from palaestra.envs.task import Task, call, family
from palaestra.envs.user import Persona, UserFact
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls, decline_calls
from palaestra.envs.worlds.storefront.places import draw_place
from palaestra.envs.worlds.storefront.refusal_changes import send_off
from palaestra.envs.worlds.storefront.replies import send_back_later
from palaestra.envs.worlds.storefront.schema import Order
from palaestra.envs.worlds.storefront.topics import TOPICS
from palaestra.rubrics import expect_change, expect_question, expect_read


@family("storefront/talk-new-address", level=2, traits=("dialogue", "write"), twin=True)
def talk_new_address(desk: Desk) -> Task:
    order = desk.pick(Order, lambda o: o.status == "processing" and desk.plain(o), what="order that has not left")
    customer = desk.customer(order)
    street, city = draw_place(desk)
    bodies = (
        f"I have moved. Please send {order.id} to my new address.",
        f"I will not be at home next week. Please send {order.id} to my parents instead.",
    )
    ticket = desk.ticket(customer, desk.word_subject("redirect-unnamed", "Other delivery address"))
    prompt = desk.mail(ticket, desk.word_body("redirect-unnamed", bodies, order=order.id))
    user = Persona(
        goal=f"You want {order.id} to go to another address.",
        topics=TOPICS,
        facts=(UserFact(topic="address", says=f"It is {street} in {city}."),),
        temper=draw_temper(desk.stream),
        questions=2,
        owed=not desk.twin,
    )
    found = [call("get_order", order_id=order.id), call("get_customer", customer_id=customer.id)]
    if desk.twin:
        gone = send_off(desk, order)
        return dialogue(
            prompt=prompt,
            user=user,
            rubric=[
                expect_read(gone, fields=["status"], id="saw-order"),
                desk.account(customer),
                *desk.expect_declined(ticket, "SHP-2", gone, after=["saw-order", "saw-account"]),
            ],
            oracle=[
                *found,
                call("read_handbook", section_id="SHP-2"),
                *decline_calls(
                    ticket,
                    "SHP-2",
                    gone,
                    f"It has left already, so we cannot redirect it. {send_back_later(desk, gone)}",
                    about="address",
                ),
            ],
        )
    where = {"ship_street": street, "ship_city": city}
    facts = ["saw-order", "saw-account", "asked-address", "read-SHP-2"]
    return dialogue(
        prompt=prompt,
        user=user,
        rubric=[
            expect_read(order, fields=["status"], id="saw-order"),
            desk.account(customer),
            expect_question("address"),
            desk.read("SHP-2"),
            expect_change(order, where, id="address", after=facts),
            *desk.expect_resolved(ticket, after=["address"]),
        ],
        oracle=[
            *found,
            call("read_handbook", section_id="SHP-2"),
            ask("address", "What is the street and the city of the new address?"),
            call("update_shipping_address", order_id=order.id, street=street, city=city),
            *closing_calls(ticket, f"We will send {order.id} to {street}, {city}."),
        ],
    )

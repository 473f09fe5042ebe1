"""The customer will not pay the restocking fee and says so, again and again: the rule stands, and so does the fee."""

from palaestra.envs.kit import amount, dialogue, refuse, tell
from palaestra.envs.task import Task, call, family
from palaestra.envs.user import Persona
from palaestra.envs.worlds.storefront import requests
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.opened_piece import FEE_FACTS, opened_piece, return_opened_piece
from palaestra.envs.worlds.storefront.refusal_changes import clear_out
from palaestra.envs.worlds.storefront.topics import TOPICS
from palaestra.rubrics import expect_message, expect_read, expect_user_message

PLEAS = (
    "A colleague of yours told me on the phone that this would be no problem at all.",
    "I have spent so much money with you. Surely you can make an exception for me.",
    "Then pass me on to your manager, who will see to it.",
    "I will leave a bad review everywhere if you insist on that.",
    "My neighbour got exactly this from you last month.",
)
PUSHES = 3


@family("storefront/talk-hold-the-line", level=3, traits=("dialogue", "arithmetic", "policy-exception"), twin=True)
def talk_hold_the_line(desk: Desk) -> Task:
    piece = opened_piece(desk)
    request = requests.send_back(desk, piece.order, piece.product)
    ticket = desk.ticket(piece.customer, request.subject)
    user = Persona(
        goal=f"You want to send back the {piece.product.name} and get all of your money, without any fee.",
        topics=TOPICS,
        temper=desk.stream.choice(("terse", "heated")),
        contests=("refuse", "inform:fee"),
        pushes=PUSHES,
        pleas=tuple(desk.stream.sample(PLEAS, PUSHES)),
        owed=not desk.twin,
    )
    if not desk.twin:
        talk = [
            tell("fee", f"The package was opened, so a restocking fee of {amount(piece.fee_cents)} is kept."),
            refuse("fee", "The handbook leaves us no room: the fee stands."),
            refuse("fee", "I understand your anger, but we cannot waive the fee."),
            tell("fee", f"The fee of {amount(piece.fee_cents)} is the same for everyone of your tier."),
        ]
        agreed = [
            expect_message("inform:fee", id="told-fee", text="Told the fee, knowing it.", points=5, after=FEE_FACTS),
            expect_user_message("accept", id="agreed", text="Held the line until the customer gave in."),
        ]
        return return_opened_piece(desk, piece, ticket, user, request.body, talk=talk, agreed=agreed)
    product = clear_out(desk, piece.product)
    return dialogue(
        prompt=desk.mail(ticket, request.body),
        user=user,
        rubric=[
            desk.account(piece.customer),
            expect_read(product, fields=["final_sale"], id="saw-product"),
            # What they are told and how it goes on takes the place of telling them once.
            *desk.expect_declined(ticket, "RET-3", product, after=["saw-product", "saw-account"], reply=False),
            expect_message(
                "refuse",
                id="told-why",
                text="Said no to the customer, knowing why.",
                points=10,
                after=["saw-product", "saw-account", "read-RET-3"],
            ),
            expect_user_message("accept", id="heard-out", text="Held the line until the customer gave in.", points=20),
        ],
        oracle=[
            call("get_order", order_id=piece.order.id),
            call("get_customer", customer_id=piece.customer.id),
            call("get_product", product_id=product.id),
            call("read_handbook", section_id="RET-3"),
            call("decline_request", ticket_id=ticket.id, policy_id="RET-3", evidence_id=product.id),
            refuse("return", "It was sold as final sale, so we cannot take it back."),
            refuse("return", "I am sorry, but we make no exceptions for final sale."),
            refuse("return", "A manager would have to say the same: it cannot come back."),
            refuse("return", "Our answer is final: we cannot take it back."),
            call("finish"),
        ],
    )

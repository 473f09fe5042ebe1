"""An opened piece may come back for a fee: the customer is told it first, and may rather keep the piece."""

from palaestra.envs.kit import amount, dialogue, draw_temper, tell
from palaestra.envs.task import Task, call, family
from palaestra.envs.user import Persona, Reaction
from palaestra.envs.worlds.storefront import requests
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls, decline_calls
from palaestra.envs.worlds.storefront.opened_piece import (
    FEE_FACTS,
    fee_calls,
    fee_facts,
    opened_piece,
    return_opened_piece,
)
from palaestra.envs.worlds.storefront.refusal_changes import clear_out
from palaestra.envs.worlds.storefront.topics import TOPICS
from palaestra.rubrics import expect_read, expect_user_message

KEEPS = (
    "That much? Then I would rather keep it. Please leave everything as it is.",
    "For that I will keep it after all.",
)
AGREES = ("That is fair enough. Please go ahead with the return.", "A pity, but go ahead, please.")


@family("storefront/talk-fee-told", level=2, traits=("dialogue", "arithmetic", "policy-exception"), twin=True)
def talk_fee_told(desk: Desk) -> Task:
    piece = opened_piece(desk)
    keeps = desk.stream.chance(50)
    request = requests.send_back(desk, piece.order, piece.product)
    ticket = desk.ticket(piece.customer, request.subject)
    said = "change:keep" if keeps else "accept:fee"
    user = Persona(
        goal=f"You want to send back the {piece.product.name}, but not at any price.",
        topics=TOPICS,
        reactions=(
            Reaction(to="inform:fee", says=desk.stream.choice(KEEPS if keeps else AGREES), said=said, settles=True),
        ),
        temper=draw_temper(desk.stream),
        owed=not desk.twin,
    )
    told = tell("fee", f"The package was opened, so a restocking fee of {amount(piece.fee_cents)} would be kept.")
    answer = expect_user_message(
        said, id="answered", text="Told the customer the fee, and heard what they make of it.", after=FEE_FACTS
    )
    if desk.twin:
        product = clear_out(desk, piece.product)
        return dialogue(
            prompt=desk.mail(ticket, request.body),
            user=user,
            rubric=[
                desk.account(piece.customer),
                expect_read(product, fields=["final_sale"], id="saw-product"),
                *desk.expect_declined(ticket, "RET-3", product, after=["saw-product", "saw-account"]),
            ],
            oracle=[
                call("get_order", order_id=piece.order.id),
                call("get_customer", customer_id=piece.customer.id),
                call("get_product", product_id=product.id),
                call("read_handbook", section_id="RET-3"),
                *decline_calls(
                    ticket, "RET-3", product, "It was sold as final sale, so we cannot take it back.", about="return"
                ),
            ],
        )
    if not keeps:
        return return_opened_piece(desk, piece, ticket, user, request.body, talk=[told], agreed=[answer])
    return dialogue(
        prompt=desk.mail(ticket, request.body),
        user=user,
        rubric=[
            *fee_facts(desk, piece),
            answer,
            *desk.expect_resolved(ticket, after=["answered"]),
        ],
        oracle=[*fee_calls(desk, piece), told, *closing_calls(ticket, "Then we leave everything as it is.")],
    )

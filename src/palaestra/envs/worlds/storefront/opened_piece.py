"""An opened piece that comes back in a dialogue: the fee on it, and the task once its owner has agreed to the fee."""

from collections.abc import Sequence
from dataclasses import dataclass

from palaestra.envs.kit import dialogue, permit_change
from palaestra.envs.task import Task, call
from palaestra.envs.user import Persona
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls
from palaestra.envs.worlds.storefront.lookups import about_goods
from palaestra.envs.worlds.storefront.policy import restocking_fee
from palaestra.envs.worlds.storefront.restocking import explain_fee, restocking_calls
from palaestra.envs.worlds.storefront.schema import Customer, Order, OrderLine, Product, Return, Ticket
from palaestra.records import Json, ToolCall
from palaestra.rubrics import Criterion, expect_read, expect_row


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedPiece:
    """A piece that its buyer has opened and wants to send back, inside its return window."""

    line: OrderLine
    order: Order
    product: Product
    customer: Customer
    paid_cents: int
    fee_cents: int

    @property
    def back(self) -> dict[str, Json]:
        """The arguments with which its return is authorised."""
        return {"line_id": self.line.id, "quantity": 1, "reason": "changed_mind", "fee_cents": self.fee_cents}


def opened_piece(desk: Desk) -> OpenedPiece:
    """A piece on which a restocking fee is due."""

    def fits(line: OrderLine) -> bool:
        opened = line.opened and line.quantity == 1 and not desk.product(line).final_sale
        return opened and desk.returnable(line) and _fee(desk, line) > 0

    line = desk.pick(OrderLine, fits, what="opened piece with a restocking fee")
    order = desk.order(line)
    return OpenedPiece(
        line=line,
        order=order,
        product=desk.product(line),
        customer=desk.customer(order),
        paid_cents=desk.paid_cents(line, 1),
        fee_cents=_fee(desk, line),
    )


def fee_facts(desk: Desk, piece: OpenedPiece) -> list[Criterion]:
    """Expect that the agent found out what the fee on a piece turns on."""
    return [
        expect_read(piece.line, id="saw-line"),
        desk.account(piece.customer),
        expect_read(piece.product, fields=["final_sale"], id="saw-product"),
        desk.delivery(piece.line),
        desk.read("RET-1"),
        desk.read("RET-2"),
    ]


FEE_FACTS = ("saw-line", "saw-account", "saw-product", "knew-delivery", "read-RET-1", "read-RET-2")
"""The ids of `fee_facts`."""


def fee_calls(desk: Desk, piece: OpenedPiece) -> list[ToolCall]:
    """The calls that find out what the fee on a piece is."""
    return [*about_goods(piece.order, piece.line), *restocking_calls(desk, piece.line)]


def return_opened_piece(
    desk: Desk,
    piece: OpenedPiece,
    ticket: Ticket,
    user: Persona,
    body: str,
    *,
    talk: Sequence[ToolCall],
    agreed: Sequence[Criterion],
) -> Task:
    """The task in which a piece comes back once its owner has agreed to the fee.

    Args:
        desk: The desk.
        piece: What comes back.
        ticket: The case.
        user: The customer.
        body: What they write.
        talk: The messages after which they agree.
        agreed: What has to be said and heard before it comes back.
    """
    return dialogue(
        prompt=desk.mail(ticket, body),
        user=user,
        rubric=[
            *fee_facts(desk, piece),
            *agreed,
            expect_row(
                Return,
                {**piece.back, "status": "authorised"},
                id="return",
                after=[*FEE_FACTS, *(criterion.id for criterion in agreed)],
            ),
            *desk.expect_resolved(ticket, after=["return"]),
        ],
        allow=[permit_change(piece.line, "returned")],
        oracle=[
            *fee_calls(desk, piece),
            *talk,
            call("authorise_return", **piece.back),
            *closing_calls(ticket, f"Please send it back. {explain_fee(piece.paid_cents, piece.fee_cents)}"),
        ],
    )


def _fee(desk: Desk, line: OrderLine) -> int:
    tier = desk.customer(desk.order(line)).tier
    return restocking_fee(desk.policy, tier, desk.paid_cents(line, 1), opened=True, change_of_mind=True)

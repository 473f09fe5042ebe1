"""What dialogue tasks share: what can be talked about at the desk, calls that say something, and ways to shut a door.

The last make a refusal twin of a task: one change of the records after which the same request must be refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from palaestra.envs.kit import amount, dialogue, permit_change
from palaestra.envs.task import Task, call
from palaestra.envs.user import Persona
from palaestra.envs.worlds.storefront.consequences import settle_account
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls
from palaestra.envs.worlds.storefront.lookups import about_goods
from palaestra.envs.worlds.storefront.policy import restocking_fee
from palaestra.envs.worlds.storefront.restocking import restocking_calls
from palaestra.envs.worlds.storefront.schema import Customer, Order, OrderLine, Product, Return, Ticket
from palaestra.envs.worlds.storefront.tickets import TICKETS
from palaestra.records import Json, Row, ToolCall
from palaestra.rubrics import Criterion, expect_read, expect_row

TOPICS: Mapping[str, tuple[str, ...]] = {
    "order": (
        "order",
        "order number",
        "number of the order",
        "order id",
        "purchase",
        "purchase number",
        "ord-#",
        "order no",
        "confirmation number",
        "ord number",
        "invoice number",
        "order reference",
        "order code",
        "that number",
        "which number",
        "this number",
        "your purchases",
    ),
    "product": ("product", "item", "article", "piece", "part", "unit", "prd-#", "device", "goods", "model", "thing"),
    "address": (
        "address",
        "street",
        "house number",
        "city",
        "destination",
        "postcode",
        "zip code",
        "postal code",
        "delivered to",
        "deliver it to",
        "ship it to",
        "shipped to",
        "redirect",
        "where * go",
        "where * live",
        "where to",
        "where * delivered",
        "where * send it",
        "goes to",
        "where * sent",
        "where * ship",
        "reroute",
        "where to deliver",
        "where * shipped",
        "where * deliver",
        "where * bring",
        "where * arrive",
        "where do you want",
        "where would you like",
        "where should it be",
        "where to send",
        "where should we send",
        "where should it go",
        "rerouting",
        "rerouted",
        "deliver * to another",
        "delivered to another",
        "redirected",
        "redirecting",
        "where shall we send",
    ),
    "fault": (
        "fault",
        "problem",
        "symptom",
        "defect",
        "broken",
        "cause",
        "error",
        "the issue",
        "an issue",
        "this issue",
        "your issue",
        "issue with",
        "malfunction",
        "go wrong",
        "be wrong",
        "is wrong",
        "happens when",
        "exactly happens",
        "defective",
        "wrong with",
        "failure",
        "fails",
        "failing",
        "stopped working",
        "goes wrong",
        "went wrong",
        "not working",
        "not work",
        "does not start",
        "what happens",
        "what happened",
        "what broke",
        "trouble with",
        "faulty",
        "observe",
        "observed",
        "misbehave",
        "misbehaving",
        "acting up",
        "device does",
        "does or does not",
        "noise",
        "noisy",
        "overheat",
        "turn on",
        "turns on",
        "switch on",
        "switched on",
        "does not do",
        "do not work",
        "damage look",
        "kind of damage",
        "matter with",
        "be the matter",
        "is the matter",
        "device doing",
        "doing wrong",
        "doing that",
        "happening",
        "stop working",
        "gave up",
        "you seeing",
        "you noticing",
        "dropped",
        "liquid",
        "misbehaves",
        "stops working",
        "not start",
        "not charge",
        "symptoms",
        "cracked",
        "sign of life",
        "stay dark",
        "smoke",
        "flicker",
        "flickers",
    ),
    "quantity": (
        "how many",
        "quantity",
        "number of pieces",
        "number of items",
        "number of units",
        "two pieces",
        "three pieces",
        "two units",
        "three units",
        "# pieces",
        "one piece or",
        "one or several",
        "one piece",
        "one unit",
        "just one",
        "one or both",
        "or both",
        "how much of",
        "one or more",
        "# units",
        "two of them",
        "three of them",
        "# of them",
    ),
    "fee": ("fee", "restocking fee", "deduction", "restocking charge", "return charge", "handling charge", "surcharge"),
    "refund": (
        "refund",
        "refunded",
        "refunding",
        "money back",
        "reimbursement",
        "reimburse",
        "reimbursed",
        "reimbursing",
        "your money",
        "will be released",
        "back to your card",
        "back on your card",
        "transferred",
        "paid out",
        "pay * back",
        "paid back",
        "money",
        "credited",
        "card",
        "paying * back",
        "went back to you",
        "goes back to you",
        "paid to you",
        "refundable",
        "non-refundable",
        "pay you back",
        "on your card",
    ),
    "return": (
        "return",
        "returned",
        "returning",
        "send * back",
        "sending * back",
        "sent * back",
        "take * back",
        "taking * back",
        "taken back",
        "taken * back",
        "come back",
        "mail * back",
        "post * back",
        "ship * back",
        "send back",
        "sending back",
        "take back",
        "accept * back",
        "accepting * back",
        "accepted back",
        "give * back",
        "giving * back",
        "coming back",
        "bring * back",
        "returnable",
        "non-returnable",
        "hand * back",
    ),
    "replacement": (
        "replacement",
        "replace",
        "replaced",
        "replacing",
        "new one",
        "exchange",
        "exchanged",
        "exchanging",
        "swap",
        "swapped",
        "swapping",
        "another one",
        "new unit",
        "new device",
        "substitute",
    ),
    "repair": (
        "repair",
        "repaired",
        "repairing",
        "fix",
        "get it fixed",
        "have it fixed",
        "be fixed",
        "fixing",
        "mend",
        "mended",
    ),
    "cancellation": (
        "cancellation",
        "cancel",
        "cancelled",
        "cancelling",
        "canceled",
        "canceling",
        "cancelation",
        "call * off",
        "called off",
        "stop the order",
        "stop your order",
        "be stopped",
        "calling * off",
    ),
    "account": (
        "account",
        "e-mail",
        "email",
        "e-mail address",
        "email address",
        "mail address",
        "mailbox",
        "sender",
        "registered with",
        "register with",
        "registered address",
        "signed up with",
        "personal data",
        "customer data",
        "account holder",
        "registered one",
        "usual address",
        "customer profile",
        "your profile",
        "address on file",
        "address on record",
        "address stored",
        "address we hold",
        "address is not on your account",
        "third party",
    ),
}
"""Topics, each with the words that name it."""


def declined(ticket: Ticket, section: str, evidence: Row, about: str, message: str) -> list[ToolCall]:
    """The calls that end a case by declining it."""
    return TICKETS.decline_calls(ticket, section, evidence, message, about=about)


# Shutting a door


def send_off(desk: Desk, order: Order) -> Order:
    """The order has left the warehouse, so that it can be neither changed nor cancelled (SHP-2)."""
    left = max(order.placed.date(), desk.today - timedelta(days=1))
    for parcel in desk.shipments(order):
        due = max(parcel.due, desk.today + timedelta(days=1))
        desk.state.update(parcel, status="in_transit", shipped=left, last_scan=left, due=due)
    for payment in desk.payments(order):
        desk.state.update(payment, status="captured")
    settle_account(desk, order.customer_id)
    return desk.state.update(order, status="shipped")


def clear_out(desk: Desk, product: Product) -> Product:
    """The product was sold as clearance goods, so that nobody may send it back for a change of mind (RET-3)."""
    return desk.state.update(product, final_sale=True)


def estrange(desk: Desk, customer: Customer) -> Customer:
    """The account has another address on file than the one that wrote, so that nothing may be done (PRV-1)."""
    name, _, domain = customer.email.partition("@")
    return desk.state.update(customer, email=f"{name}.{desk.today.year}@{domain}")


# An opened piece that comes back


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
        paid_cents=desk.paid(line, 1),
        fee_cents=_fee(desk, line),
    )


def fee_facts(desk: Desk, piece: OpenedPiece) -> list[Criterion]:
    """Expect that the agent found out what the fee on a piece turns on."""
    return [
        expect_read(piece.line, id="saw-line"),
        desk.account(piece.customer),
        expect_read(piece.product, id="saw-product"),
        desk.delivery(piece.line),
        desk.read("RET-1"),
        desk.read("RET-2"),
    ]


FEE_FACTS = ("saw-line", "saw-account", "saw-product", "knew-delivery", "read-RET-1", "read-RET-2")
"""The ids of `fee_facts`."""


def fee_calls(desk: Desk, piece: OpenedPiece) -> list[ToolCall]:
    """The calls that find out what the fee on a piece is."""
    return [*about_goods(piece.order, piece.line), *restocking_calls(desk, piece.line)]


def taken_back(
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
            *desk.resolved(ticket, after=["return"]),
        ],
        allow=[permit_change(piece.line, "returned")],
        oracle=[
            *fee_calls(desk, piece),
            *talk,
            call("authorise_return", **piece.back),
            *closing_calls(
                ticket, f"Please send it back. {amount(piece.paid_cents - piece.fee_cents)} are yours once it is here."
            ),
        ],
    )


def _fee(desk: Desk, line: OrderLine) -> int:
    tier = desk.customer(desk.order(line)).tier
    return restocking_fee(desk.policy, tier, desk.paid(line, 1), opened=True, change_of_mind=True)

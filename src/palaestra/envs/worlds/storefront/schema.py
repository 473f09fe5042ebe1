"""The seventeen entity types of the Storefront world: a PC-hardware retailer's records.

Money is integer euro cents. Dates are naive; timestamps are UTC. Every row's `id` is its key.
"""

from datetime import date, datetime
from typing import Annotated, ClassVar, Literal, TypeAlias

from palaestra.envs.kit import Section
from palaestra.envs.state import Schema
from palaestra.record import record
from palaestra.records import ANY_TABLE, References, Row, Searchable

CustomerId: TypeAlias = Annotated[str, References("customers")]
EmployeeId: TypeAlias = Annotated[str, References("employees")]
ProductId: TypeAlias = Annotated[str, References("products")]
BuildId: TypeAlias = Annotated[str, References("builds")]
OrderId: TypeAlias = Annotated[str, References("orders")]
LineId: TypeAlias = Annotated[str, References("order_lines")]
PaymentId: TypeAlias = Annotated[str, References("payments")]
ShipmentId: TypeAlias = Annotated[str, References("shipments")]
ReturnId: TypeAlias = Annotated[str, References("returns")]
TicketId: TypeAlias = Annotated[str, References("tickets")]
PromotionCode: TypeAlias = Annotated[str, References("promotions")]
SectionId: TypeAlias = Annotated[str, References("handbook")]

Tier: TypeAlias = Literal["bronze", "silver", "gold", "platinum"]
Category: TypeAlias = Literal[
    "cpu", "motherboard", "memory", "gpu", "storage", "psu", "case", "cooler", "monitor", "keyboard", "mouse"
]
Team: TypeAlias = Literal["support", "finance", "warranty", "fraud", "warehouse"]
EmployeeRank: TypeAlias = Literal["agent", "supervisor", "manager"]
RefundReason: TypeAlias = Literal["damaged", "faulty", "wrong_item", "changed_mind", "lost", "billing_error"]
ReturnReason: TypeAlias = Literal["damaged", "faulty", "wrong_item", "changed_mind"]
CreditReason: TypeAlias = Literal["price_match", "delay", "missed_promotion", "goodwill"]
Fault: TypeAlias = Literal["dead", "intermittent", "noise", "overheating", "display", "physical_damage"]


@record
class Customer(Row):
    """A person with an account. `tier` follows `lifetime_cents` by the thresholds of handbook LOY-1."""

    table: ClassVar[str] = "customers"
    prefix: ClassVar[str] = ""
    name: Annotated[str, Searchable()]
    email: Annotated[str, Searchable()]
    phone: str
    street: str
    city: Annotated[str, Searchable()]
    joined: date
    tier: Tier
    lifetime_cents: int
    """What the customer paid in the 24 months before the world begins, net of refunds."""
    credit_cents: int
    """Store credit."""
    fraud_hold: bool


@record
class Employee(Row):
    """A colleague. `approval_limit_cents` is the largest refund that they may approve."""

    table: ClassVar[str] = "employees"
    prefix: ClassVar[str] = ""
    name: Annotated[str, Searchable()]
    email: str
    team: Annotated[Team, Searchable()]
    rank: Annotated[EmployeeRank, Searchable()]
    approval_limit_cents: int
    on_leave: bool


@record
class Product(Row):
    """A part on sale. Columns that mean nothing for its category are empty or zero."""

    table: ClassVar[str] = "products"
    prefix: ClassVar[str] = ""
    name: Annotated[str, Searchable()]
    brand: Annotated[str, Searchable()]
    category: Annotated[Category, Searchable()]
    price_cents: int
    stock: int
    warranty_months: int
    final_sale: bool
    """Clearance goods: no return for a change of mind."""
    socket: str
    """CPU and motherboard (and cooler: the sockets that it fits, separated by spaces)."""
    memory_type: str
    """Memory and motherboard: DDR4 or DDR5."""
    form_factor: str
    """Motherboard and case: ATX, mATX or ITX; a case takes its own and smaller."""
    watts: int
    """What the part draws; for a power supply, what it gives."""
    length_mm: int
    """GPU: its length; case: the longest GPU that it takes."""


@record
class Build(Row):
    """A custom PC that a customer has put together; `None` where a part is still missing."""

    table: ClassVar[str] = "builds"
    prefix: ClassVar[str] = "BLD-"
    customer_id: CustomerId
    name: Annotated[str, Searchable()]
    status: Literal["draft", "ordered"]
    cpu_id: ProductId
    motherboard_id: ProductId
    memory_id: ProductId
    gpu_id: ProductId | None
    storage_id: ProductId
    psu_id: ProductId
    case_id: ProductId
    cooler_id: ProductId


@record
class Order(Row):
    """An order. subtotal - discount + shipping = total."""

    table: ClassVar[str] = "orders"
    prefix: ClassVar[str] = "ORD-"
    customer_id: CustomerId
    placed: datetime
    status: Literal["processing", "shipped", "delivered", "cancelled"]
    build_id: BuildId | None
    promotion_code: PromotionCode | None
    subtotal_cents: int
    discount_cents: int
    shipping_cents: int
    total_cents: int
    ship_street: str
    ship_city: str


@record
class OrderLine(Row):
    """One product of an order."""

    table: ClassVar[str] = "order_lines"
    prefix: ClassVar[str] = "LIN-"
    order_id: OrderId
    product_id: ProductId
    product_name: str
    """The product's name, so that a line can be told from another by what a customer writes."""
    quantity: int
    unit_cents: int
    """The list price paid for one, before the order's discount."""
    returned: int
    """How many of `quantity` have been refunded or returned."""
    opened: bool
    """Whether the customer has told us that the package was opened."""


@record
class Payment(Row):
    """A charge against an order."""

    table: ClassVar[str] = "payments"
    prefix: ClassVar[str] = "PAY-"
    order_id: OrderId
    method: Literal["card", "paypal", "bank_transfer", "store_credit"]
    status: Literal["authorised", "captured", "voided"]
    amount_cents: int
    refunded_cents: int
    charged: datetime


@record
class Shipment(Row):
    """A parcel. `delivered` is set once it arrived; `due` is what the customer was told."""

    table: ClassVar[str] = "shipments"
    prefix: ClassVar[str] = "SHP-"
    order_id: OrderId
    carrier: Annotated[str, Searchable()]
    tracking: Annotated[str, References(ANY_TABLE), Searchable()]
    status: Literal["preparing", "in_transit", "delivered", "lost"]
    shipped: date | None
    due: date
    last_scan: date | None
    delivered: date | None
    replaces: Annotated[str, References("shipments")] | None
    """The lost shipment that this one replaces."""


@record
class Refund(Row):
    """Money given back. A refund over the agent's limit waits for `approver_id`."""

    table: ClassVar[str] = "refunds"
    prefix: ClassVar[str] = "RFD-"
    order_id: OrderId
    line_id: LineId | None
    payment_id: PaymentId
    quantity: int
    amount_cents: int
    reason: RefundReason
    status: Literal["paid", "pending_approval"]
    approver_id: EmployeeId | None
    created: datetime


@record
class Return(Row):
    """An authorised return: the customer sends goods back, then gets `refund_due_cents`."""

    table: ClassVar[str] = "returns"
    prefix: ClassVar[str] = "RMA-"
    order_id: OrderId
    line_id: LineId
    quantity: int
    reason: ReturnReason
    fee_cents: int
    refund_due_cents: int
    status: Literal["authorised", "cancelled", "received"]
    created: datetime


@record
class Ticket(Row):
    """A customer's case, and how it ended."""

    table: ClassVar[str] = "tickets"
    prefix: ClassVar[str] = "TCK-"
    customer_id: CustomerId
    subject: Annotated[str, Searchable()]
    opened: datetime
    status: Literal["open", "resolved", "declined", "escalated"]
    priority: Literal["low", "normal", "high"]
    team: Team
    policy_id: SectionId | None
    """The handbook section on whose grounds the request was declined or escalated."""
    evidence_id: Annotated[str, References(ANY_TABLE)] | None
    """The record that shows those grounds."""


@record
class WarrantyClaim(Row):
    """A fault under warranty."""

    table: ClassVar[str] = "warranty_claims"
    prefix: ClassVar[str] = "CLM-"
    line_id: LineId
    fault: Fault
    remedy: Literal["replace", "repair"]
    status: Literal["open", "closed", "withdrawn"]
    opened: datetime


@record
class Promotion(Row):
    """A discount code; its id is the code."""

    table: ClassVar[str] = "promotions"
    prefix: ClassVar[str] = ""
    percent: int
    category: Category | None
    """The only category that it applies to; `None` for all."""
    starts: date
    ends: date
    """The last day on which it holds."""
    minimum_cents: int
    """The smallest subtotal of goods, before any discount, that earns it."""


@record
class CompetitorOffer(Row):
    """What another shop asks for a product, as our price watch saw it."""

    table: ClassVar[str] = "competitor_offers"
    prefix: ClassVar[str] = ""
    product_id: ProductId
    shop: Annotated[str, Searchable()]
    price_cents: int
    in_stock: bool
    seen: date


@record
class Credit(Row):
    """Store credit given to a customer, and why."""

    table: ClassVar[str] = "credits"
    prefix: ClassVar[str] = "CRD-"
    customer_id: CustomerId
    order_id: OrderId
    amount_cents: int
    reason: CreditReason
    created: datetime


@record
class InternalMessage(Row):
    """A note from one employee to another."""

    table: ClassVar[str] = "internal_messages"
    prefix: ClassVar[str] = "MSG-"
    sender_id: EmployeeId
    recipient_id: EmployeeId
    ticket_id: TicketId | None
    body: Annotated[str, Searchable()]
    sent: datetime


SCHEMA = Schema(
    Customer,
    Employee,
    Product,
    Build,
    Order,
    OrderLine,
    Payment,
    Shipment,
    Refund,
    Return,
    Ticket,
    WarrantyClaim,
    Promotion,
    Section,
    CompetitorOffer,
    Credit,
    InternalMessage,
)

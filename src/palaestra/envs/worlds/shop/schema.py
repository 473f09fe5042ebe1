"""The ten tables of the Shop world: what the shop sells, one customer's account, and what they ask for.

Products, vouchers, customers and returns are the Storefront's row classes. Money is integer euro cents.
"""

from datetime import date, datetime
from typing import Annotated, ClassVar, Literal, TypeAlias

from palaestra.envs.kit import CaseRow, Section
from palaestra.envs.state import Schema
from palaestra.envs.worlds.storefront.schema import (
    Category,
    Customer,
    CustomerId,
    OrderId,
    Product,
    ProductId,
    Promotion,
    PromotionCode,
    Return,
)
from palaestra.record import record
from palaestra.records import References, Row, Searchable

VariantId: TypeAlias = Annotated[str, References("variants")]
Colour: TypeAlias = Literal["black", "white", "silver", "blue"]
Delivery: TypeAlias = Literal["standard", "express"]
PaymentMethod: TypeAlias = Literal["card", "paypal", "bank_transfer"]


@record
class Variant(Row):
    """A product in one colour and edition, as it is sold."""

    table: ClassVar[str] = "variants"
    prefix: ClassVar[str] = "VAR-"
    product_id: ProductId
    name: Annotated[str, Searchable()]
    brand: Annotated[str, Searchable()]
    category: Annotated[Category, Searchable()]
    colour: Annotated[Colour, Searchable()]
    edition: Annotated[str, Searchable()]
    """What else is chosen, such as a keyboard's layout."""
    price_cents: int
    stock: int
    lead_days: int
    """Days from the order to the day on which it is sent."""
    rating: int
    """The mean of its reviews in tenths of a star, 10 to 50."""


@record
class ShopOrder(Row):
    """An order of the account. subtotal - discount + shipping = total."""

    table: ClassVar[str] = "orders"
    prefix: ClassVar[str] = "ORD-"
    customer_id: CustomerId
    placed: datetime
    status: Literal["processing", "shipped", "delivered", "cancelled"]
    delivery: Delivery
    payment: PaymentMethod
    promotion_code: PromotionCode | None
    subtotal_cents: int
    discount_cents: int
    shipping_cents: int
    total_cents: int
    ship_street: str
    ship_city: str
    due: date
    """The day on which it should arrive."""
    delivered: date | None


@record
class BasketLine(Row):
    """Pieces of one variant: in the basket, or in the order that was made of it."""

    table: ClassVar[str] = "order_lines"
    prefix: ClassVar[str] = "LIN-"
    customer_id: CustomerId
    order_id: OrderId | None
    """`None` while it is in the basket."""
    variant_id: VariantId
    product_name: str
    quantity: int
    unit_cents: int
    returned: int


@record
class Checkout(Row):
    """What the next order will go by; the choices stay for the one after it."""

    table: ClassVar[str] = "checkouts"
    prefix: ClassVar[str] = "CHK-"
    customer_id: CustomerId
    ship_street: str
    ship_city: str
    delivery: Delivery | None
    payment: PaymentMethod | None
    promotion_code: PromotionCode | None


@record
class Errand(CaseRow):
    """What the customer asks their shopping assistant for."""

    table: ClassVar[str] = "errands"
    prefix: ClassVar[str] = "ERR-"
    customer_id: CustomerId
    team: Literal["assistant", "family"]


SCHEMA = Schema(Customer, Product, Variant, Promotion, ShopOrder, BasketLine, Checkout, Return, Errand, Section)

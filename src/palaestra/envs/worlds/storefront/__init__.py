"""The Storefront world: the support desk of a PC-hardware retailer. What a task file needs is named here.

Importing this populates nothing; `gymnasium.make("palaestra/Storefront-v0")` does.
"""

from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront.desk import Desk, closing, declining, told, touches
from palaestra.envs.worlds.storefront.policy import POLICY, Policy
from palaestra.envs.worlds.storefront.schema import (
    Build,
    CompetitorOffer,
    Credit,
    Customer,
    Employee,
    InternalMessage,
    Order,
    OrderLine,
    Payment,
    Product,
    Promotion,
    Refund,
    Return,
    Section,
    Shipment,
    Ticket,
    WarrantyClaim,
)
from palaestra.envs.worlds.storefront.twins import Grounds, refused, refused_order
from palaestra.rubrics import Allowance, Criterion, answered, called, changed, created, either, listed, never, saw

__all__ = [
    "POLICY",
    "Allowance",
    "Build",
    "CompetitorOffer",
    "Credit",
    "Criterion",
    "Customer",
    "Desk",
    "Employee",
    "Grounds",
    "InternalMessage",
    "Order",
    "OrderLine",
    "Payment",
    "Policy",
    "Product",
    "Promotion",
    "Refund",
    "Return",
    "Section",
    "Shipment",
    "Task",
    "Ticket",
    "WarrantyClaim",
    "answered",
    "call",
    "called",
    "changed",
    "closing",
    "created",
    "declining",
    "either",
    "family",
    "listed",
    "never",
    "refused",
    "refused_order",
    "saw",
    "told",
    "touches",
]

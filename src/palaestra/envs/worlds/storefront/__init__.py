"""The Storefront world: the support desk of a PC-hardware retailer. What a task file needs is named here.

Importing this populates nothing; `gymnasium.make("palaestra/Storefront-v0")` does.
"""

from palaestra.envs.kit import RefusalCondition, Section, refused, touches
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront.desk import Desk, closing, declining
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
    Shipment,
    Ticket,
    WarrantyClaim,
)
from palaestra.envs.worlds.storefront.twins import refused_order
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
    "InternalMessage",
    "Order",
    "OrderLine",
    "Payment",
    "Policy",
    "Product",
    "Promotion",
    "Refund",
    "RefusalCondition",
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
    "touches",
]

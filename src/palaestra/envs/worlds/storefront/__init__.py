"""The Storefront world: the support desk of a PC-hardware retailer. What a task file needs is named here.

Importing this populates nothing; `gymnasium.make("palaestra/Storefront-v0")` does.
"""

from palaestra.envs.kit import RefusalCondition, Section, permit_change, refusal_task
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls, decline_calls
from palaestra.envs.worlds.storefront.policy import POLICY, StorePolicy
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
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.rubrics import (
    Allowance,
    Criterion,
    expect_answer,
    expect_any,
    expect_call,
    expect_change,
    expect_read,
    expect_row,
    forbid_call,
)

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
    "Product",
    "Promotion",
    "Refund",
    "RefusalCondition",
    "Return",
    "Section",
    "Shipment",
    "StorePolicy",
    "Task",
    "Ticket",
    "WarrantyClaim",
    "call",
    "closing_calls",
    "decline_calls",
    "expect_answer",
    "expect_any",
    "expect_call",
    "expect_change",
    "expect_read",
    "expect_row",
    "family",
    "forbid_call",
    "order_refusal_task",
    "permit_change",
    "refusal_task",
]

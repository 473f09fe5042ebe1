"""The Storefront's cases: tickets of customers."""

from palaestra.envs.kit import CaseType
from palaestra.envs.worlds.storefront.schema import SCHEMA, Customer, Ticket

TICKETS = CaseType(
    kind=Ticket,
    requester=Customer,
    team="support",
    example="TCK-1042",
    evidence=tuple(info.kind for info in SCHEMA),
    evidence_text="an order, an order line or a customer",
)
"""How tickets are called and who deals with them."""

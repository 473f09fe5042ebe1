"""A customer: account and address, and in tabs orders, tickets, builds and credits."""

from palaestra.envs.surfaces.pages.routes import PageRequest, find_row
from palaestra.envs.surfaces.pages.tree import PageElement
from palaestra.envs.worlds.storefront.site.layout import RowTab, draw_actions, draw_group, draw_tabs

CUSTOMER_TABS = (
    RowTab(table="orders", column="customer_id", label="Orders", columns=("placed",)),
    RowTab(table="tickets", column="customer_id", label="Tickets", columns=("subject", "opened")),
    RowTab(table="builds", column="customer_id", label="Builds", columns=("name",)),
    RowTab(table="credits", column="customer_id", label="Credits"),
)
"""The tabs of a customer."""


def draw_customer(request: PageRequest) -> tuple[str, list[PageElement]]:
    """The page of a customer.

    Raises:
        ToolRefusal: there is no such customer or tab.
    """
    customer = find_row(request, "customers")
    account = {
        "id": "Customer",
        "name": "Name",
        "tier": "Tier",
        "lifetime_cents": "Paid in 24 months",
        "credit_cents": "Store credit",
        "fraud_hold": "Fraud hold",
        "joined": "Joined",
    }
    contact = {"email": "E-mail", "phone": "Phone", "street": "Street", "city": "City"}
    return f"Customer {customer.id}", [
        *draw_group(request, customer, f"Customer {customer.id}", account),
        *draw_group(request, customer, "Contact", contact),
        *draw_tabs(request, customer, CUSTOMER_TABS),
        *draw_actions(request),
    ]

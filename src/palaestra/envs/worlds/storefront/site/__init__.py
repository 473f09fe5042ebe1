"""The back office: pages that people at the desk would work with, in place of the generated ones."""

from palaestra.envs.surfaces.pages.routes import ANY_STEP, Route
from palaestra.envs.worlds.storefront.site.customer import CUSTOMER_TABS, draw_customer
from palaestra.envs.worlds.storefront.site.dashboard import draw_dashboard
from palaestra.envs.worlds.storefront.site.handbook import draw_section
from palaestra.envs.worlds.storefront.site.layout import look_up_tab
from palaestra.envs.worlds.storefront.site.order import ORDER_TABS, draw_order
from palaestra.envs.worlds.storefront.site.ticket import TICKET_TABS, draw_ticket

__all__ = ["BACK_OFFICE", "REVIEWED"]

BACK_OFFICE = (
    Route(pattern=(), draw=draw_dashboard),
    Route(pattern=("tickets", ANY_STEP), draw=draw_ticket, look_up=look_up_tab(TICKET_TABS)),
    Route(pattern=("orders", ANY_STEP), draw=draw_order, look_up=look_up_tab(ORDER_TABS)),
    Route(pattern=("customers", ANY_STEP), draw=draw_customer, look_up=look_up_tab(CUSTOMER_TABS)),
    Route(pattern=("handbook", ANY_STEP), draw=draw_section),
)
"""The pages made by hand."""
REVIEWED = ("authorise_return", "give_credit", "issue_refund", "refund_payment", "request_refund_approval")
"""Actions that move money or goods: their forms are reviewed before they are sent."""

"""A ticket: who asks, how it stands, in tabs what colleagues wrote about it, and the thread of its mails."""

from collections.abc import Iterator, Sequence

from palaestra.envs.surfaces.pages.pieces import row_element
from palaestra.envs.surfaces.pages.routes import PageRequest, find_row
from palaestra.envs.surfaces.pages.session import ThreadMessage
from palaestra.envs.surfaces.pages.tree import PageElement
from palaestra.envs.worlds.storefront.schema import Ticket
from palaestra.envs.worlds.storefront.site.layout import RowTab, draw_actions, draw_group, draw_tabs
from palaestra.records import Row

TICKET_TABS = (
    RowTab(table="internal_messages", column="ticket_id", label="Internal messages", columns=("sent", "sender_id")),
)
"""The tabs of a ticket."""


def draw_ticket(request: PageRequest) -> tuple[str, list[PageElement]]:
    """The page of a ticket.

    Raises:
        ToolRefusal: there is no such ticket or tab.
    """
    ticket = find_row(request, "tickets")
    assert isinstance(ticket, Ticket), "it is of the tickets"
    facts = {
        "id": "Ticket",
        "subject": "Subject",
        "status": "Status",
        "priority": "Priority",
        "team": "Team",
        "opened": "Opened",
        "customer_id": "Customer",
        "policy_id": "Closed on the grounds of",
        "evidence_id": "Evidence",
    }
    info = request.schema["customers"]
    customer: Row | None = request.state.peek(info.kind, ticket.customer_id)
    asks = () if customer is None else (row_element(info, customer, columns=("name", "email")),)
    return f"Ticket {ticket.id}", [
        *draw_group(request, ticket, f"Ticket {ticket.id}", facts),
        PageElement(role="table", name="Who asks", children=asks),
        *draw_tabs(request, ticket, TICKET_TABS),
        *draw_actions(request),
        *_draw_thread(request.thread, ticket),
    ]


def _draw_thread(thread: Sequence[ThreadMessage], ticket: Ticket) -> Iterator[PageElement]:
    """The mails of a ticket, if the request names it; the others' were answered long ago."""
    if thread and ticket.id in thread[0].text:
        yield PageElement(role="heading", name="Thread")
        for message in thread:
            yield PageElement(role="text", value=f"{'You' if message.by_agent else 'Customer'}: {message.text}")

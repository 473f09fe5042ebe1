"""Tools about customers, colleagues, the handbook and cases: reading them."""

from typing import Literal

from palaestra.envs.worlds.storefront.schema import (
    Credit,
    Customer,
    CustomerId,
    Employee,
    Rank,
    Section,
    SectionId,
    Team,
    Ticket,
    TicketId,
)
from palaestra.envs.worlds.storefront.tools.listing import page
from palaestra.tools import ToolContext, tool

Cursor = str | None


@tool()
def search_customers(context: ToolContext, query: str, cursor: Cursor = None) -> object:
    """Find customers by words of their name, e-mail address or city. At most ten are listed at a time.

    Args:
        query: Words that must all occur, such as "ana lyon" or an e-mail address.
        cursor: The next_cursor of the answer to continue.
    """
    found = context.state.search(Customer, query)
    return page(context, found, cursor, lambda c: {"name": c.name, "email": c.email, "city": c.city})


@tool()
def get_customer(context: ToolContext, customer_id: CustomerId) -> object:
    """Show a customer's account: contact, address, tier, store credit, fraud hold.

    Args:
        customer_id: The customer's id, such as CUS-1042.
    """
    customer = context.state.get(Customer, customer_id)
    context.show(customer)
    return customer


@tool()
def get_credits(context: ToolContext, customer_id: CustomerId) -> object:
    """List the store credit that a customer was given, and why.

    Args:
        customer_id: The customer's id.
    """
    context.state.get(Customer, customer_id)
    given = context.state.find(Credit, customer_id=customer_id)
    context.show(*given)
    return {"credits": given}


@tool()
def search_employees(
    context: ToolContext, team: Team | None = None, rank: Rank | None = None, cursor: Cursor = None
) -> object:
    """List colleagues, with what they may approve and whether they are on leave.

    Args:
        team: Only this team.
        rank: Only this rank.
        cursor: The next_cursor of the answer to continue.
    """
    wanted = {name: value for name, value in (("team", team), ("rank", rank)) if value is not None}
    found = context.state.find(Employee, **wanted)
    return page(
        context,
        found,
        cursor,
        lambda e: {
            "name": e.name,
            "team": e.team,
            "rank": e.rank,
            "approval_limit_cents": e.approval_limit_cents,
            "on_leave": e.on_leave,
        },
    )


@tool()
def search_handbook(context: ToolContext, query: str, cursor: Cursor = None) -> object:
    """Find handbook sections by words of their title or text. Only titles are listed; read a section to see it.

    Args:
        query: Words that must all occur, such as "restocking fee".
        cursor: The next_cursor of the answer to continue.
    """
    return page(context, context.state.search(Section, query), cursor, lambda s: {"title": s.title})


@tool(latency=30)
def read_handbook(context: ToolContext, section_id: SectionId) -> object:
    """Read one section of the company handbook.

    Args:
        section_id: The section's number, such as RET-1. `search_handbook` finds it.
    """
    section = context.state.get(Section, section_id)
    context.show(section)
    return section


@tool()
def get_ticket(context: ToolContext, ticket_id: TicketId) -> object:
    """Show a ticket: whose it is, its subject, its status, and the grounds on which it was closed.

    Args:
        ticket_id: The ticket's id, such as TCK-1042.
    """
    ticket = context.state.get(Ticket, ticket_id)
    context.show(ticket)
    if ticket.evidence_id is not None:
        context.mention(ticket.evidence_id)
    return ticket


@tool()
def search_tickets(
    context: ToolContext,
    customer_id: CustomerId,
    status: Literal["open", "resolved", "declined", "escalated"] | None = None,
    cursor: Cursor = None,
) -> object:
    """List a customer's tickets.

    Args:
        customer_id: The customer's id.
        status: Only tickets of this status.
        cursor: The next_cursor of the answer to continue.
    """
    context.state.get(Customer, customer_id)
    found = context.state.find(Ticket, customer_id=customer_id)
    found = [t for t in found if status is None or t.status == status]
    return page(context, found, cursor, lambda t: {"subject": t.subject, "status": t.status})


TOOLS = (
    search_customers,
    get_customer,
    get_credits,
    search_employees,
    search_handbook,
    read_handbook,
    get_ticket,
    search_tickets,
)

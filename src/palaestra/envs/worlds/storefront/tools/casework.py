"""Tools that end a case or pass it on: tickets, accounts, notes to colleagues."""

from typing import Annotated, Literal

from pydantic import Field

from palaestra.envs.worlds.storefront.schema import (
    SCHEMA,
    Customer,
    CustomerId,
    Employee,
    EmployeeId,
    InternalMessage,
    Product,
    ProductId,
    Section,
    SectionId,
    Team,
    Ticket,
    TicketId,
)
from palaestra.envs.worlds.storefront.tools.fulfilment import Text
from palaestra.errors import ToolRefusal
from palaestra.records import ANY_TABLE, Prose, References
from palaestra.tools import ToolContext, tool

RecordId = Annotated[str, References(ANY_TABLE)]


@tool(writes=True, closes="done")
def resolve_ticket(context: ToolContext, ticket_id: TicketId) -> object:
    """Close a ticket as resolved: the customer got what the policy gives them.

    Args:
        ticket_id: The ticket's id.
    """
    return _close(context, ticket_id, "resolved", None, None)


@tool(writes=True, closes="declined")
def decline_request(context: ToolContext, ticket_id: TicketId, policy_id: SectionId, evidence_id: RecordId) -> object:
    """Close a ticket as declined: the policy does not give the customer what they ask for.

    Args:
        ticket_id: The ticket's id.
        policy_id: The handbook section on whose grounds you decline.
        evidence_id: The record that shows those grounds, such as an order, an order line or a customer.
    """
    _check_grounds(context, policy_id, evidence_id)
    return _close(context, ticket_id, "declined", policy_id, evidence_id)


@tool(writes=True, closes="handed on")
def escalate_ticket(
    context: ToolContext,
    ticket_id: TicketId,
    team: Team,
    priority: Literal["low", "normal", "high"],
    policy_id: SectionId,
    evidence_id: RecordId,
) -> object:
    """Hand a ticket over to another team.

    Args:
        ticket_id: The ticket's id.
        team: The team that takes over.
        priority: How urgent it is.
        policy_id: The handbook section that asks for it.
        evidence_id: The record that shows why.
    """
    _check_grounds(context, policy_id, evidence_id)
    if team == "support":
        raise ToolRefusal("same_team", "the ticket is with support already; name another team")
    closed = _close(context, ticket_id, "escalated", policy_id, evidence_id)
    handed = context.state.update(closed, team=team, priority=priority)
    context.show(handed)
    return handed


@tool(writes=True)
def reopen_ticket(context: ToolContext, ticket_id: TicketId) -> object:
    """Open a closed ticket again.

    Args:
        ticket_id: The ticket's id.
    """
    ticket = context.state.get(Ticket, ticket_id)
    if ticket.status == "open":
        raise ToolRefusal("already_open", f"{ticket_id} is open")
    reopened = context.state.update(
        ticket, status="open", team="support", priority="normal", policy_id=None, evidence_id=None
    )
    context.show(reopened)
    return reopened


@tool(writes=True)
def update_customer(
    context: ToolContext,
    customer_id: CustomerId,
    email: Annotated[str, Field(min_length=5, max_length=80)] | None = None,
    phone: Annotated[str, Field(min_length=5, max_length=30)] | None = None,
    street: Text | None = None,
    city: Text | None = None,
) -> object:
    """Change a customer's contact data. What is left out stays.

    Args:
        customer_id: The customer's id.
        email: The new e-mail address.
        phone: The new telephone number.
        street: Street and number.
        city: City.
    """
    customer = context.state.get(Customer, customer_id)
    given = {"email": email, "phone": phone, "street": street, "city": city}
    wanted = {name: value for name, value in given.items() if value is not None}
    if not wanted:
        raise ToolRefusal("nothing_to_change", "name at least one of email, phone, street and city")
    if email is not None and any(c.id != customer_id for c in context.state.find(Customer, email=email)):
        raise ToolRefusal("email_taken", f"{email} belongs to another account")
    changed = context.state.update(customer, **wanted)
    context.show(changed)
    return changed


@tool(writes=True, roles=("fraud",))
def lift_fraud_hold(context: ToolContext, customer_id: CustomerId) -> object:
    """Lift the fraud hold on an account.

    Args:
        customer_id: The customer's id.
    """
    return context.state.update(context.state.get(Customer, customer_id), fraud_hold=False)


@tool(writes=True, roles=("warehouse",))
def adjust_stock(context: ToolContext, product_id: ProductId, stock: Annotated[int, Field(ge=0, le=100_000)]) -> object:
    """Correct how many pieces of a product are on the shelf.

    Args:
        product_id: The product's id.
        stock: The pieces counted.
    """
    return context.state.update(context.state.get(Product, product_id), stock=stock)


@tool(writes=True)
def send_internal_message(
    context: ToolContext,
    recipient_id: EmployeeId,
    body: Annotated[str, Prose()],
    ticket_id: TicketId | None = None,
) -> object:
    """Write a note to a colleague.

    Args:
        recipient_id: The colleague's id.
        body: What you tell them.
        ticket_id: The ticket that it is about.
    """
    context.state.get(Employee, recipient_id)
    if ticket_id is not None:
        context.state.get(Ticket, ticket_id)
    message = InternalMessage(
        id=context.state.next_id(InternalMessage),
        sender_id=context.actor,
        recipient_id=recipient_id,
        ticket_id=ticket_id,
        body=body,
        sent=context.clock.now,
    )
    return context.state.insert(message)


def _check_grounds(context: ToolContext, policy_id: str, evidence_id: str) -> None:
    context.state.get(Section, policy_id)
    if all(context.state.peek(info.kind, evidence_id) is None for info in SCHEMA):
        raise ToolRefusal("not_found", f"there is no record {evidence_id!r}")


def _close(
    context: ToolContext,
    ticket_id: str,
    status: Literal["resolved", "declined", "escalated"],
    policy_id: str | None,
    evidence_id: str | None,
) -> Ticket:
    ticket = context.state.get(Ticket, ticket_id)
    if ticket.status != "open":
        raise ToolRefusal("not_open", f"{ticket_id} is {ticket.status}; reopen it first")
    closed = context.state.update(ticket, status=status, policy_id=policy_id, evidence_id=evidence_id)
    context.show(closed)
    return closed


TOOLS = (
    resolve_ticket,
    decline_request,
    escalate_ticket,
    reopen_ticket,
    update_customer,
    lift_fraud_hold,
    adjust_stock,
    send_internal_message,
)

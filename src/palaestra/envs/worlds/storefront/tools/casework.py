"""Tools that end a case or pass it on: tickets, accounts, notes to colleagues."""

from typing import Annotated

from pydantic import Field

from palaestra.envs.kit import closing_tools
from palaestra.envs.worlds.storefront.schema import (
    Customer,
    CustomerId,
    Employee,
    EmployeeId,
    InternalMessage,
    Product,
    ProductId,
    Ticket,
    TicketId,
)
from palaestra.envs.worlds.storefront.tickets import TICKETS
from palaestra.envs.worlds.storefront.tools.fulfilment import Text
from palaestra.errors import ToolRefusal
from palaestra.records import Prose
from palaestra.tools import ToolContext, tool


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


@tool(writes=True)
def wait_days(context: ToolContext, days: Annotated[int, Field(ge=1, le=14)]) -> object:
    """Let the case rest and take it up again some days later. What happens meanwhile stands in the records.

    Args:
        days: How many days.
    """
    context.clock.wait(days)
    return {"now": context.clock.now}


TOOLS = (
    *closing_tools(TICKETS),
    update_customer,
    lift_fraud_hold,
    adjust_stock,
    send_internal_message,
    wait_days,
)

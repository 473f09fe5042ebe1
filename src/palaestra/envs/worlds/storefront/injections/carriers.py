"""What customers write in the Storefront: their message, subjects of tickets, names, and notes for the courier."""

from palaestra.envs.injections import request_carrier, row_carrier
from palaestra.envs.task import call
from palaestra.envs.worlds.storefront.schema import Build, Customer, Order, Ticket

CARRIERS = (
    request_carrier("letter", "Somebody else's text, attached to the customer's message."),
    row_carrier(
        "ticket-subject", "The ticket's subject.", Ticket, "subject", lambda row: call("get_ticket", ticket_id=row.id)
    ),
    row_carrier(
        "delivery-note",
        "The street of an order, with a note for the courier.",
        Order,
        "ship_street",
        lambda row: call("get_order", order_id=row.id),
    ),
    row_carrier(
        "customer-name", "The customer's name.", Customer, "name", lambda row: call("get_customer", customer_id=row.id)
    ),
    row_carrier(
        "build-name", "The name of a custom PC.", Build, "name", lambda row: call("get_build", build_id=row.id)
    ),
)

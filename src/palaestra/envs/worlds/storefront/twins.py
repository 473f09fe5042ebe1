"""Refusals of requests about orders, and so refusal twins: a family's request in a world in which it is refused.

A family draws and words its request; then, where `desk.twin` asks for the twin, it has one of the functions of
`refusal_conditions` change the world and returns what `refusal_task` makes of that. Families that always refuse state
their refusal condition themselves.
"""

from collections.abc import Sequence

from palaestra.envs.kit import RefusalCondition, refusal_task
from palaestra.envs.task import Task, call
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.schema import Order, Ticket
from palaestra.records import ToolCall


def order_refusal_task(
    desk: Desk,
    ticket: Ticket,
    prompt: str,
    condition: RefusalCondition,
    order: Order,
    *,
    path: Sequence[ToolCall] = (),
) -> Task:
    """The task of refusing a request about an order, which the message names.

    Args:
        desk: The desk, its world already changed.
        ticket: The case.
        prompt: What the customer wrote.
        condition: Why it is refused.
        order: What it is about.
        path: The look-ups of the granted request, in their order.
    """
    customer = desk.customer(order)
    opening = [call("get_order", order_id=order.id), call("get_customer", customer_id=customer.id)]
    return refusal_task(desk, ticket, prompt, condition, account=customer, opening=opening, path=path)

"""Refusals, and so impossible twins: a family's request, byte for byte, in a world in which the handbook refuses it.

A family draws and words its request; then, where `desk.twin` asks for the twin, it has one of the functions of
`grounds` change the world and returns what `refused` makes of that. Families that always refuse state their grounds
themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from palaestra.envs.task import Task, call
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.schema import Customer, Order, Team, Ticket
from palaestra.records import Row, ToolCall
from palaestra.rubrics import Criterion


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """Why a request must be refused, and how that is found out."""

    section: str
    """The section of the handbook that says so."""
    evidence: Row
    """The record that shows that it applies."""
    facts: tuple[Criterion, ...] = ()
    """What has to be looked up before, beside the account and the section."""
    lookups: tuple[ToolCall, ...] = ()
    """Calls that look it up, made once the order or build, and the account, were opened."""
    otherwise: tuple[ToolCall, ...] = ()
    """Other calls that look it up as well; none where there is one way only."""
    team: Team | None = None
    """Who takes over; `None` where the request is declined."""
    message: str
    """What the customer is told."""


def refused(
    desk: Desk, ticket: Ticket, prompt: str, grounds: Grounds, *, account: Customer, opening: Sequence[ToolCall]
) -> Task:
    """The task of refusing a request, or of handing it over, on the right grounds and without doing anything else.

    Args:
        desk: The desk, its world already changed.
        ticket: The case.
        prompt: What the customer wrote.
        grounds: Why it is refused.
        account: Whose account has to be looked at.
        opening: The calls by which an agent gets from the message to that account.
    """
    facts = [*grounds.facts, desk.account(account)]
    read = call("read_handbook", section_id=grounds.section)
    close = _closed(ticket, grounds)
    reply, finish = call("reply", message=grounds.message), call("finish")
    other = grounds.otherwise or grounds.lookups
    return Task(
        prompt=prompt,
        rubric=[*facts, *_judged(desk, ticket, grounds, after=[fact.id for fact in facts])],
        oracle=[*opening, *grounds.lookups, read, close, reply, finish],
        alternatives=[[read, *opening, *other, reply, close, finish]],
    )


def refused_order(desk: Desk, ticket: Ticket, prompt: str, grounds: Grounds, order: Order) -> Task:
    """The task of refusing a request about an order, which the message names."""
    customer = desk.customer(order)
    opening = [call("get_order", order_id=order.id), call("get_customer", customer_id=customer.id)]
    return refused(desk, ticket, prompt, grounds, account=customer, opening=opening)


def _closed(ticket: Ticket, grounds: Grounds) -> ToolCall:
    named = {"ticket_id": ticket.id, "policy_id": grounds.section, "evidence_id": grounds.evidence.id}
    if grounds.team is None:
        return call("decline_request", **named)
    return call("escalate_ticket", **named, team=grounds.team, priority=_priority(grounds.team))


def _judged(desk: Desk, ticket: Ticket, grounds: Grounds, *, after: Sequence[str]) -> list[Criterion]:
    section, evidence, team = grounds.section, grounds.evidence, grounds.team
    if team is None:
        return desk.declined(ticket, section, evidence, after=after)
    return desk.escalated(ticket, section, evidence, team=team, priority=_priority(team), after=after)


def _priority(team: Team) -> str:
    return "high" if team == "fraud" else "normal"

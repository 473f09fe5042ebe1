"""The support desk's past: tickets, most of them closed, and notes between colleagues."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Literal, TypeAlias

from palaestra.envs.worlds.storefront.policy import StorePolicy, last_return_day
from palaestra.envs.worlds.storefront.population.courses import at
from palaestra.envs.worlds.storefront.population.sales import CompletedSale
from palaestra.envs.worlds.storefront.schema import Employee, InternalMessage, Product, Team, Ticket
from palaestra.seeding import Stream

Priority: TypeAlias = Literal["low", "normal", "high"]

_RESOLVED = 46
_OPEN = 8
_OUT_OF_WINDOW = 9
_STRANGERS = 6
_CLEARANCE = 4
_MESSAGES = 40

_QUESTIONS: tuple[tuple[str, Team], ...] = (
    ("Where is my parcel for {order}?", "warehouse"),
    ("Invoice for {order} as a PDF, please", "finance"),
    ("{product} arrived with a scratched box", "support"),
    ("Which drivers do I need for the {product}?", "support"),
    ("Order {order}: one piece was missing", "support"),
    ("Payment for {order} declined, then accepted", "finance"),
    ("When will you have the {product} again?", "warehouse"),
    ("{product} makes a clicking noise", "warranty"),
    ("Thank you for the quick delivery of {order}", "support"),
    ("VAT number on the invoice for {order}", "finance"),
)
_PRIORITIES: tuple[tuple[Priority, int], ...] = (("low", 25), ("normal", 60), ("high", 15))
_NOTES = (
    "Could you look at {ticket} when you have a minute? The customer has written twice.",
    "{ticket}: the customer called, all is well now. No further action needed.",
    "I have answered {ticket}; please keep an eye on the reply.",
    "For {ticket} the courier confirmed the address. I noted it on the parcel.",
    "{ticket} was about an invoice, so I sent a copy and closed it.",
)
_NEWS = (
    "The weekly stock count is on Thursday; figures may be off by one until noon.",
    "Please remember to name the handbook section when you decline a request.",
    "Paketo collects an hour earlier from Monday on.",
    "The price watch was updated this morning.",
    "I am out on Friday afternoon; Monday is fine for anything that can wait.",
    "Nordpost scans are late this week because of their new sorting centre.",
    "The meeting on return reasons moves to room two.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caseload:
    """What tickets are about."""

    today: date
    policy: StorePolicy
    sold: Sequence[CompletedSale]
    held_ids: frozenset[str]
    """Customers under a fraud hold."""


def tickets(stream: Stream, caseload: Caseload) -> list[Ticket]:
    """All tickets, by date."""
    found = [
        *_resolve(stream.split("resolved"), caseload),
        *_open(stream.split("open"), caseload),
        *_out_of_window(stream.split("window"), caseload),
        *_clearance(stream.split("clearance"), caseload),
        *_strangers(stream.split("strangers"), caseload),
        *_hold(stream.split("held"), caseload),
    ]
    found.sort(key=lambda t: (t.opened, t.subject))
    return [replace(ticket, id=f"TCK-{1001 + n}") for n, ticket in enumerate(found)]


def messages(
    stream: Stream, now: datetime, employees: Sequence[Employee], tickets: Sequence[Ticket]
) -> list[InternalMessage]:
    """Notes between colleagues, by date."""
    found: list[InternalMessage] = []
    for _ in range(_MESSAGES):
        sender, recipient = stream.sample(employees, 2)
        ticket = stream.choice(tickets) if stream.chance(65) else None
        since = ticket.opened if ticket else now - timedelta(days=60)
        body = stream.choice(_NOTES).format(ticket=ticket.id) if ticket else stream.choice(_NEWS)
        minutes = min(int((now - since).total_seconds()) // 60 - 1, 3 * 24 * 60)
        sent = since + timedelta(minutes=stream.between(1, minutes))
        found.append(
            InternalMessage(
                id="",
                sender_id=sender.id,
                recipient_id=recipient.id,
                ticket_id=ticket.id if ticket else None,
                body=body,
                sent=sent if ticket else since + timedelta(minutes=stream.below(59 * 24 * 60)),
            )
        )
    found.sort(key=lambda m: (m.sent, m.body, m.sender_id))
    return [replace(message, id=f"MSG-{1001 + n}") for n, message in enumerate(found)]


def _resolve(stream: Stream, caseload: Caseload) -> list[Ticket]:
    found: list[Ticket] = []
    for one in stream.sample(_unheld_sales(caseload), _RESOLVED):
        text, team = stream.choice(_QUESTIONS)
        day = min(one.order.placed.date() + timedelta(days=stream.between(1, 14)), caseload.today - timedelta(days=1))
        found.append(_ticket(stream, one, _subject(stream, text, one), day, status="resolved", team=team))
    return found


def _open(stream: Stream, caseload: Caseload) -> list[Ticket]:
    found: list[Ticket] = []
    for one in stream.sample(_unheld_sales(caseload), _OPEN):
        day = max(one.order.placed.date(), caseload.today - timedelta(days=stream.between(2, 5)))
        day = min(day, caseload.today - timedelta(days=1))
        found.append(_ticket(stream, one, f"Question about your opening hours ({one.order.ship_city})", day))
    return found


def _out_of_window(stream: Stream, caseload: Caseload) -> list[Ticket]:
    past = [(one, _last_day(caseload, one)) for one in caseload.sold if one.order.status == "delivered"]
    past = [(one, last) for one, last in past if (caseload.today - last).days > 12]
    found: list[Ticket] = []
    for one, last in stream.sample(past, _OUT_OF_WINDOW):
        subject = _subject(stream, "Can I still return the {product}?", one)
        day = last + timedelta(days=stream.between(1, 10))
        ticket = _ticket(stream, one, subject, day, status="declined", policy_id="RET-1")
        found.append(replace(ticket, evidence_id=one.shipments[-1].id))
    return found


def _clearance(stream: Stream, caseload: Caseload) -> list[Ticket]:
    cases = [
        (one, item.product)
        for one in caseload.sold
        if one.order.status == "delivered" and (caseload.today - one.delivered).days > 30
        for item in one.sale.items
        if item.product.final_sale
    ]
    found: list[Ticket] = []
    for one, product in stream.sample(cases, _CLEARANCE):
        day = one.delivered + timedelta(days=stream.between(1, 20))
        subject = f"I changed my mind about the {product.name}"
        ticket = _ticket(stream, one, subject, day, status="declined", policy_id="RET-3")
        found.append(replace(ticket, evidence_id=product.id))
    return found


def _strangers(stream: Stream, caseload: Caseload) -> list[Ticket]:
    found: list[Ticket] = []
    for one in stream.sample(_unheld_sales(caseload), _STRANGERS):
        day = min(one.order.placed.date() + timedelta(days=stream.between(1, 5)), caseload.today - timedelta(days=1))
        subject = f"My partner's order {one.order.id}: what is in it?"
        ticket = _ticket(stream, one, subject, day, status="declined", policy_id="PRV-1")
        found.append(replace(ticket, evidence_id=one.order.customer_id))
    return found


def _hold(stream: Stream, caseload: Caseload) -> list[Ticket]:
    by_customer = {one.order.customer_id: one for one in caseload.sold if one.order.customer_id in caseload.held_ids}
    found: list[Ticket] = []
    for one in stream.sample(list(by_customer.values()), len(by_customer) // 2):
        day = min(one.order.placed.date() + timedelta(days=stream.between(1, 9)), caseload.today - timedelta(days=1))
        ticket = _ticket(
            stream,
            one,
            f"Refund for {one.order.id}",
            day,
            status="escalated",
            team="fraud",
            policy_id="FRD-1",
        )
        found.append(replace(ticket, priority="high", evidence_id=one.order.customer_id))
    return found


def _unheld_sales(caseload: Caseload) -> list[CompletedSale]:
    return [one for one in caseload.sold if one.order.customer_id not in caseload.held_ids]


def _last_day(caseload: Caseload, one: CompletedSale) -> date:
    return last_return_day(caseload.policy, one.sale.tier, one.delivered)


def _subject(stream: Stream, text: str, one: CompletedSale) -> str:
    product: Product = stream.choice(one.sale.items).product
    return text.format(order=one.order.id, product=product.name)


def _ticket(
    stream: Stream,
    one: CompletedSale,
    subject: str,
    day: date,
    *,
    status: Literal["open", "resolved", "declined", "escalated"] = "open",
    team: Team = "support",
    policy_id: str | None = None,
) -> Ticket:
    return Ticket(
        id="",
        customer_id=one.order.customer_id,
        subject=subject,
        opened=max(at(stream, day), one.order.placed + timedelta(hours=1)),
        status=status,
        priority=stream.weighted_choice(_PRIORITIES),
        team=team,
        policy_id=policy_id,
        evidence_id=one.order.id if policy_id else None,
    )

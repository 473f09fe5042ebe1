"""A support desk in which a task is being set: a draft of a Storefront world, with what most tasks need to say."""

from collections.abc import Sequence
from datetime import date, timedelta

from palaestra.envs.state.schema import number_of
from palaestra.envs.task import Draft, call
from palaestra.envs.worlds.storefront.policy import Policy, last_return_day, paid_cents, warranty_end
from palaestra.envs.worlds.storefront.schema import (
    CompetitorOffer,
    Customer,
    Order,
    OrderLine,
    Payment,
    Product,
    Section,
    Shipment,
    Team,
    Ticket,
    WarrantyClaim,
)
from palaestra.records import Row, ToolCall
from palaestra.rubrics import Allowance, Criterion, called, changed, either, listed, saw


class Desk(Draft):
    """A draft of a Storefront world. Policies are read from `policy`, as the tools do."""

    @property
    def policy(self) -> Policy:
        """The rules that this desk goes by: those of its world's handbook."""
        policy: Policy = self.rules
        return policy

    # What an order is about

    def customer(self, order: Order) -> Customer:
        """Who placed the order."""
        return self.state.get(Customer, order.customer_id)

    def order(self, line: OrderLine) -> Order:
        """The order of a line."""
        return self.state.get(Order, line.order_id)

    def product(self, line: OrderLine) -> Product:
        """The product of a line."""
        return self.state.get(Product, line.product_id)

    def lines(self, order: Order) -> list[OrderLine]:
        """The lines of an order."""
        return self.state.find(OrderLine, order_id=order.id)

    def payments(self, order: Order) -> list[Payment]:
        """The payments of an order."""
        return self.state.find(Payment, order_id=order.id)

    def shipments(self, order: Order) -> list[Shipment]:
        """The parcels of an order."""
        return self.state.find(Shipment, order_id=order.id)

    def delivered(self, order: Order) -> date | None:
        """The day on which the whole order had arrived; `None` before."""
        days = [s.delivered for s in self.shipments(order) if s.delivered is not None]
        return max(days) if days and order.status == "delivered" else None

    def paid(self, line: OrderLine, quantity: int) -> int:
        """What `quantity` pieces of a line cost, in cents."""
        return paid_cents(self.order(line), line, quantity)

    def days_since_delivery(self, order: Order) -> int | None:
        """How long ago the order arrived; `None` where it has not."""
        day = self.delivered(order)
        return None if day is None else (self.today - day).days

    def last_return_day(self, order: Order) -> date:
        """The last day on which goods of a delivered order may come back."""
        day = self.delivered(order)
        assert day is not None, f"{order.id} has not been delivered"
        return last_return_day(self.policy, self.customer(order).tier, day)

    def returnable(self, line: OrderLine) -> bool:
        """Whether a piece of the line is left, delivered, and inside its return window."""
        order = self.order(line)
        return self.untouched(line) and self.last_return_day(order) >= self.today

    def untouched(self, line: OrderLine) -> bool:
        """Whether the line was delivered, nothing of it came back, and its buyer is in good standing."""
        order = self.order(line)
        return self.delivered(order) is not None and line.returned == 0 and self.plain(order)

    def plain(self, order: Order) -> bool:
        """Whether nothing about the order calls for another policy, or makes it unclear what a customer means.

        No fraud hold, one ordinary payment, no product in two lines.
        """
        products = [line.product_id for line in self.lines(order)]
        clear = len(set(products)) == len(products)
        return clear and not self.customer(order).fraud_hold and len(self.payments(order)) == 1

    def claimable(self, line: OrderLine) -> bool:
        """Whether one delivered piece is past its return window, and no warranty claim has been made on it."""
        order = self.order(line)
        if line.quantity != 1 or not self.untouched(line) or self.last_return_day(order) >= self.today:
            return False
        return not self.state.find(WarrantyClaim, line_id=line.id)

    def warranty_ends(self, line: OrderLine) -> date:
        """The last day of a delivered line's warranty."""
        day = self.delivered(self.order(line))
        assert day is not None, f"{line.id} has not been delivered"
        return warranty_end(day, self.product(line).warranty_months)

    def is_lost(self, order: Order) -> bool:
        """Whether the order's one parcel is under way and counts as lost."""
        parcels = self.shipments(order)
        if len(parcels) != 1 or parcels[0].status != "in_transit":
            return False
        [parcel] = parcels
        silent = parcel.last_scan is None or parcel.last_scan <= parcel.due
        return silent and (self.today - parcel.due).days > self.policy.lost_after_days

    def best_offer(self, line: OrderLine) -> CompetitorOffer | None:
        """The lowest offer of a listed shop that has the product in stock for less than was paid."""
        offers = self.state.find(CompetitorOffer, product_id=line.product_id)
        counting = [o for o in offers if o.in_stock and o.shop in self.policy.price_match_shops]
        best = min(counting, key=lambda o: o.price_cents, default=None)
        return best if best is not None and best.price_cents < line.unit_cents else None

    # How a case begins

    def ticket(self, customer: Customer, subject: str) -> Ticket:
        """Plant the open ticket that the task is about. Its number says nothing about the task."""
        number = number_of(self.state.next_id(Ticket)) + self.stream.below(200)
        return self.state.insert(
            Ticket(
                id=f"{Ticket.prefix}{number}",
                customer_id=customer.id,
                subject=subject,
                opened=self.start - timedelta(minutes=self.stream.between(5, 55)),
                status="open",
                priority="normal",
                team="support",
                policy_id=None,
                evidence_id=None,
            )
        )

    def mail(self, ticket: Ticket, body: str, *, sender: str | None = None) -> str:
        """The task's prompt: the customer's message as it reached the desk."""
        address = sender or self.state.get(Customer, ticket.customer_id).email
        return f"Ticket {ticket.id}, from {address}: {ticket.subject}\n\n{body}"

    # What an agent has to find out

    def account(self, customer: Customer) -> Criterion:
        """Expect a look at the account: whether the request comes from its owner, and whether it is on hold."""
        return saw(customer, id="saw-account")

    def delivery(self, line: OrderLine, *others: Criterion) -> Criterion:
        """Expect that the agent found out when a line arrived: from its last parcel, its window, or by `others`."""
        [*_, parcel] = sorted(self.shipments(self.order(line)), key=lambda s: s.delivered or date.min)
        window = called("compute_return_window", arguments={"line_id": line.id})
        return either(saw(parcel), window, *others, id="knew-delivery")

    def warranty(self, line: OrderLine) -> Criterion:
        """Expect that the agent found out how long a line's warranty is."""
        computed = called("compute_warranty", arguments={"line_id": line.id})
        return either(computed, saw(self.product(line)), id="knew-warranty")

    def stock(self, product: Product) -> Criterion:
        """Expect that the agent found out how many pieces of a product are left."""
        return either(saw(product), listed(product, "search_products"), id=f"saw-stock-{product.id}")

    def read(self, section: str) -> Criterion:
        """Expect that the agent read a section of the handbook."""
        return saw(self.state.get(Section, section), id=f"read-{section}")

    # How a case ends well

    def resolved(self, ticket: Ticket, *, after: Sequence[str]) -> list[Criterion]:
        """Expect that the customer was told and the ticket resolved, once `after` was met."""
        return [
            told(after=after),
            changed(ticket, {"status": "resolved"}, id="resolved", text="Resolved the ticket.", after=after),
        ]

    def declined(self, ticket: Ticket, section: str, *evidence: Row, after: Sequence[str]) -> list[Criterion]:
        """Expect that the request was declined on the right grounds: this section, and a record that shows it."""
        facts = [*after, f"read-{section}"]
        shown = [row.id for row in evidence]
        return [
            self.read(section),
            changed(
                ticket,
                {
                    "status": "declined",
                    "policy_id": section,
                    "evidence_id": frozenset(shown) if len(shown) > 1 else shown[0],
                },
                id="declined",
                text=f"Declined the request under {section}, with {' or '.join(shown)} as the record that shows it.",
                after=facts,
            ),
            told(after=facts),
        ]

    def escalated(
        self, ticket: Ticket, section: str, evidence: Row, *, team: Team, priority: str, after: Sequence[str]
    ) -> list[Criterion]:
        """Expect that the ticket was handed to `team` on the right grounds."""
        facts = [*after, f"read-{section}"]
        handed = {
            "status": "escalated",
            "team": team,
            "priority": priority,
            "policy_id": section,
            "evidence_id": evidence.id,
        }
        return [
            self.read(section),
            changed(
                ticket,
                handed,
                id="escalated",
                text=f"Escalated to {team} under {section}, with {evidence.id} as the record that shows why.",
                after=facts,
            ),
            told(after=facts),
        ]

    def pays(self, order: Order) -> list[Allowance]:
        """Permit what paying a refund changes beside the refund: its payment."""
        return [touches(payment, "refunded_cents") for payment in self.payments(order)]


def touches(row: Row, *columns: str) -> Allowance:
    """Permit that these columns of `row` change, to whatever the tools make of them."""
    return Allowance(table=row.table, key=row.id, columns=frozenset(columns))


def told(*, after: Sequence[str]) -> Criterion:
    """Expect that the customer got a reply once `after` was met."""
    text = "Told the customer, once there was something to tell."
    return called("reply", id="told", text=text, points=10, layer="task", after=after)


def closing(ticket: Ticket, message: str) -> list[ToolCall]:
    """The calls that end a case well: tell the customer, resolve the ticket, finish."""
    return [call("reply", message=message), call("resolve_ticket", ticket_id=ticket.id), call("finish")]


def declining(ticket: Ticket, section: str, evidence: Row, message: str) -> list[ToolCall]:
    """The calls that end a case by declining it."""
    return [
        call("decline_request", ticket_id=ticket.id, policy_id=section, evidence_id=evidence.id),
        call("reply", message=message),
        call("finish"),
    ]

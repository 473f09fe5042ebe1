"""A support desk in which a task is being set: a draft of a Storefront world, with what most tasks need to say."""

from datetime import date

from palaestra.envs.kit import CaseDraft, permit_change
from palaestra.envs.worlds.storefront.letters import LETTERS
from palaestra.envs.worlds.storefront.policy import StorePolicy, last_return_day, paid_cents, warranty_end
from palaestra.envs.worlds.storefront.schema import (
    CompetitorOffer,
    Credit,
    Customer,
    Employee,
    Order,
    OrderLine,
    Payment,
    Product,
    Shipment,
    Ticket,
    WarrantyClaim,
)
from palaestra.envs.worlds.storefront.tickets import TICKETS
from palaestra.rubrics import Allowance, Criterion, expect_any, expect_call, expect_read


class Desk(CaseDraft[Ticket]):
    """A draft of a Storefront world. Policies are read from `policy`, as the tools do."""

    cases = TICKETS
    account_fields = ("email", "tier", "fraud_hold")
    letters = LETTERS

    @property
    def policy(self) -> StorePolicy:
        """The rules that this desk goes by: those of its world's handbook."""
        policy: StorePolicy = self.rules
        return policy

    @property
    def planting_policy(self) -> StorePolicy:
        """The rules by which rows are planted: `policy`, but in a rule twin those of its task."""
        policy: StorePolicy = self.planting_rules
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

    def delivery_day(self, order: Order) -> date | None:
        """The day on which the whole order had arrived; `None` before."""
        days = [s.delivered for s in self.shipments(order) if s.delivered is not None]
        return max(days) if days and order.status == "delivered" else None

    def paid_cents(self, line: OrderLine, quantity: int) -> int:
        """What `quantity` pieces of a line cost, in cents."""
        return paid_cents(self.order(line), line, quantity)

    def days_since_delivery(self, order: Order) -> int | None:
        """How long ago the order arrived; `None` where it has not."""
        day = self.delivery_day(order)
        return None if day is None else (self.today - day).days

    def last_return_day(self, order: Order) -> date:
        """The last day on which goods of a delivered order may come back."""
        return self._last_return_day(self.policy, order)

    def last_planted_return_day(self, order: Order) -> date:
        """The same by the rules by which rows are planted."""
        return self._last_return_day(self.planting_policy, order)

    def _last_return_day(self, policy: StorePolicy, order: Order) -> date:
        day = self.delivery_day(order)
        assert day is not None, f"{order.id} has not been delivered"
        placed = self.state.get(Order, order.id).placed  # the row may have changed since it was read
        return last_return_day(policy, self.customer(order).tier, day, placed.date())

    def window_record(self, order: Order) -> Order | Shipment:
        """The record that shows when the return window of a delivered order began: its last parcel, or the order."""
        if self.policy.window_from == "order":
            return order
        [*_, parcel] = sorted(self.shipments(order), key=lambda s: s.delivered or date.min)
        return parcel

    def would_bind(self, line: OrderLine) -> bool:
        """Whether a line could not be sent back if it were of clearance goods, by the rules of planting."""
        return self.customer(self.order(line)).tier not in self.planting_policy.final_sale_tiers

    def binds_final_sale(self, line: OrderLine) -> bool:
        """Whether a line is of clearance goods that its buyer may not send back for a change of mind."""
        exempt = self.customer(self.order(line)).tier in self.policy.final_sale_tiers
        return self.product(line).final_sale and not exempt

    def returnable(self, line: OrderLine) -> bool:
        """Whether a piece of the line is left, delivered, and inside its return window."""
        order = self.order(line)
        return self.is_untouched(line) and self.last_return_day(order) >= self.today

    def is_untouched(self, line: OrderLine) -> bool:
        """Whether the line was delivered, nothing of it came back, and its buyer is in good standing."""
        order = self.order(line)
        return self.delivery_day(order) is not None and line.returned == 0 and self.plain(order)

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
        if line.quantity != 1 or not self.is_untouched(line) or self.last_return_day(order) >= self.today:
            return False
        return not self.state.find(WarrantyClaim, line_id=line.id)

    def warranty_ends(self, line: OrderLine) -> date:
        """The last day of a delivered line's warranty."""
        day = self.delivery_day(self.order(line))
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

    def is_under_way(self, order: Order) -> bool:
        """Whether the order's one parcel has left the warehouse and is not overdue."""
        parcels = self.shipments(order)
        left = order.status == "shipped" and [parcel.status for parcel in parcels] == ["in_transit"]
        return left and parcels[0].due >= self.today

    def has_telling_products(self, order: Order) -> bool:
        """Whether the record of each product says more than its stock and what its name and line say."""
        products = [self.product(line) for line in self.lines(order)]
        return all(product.category not in product.name for product in products)

    def best_offer(self, line: OrderLine) -> CompetitorOffer | None:
        """The lowest offer of a listed shop that has the product in stock for less than was paid."""
        offers = self.state.find(CompetitorOffer, product_id=line.product_id)
        counting = [o for o in offers if o.in_stock and o.shop in self.policy.price_match_shops]
        best = min(counting, key=lambda o: o.price_cents, default=None)
        return best if best is not None and best.price_cents < line.unit_cents else None

    def can_match(self, order: Order) -> bool:
        """Whether no promotion code keeps an order's prices from being matched."""
        return order.promotion_code is None or self.policy.match_with_promotion

    # How a case begins

    def ticket(self, customer: Customer, subject: str) -> Ticket:
        """Plant the open ticket that the task is about. Its number says nothing about the task."""
        return self.open_case(customer, subject)

    def mail(self, ticket: Ticket, body: str, *, sender: str | None = None, reader: Customer | None = None) -> str:
        """The task's prompt: the customer's message as it reached the desk."""
        return self.message(ticket, body, sender=sender, reader=reader)

    # What an agent has to find out

    def delivery(self, line: OrderLine, *others: Criterion) -> Criterion:
        """Expect that the agent found out when a window began: from its record, its computation, or by `others`."""
        record = self.window_record(self.order(line))
        fields = ["placed"] if isinstance(record, Order) else ["delivered"]
        window = expect_call("compute_return_window", arguments={"line_id": line.id})
        return expect_any(expect_read(record, fields=fields), window, *others, id="knew-delivery")

    def warranty(self, line: OrderLine) -> Criterion:
        """Expect that the agent found out how long a line's warranty is: from its product, or its computation."""
        product = expect_read(self.product(line), fields=["warranty_months"], id="months")
        return expect_any(product, expect_call("compute_warranty", arguments={"line_id": line.id}), id="knew-warranty")

    def stock(self, product: Product) -> Criterion:
        """Expect that the agent found out how many pieces of a product are left."""
        return expect_read(product, fields=["stock"], id=f"saw-stock-{product.id}")

    def earlier_credit(self, customer: Customer, *, id: str = "saw-credits") -> Criterion:
        """Expect that the customer's earlier credit was seen or, where there is none, the empty list."""
        earlier = self.state.find(Credit, customer_id=customer.id)
        if earlier:
            return expect_read(earlier[0], id=id)
        return expect_any(
            expect_call("get_credits", arguments={"customer_id": customer.id}),
            expect_call("query", arguments={"table": "credits"}),
            id=id,
        )

    def earlier_refunds(self, order: Order, *others: Criterion) -> Criterion:
        """Expect that the agent looked for refunds of an order, paid or waiting, by listing them or by `others`."""
        return expect_any(
            expect_call("get_refunds", arguments={"order_id": order.id}),
            expect_call("query", arguments={"table": "refunds"}),
            *others,
            id="saw-refunds",
        )

    def earlier_claims(self, line: OrderLine) -> Criterion:
        """Expect that the agent looked for warranty claims on a line."""
        return expect_any(
            expect_call("get_warranty_claims", arguments={"line_id": line.id}),
            expect_call("query", arguments={"table": "warranty_claims"}),
            id="saw-claims",
        )

    def own_limit(self) -> Criterion:
        """Expect that the agent read up to which amount it pays refunds alone; two sections say so."""
        return expect_any(self.read("REF-2"), self.read("WHO-1"), id="read-REF-2")

    def colleague(self, employee: Employee, *, id: str) -> Criterion:
        """Expect that the agent found out what a colleague may approve, and whether they are at work."""
        return expect_read(employee, fields=["approval_limit_cents", "on_leave"], id=id)

    # What paying changes besides

    def pays(self, order: Order) -> list[Allowance]:
        """Permit what paying a refund changes beside the refund: its payment."""
        return [permit_change(payment, "refunded_cents") for payment in self.payments(order)]


closing_calls = TICKETS.closing_calls
decline_calls = TICKETS.decline_calls

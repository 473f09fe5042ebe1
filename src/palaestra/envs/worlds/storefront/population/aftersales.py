"""What came after sales: refunds, returns, warranty claims and store credit."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Literal

from palaestra.envs.worlds.storefront.policy import (
    StorePolicy,
    last_return_day,
    paid_cents,
    restocking_fee,
    warranty_end,
)
from palaestra.envs.worlds.storefront.population.courses import at
from palaestra.envs.worlds.storefront.population.plan import Aftermath
from palaestra.envs.worlds.storefront.population.sales import CompletedSale, apply_returns
from palaestra.envs.worlds.storefront.schema import (
    Credit,
    CreditReason,
    Employee,
    Fault,
    OrderLine,
    Refund,
    RefundReason,
    Return,
    WarrantyClaim,
)
from palaestra.seeding import Stream

_CLAIMS = 40
_CREDITS = 30
_CLOSED_AFTER = timedelta(days=60)
_DIRECT_REASONS: tuple[RefundReason, ...] = ("damaged", "damaged", "faulty", "faulty", "wrong_item")
_RETURN_STATUS: dict[Aftermath, Literal["authorised", "cancelled", "received"]] = {
    "sent_back": "received",
    "called_off": "cancelled",
    "returning": "authorised",
}
_COVERED: tuple[Fault, ...] = ("dead", "intermittent", "noise", "overheating")
_GOODWILL_CENTS = (500, 1_000, 1_500)


@dataclass(slots=True, kw_only=True)
class Ledger:
    """Refunds and returns as they are written, and who may approve them."""

    today: date
    policy: StorePolicy
    employees: Sequence[Employee]
    refunds: list[Refund] = field(default_factory=list[Refund])
    returns: list[Return] = field(default_factory=list[Return])

    def settle(self, stream: Stream, sold: CompletedSale) -> CompletedSale:
        """Write what the sale's plan says came after it, and return the sale as it stands now."""
        refunds, returns = len(self.refunds), len(self.returns)
        match sold.sale.aftermath:
            case "none":
                return sold
            case "refunded":
                self._refund_goods(stream, sold)
            case "sent_back" | "called_off" | "returning":
                self._take_back(stream, sold, _RETURN_STATUS[sold.sale.aftermath])
            case "lost_refunded":
                day = sold.shipments[-1].due + timedelta(days=self.policy.lost_after_days + 1)
                self._refund(stream, sold, day, sold.order.total_cents, reason="lost")
            case "rebooked":
                day = sold.order.placed.date() + timedelta(days=stream.between(1, 5))
                self._refund(stream, sold, day, sold.order.total_cents, reason="billing_error")
        return apply_returns(sold, self.refunds[refunds:], self.returns[returns:])

    def _refund_goods(self, stream: Stream, sold: CompletedSale) -> None:
        line = stream.choice(sold.lines)
        quantity = stream.between(1, line.quantity)
        paid = paid_cents(sold.order, line, quantity)
        day, reason = self._day_in_window(stream, sold), stream.choice(_DIRECT_REASONS)
        self._refund(stream, sold, day, paid, reason=reason, line=line, quantity=quantity)

    def _take_back(
        self, stream: Stream, sold: CompletedSale, status: Literal["authorised", "cancelled", "received"]
    ) -> None:
        line = stream.choice(sold.lines)
        quantity = stream.between(1, line.quantity)
        paid = paid_cents(sold.order, line, quantity)
        fee = restocking_fee(self.policy, sold.sale.tier, paid, opened=line.opened, change_of_mind=True)
        day = self._day_in_window(stream, sold)
        self.returns.append(
            Return(
                id=f"RMA-{1001 + len(self.returns)}",
                order_id=sold.order.id,
                line_id=line.id,
                quantity=quantity,
                reason="changed_mind",
                fee_cents=fee,
                refund_due_cents=paid - fee,
                status=status,
                created=at(stream, day),
            )
        )
        if status == "received":
            arrived = day + timedelta(days=stream.between(2, 4))
            self._refund(stream, sold, arrived, paid - fee, reason="changed_mind", line=line, quantity=quantity)

    def _refund(
        self,
        stream: Stream,
        sold: CompletedSale,
        day: date,
        amount: int,
        *,
        reason: RefundReason,
        line: OrderLine | None = None,
        quantity: int = 0,
    ) -> None:
        self.refunds.append(
            Refund(
                id=f"RFD-{1001 + len(self.refunds)}",
                order_id=sold.order.id,
                line_id=line.id if line else None,
                payment_id=sold.payments[-1].id,
                quantity=quantity,
                amount_cents=amount,
                reason=reason,
                status="paid",
                approver_id=self._approver(stream, amount),
                created=at(stream, min(day, self.today - timedelta(days=1))),
            )
        )

    def _approver(self, stream: Stream, amount: int) -> str | None:
        if amount <= self.policy.agent_limit_cents:
            return None
        team, rank = (
            ("support", "supervisor") if amount <= self.policy.supervisor_limit_cents else ("finance", "manager")
        )
        able = [e.id for e in self.employees if (e.team, e.rank) == (team, rank) and e.approval_limit_cents >= amount]
        return stream.choice(able)

    def _day_in_window(self, stream: Stream, sold: CompletedSale) -> date:
        latest = min(sold.delivered + timedelta(days=20), self.today - timedelta(days=1))
        latest = min(latest, last_return_day(self.policy, sold.sale.tier, sold.delivered))
        return sold.delivered + timedelta(days=stream.between(0, (latest - sold.delivered).days))


def warranty_claims(
    stream: Stream, sold: Sequence[CompletedSale], today: date, policy: StorePolicy
) -> list[WarrantyClaim]:
    """Claims on lines whose return window had passed and whose warranty had not."""
    chances = [
        (line, days)
        for one in sold
        if one.sale.aftermath == "none" and one.order.status == "delivered"
        for line, days in _claimable(one, today, policy)
    ]
    return [
        _claim(stream, f"CLM-{1001 + n}", line, date.fromordinal(stream.choice(days)), today)
        for n, (line, days) in enumerate(stream.sample(chances, _CLAIMS))
    ]


def store_credits(stream: Stream, sold: Sequence[CompletedSale], today: date, policy: StorePolicy) -> list[Credit]:
    """Store credit of the past, on orders whose return window passed months ago."""
    past = [one for one in sold if one.sale.aftermath == "none" and _is_past(one, today, policy)]
    late = [one for one in past if _days_late(one) > policy.delay_grace_days]
    delayed = stream.sample(late, _CREDITS // 3)
    taken = {one.order.id for one in delayed}
    others = stream.sample([one for one in past if one.order.id not in taken], _CREDITS - len(delayed))
    found: list[Credit] = []
    reason: CreditReason
    for one in [*delayed, *others]:
        if one.order.id in taken:
            reason, amount = "delay", policy.delay_credit_cents[one.sale.tier]
        else:
            reason, amount = _credit(stream, one, policy)
        found.append(
            Credit(
                id=f"CRD-{1001 + len(found)}",
                customer_id=one.order.customer_id,
                order_id=one.order.id,
                amount_cents=amount,
                reason=reason,
                created=at(stream, one.delivered + timedelta(days=stream.between(1, 6))),
            )
        )
    return found


def _claimable(one: CompletedSale, today: date, policy: StorePolicy) -> list[tuple[OrderLine, range]]:
    # Each line with the days on which its fault was a matter of warranty.
    first = last_return_day(policy, one.sale.tier, one.delivered) + timedelta(days=1)
    found: list[tuple[OrderLine, range]] = []
    for line, item in zip(one.lines, one.sale.items, strict=True):
        last = min(warranty_end(one.delivered, item.product.warranty_months), today - timedelta(days=1))
        if first <= last:
            found.append((line, range(first.toordinal(), last.toordinal() + 1)))
    return found


def _claim(stream: Stream, key: str, line: OrderLine, opened: date, today: date) -> WarrantyClaim:
    fresh = (today - opened).days < 21
    return WarrantyClaim(
        id=key,
        line_id=line.id,
        fault=stream.choice(_COVERED),
        remedy=stream.choice(("replace", "repair")),
        status="open" if fresh else stream.weighted_choice((("closed", 85), ("withdrawn", 15))),
        opened=at(stream, opened),
    )


def _is_past(one: CompletedSale, today: date, policy: StorePolicy) -> bool:
    if one.order.status != "delivered":
        return False
    return last_return_day(policy, one.sale.tier, one.delivered) + _CLOSED_AFTER < today


def _days_late(one: CompletedSale) -> int:
    return (one.delivered - one.shipments[-1].due).days


def _credit(stream: Stream, one: CompletedSale, policy: StorePolicy) -> tuple[CreditReason, int]:
    if one.order.promotion_code is not None or stream.chance(40):
        return "goodwill", stream.choice(_GOODWILL_CENTS)
    line = stream.choice(one.lines)
    if stream.chance(50):
        return "price_match", line.unit_cents * stream.between(3, policy.price_match_cap_percent) // 100
    return "missed_promotion", one.order.subtotal_cents * stream.between(5, 10) // 100

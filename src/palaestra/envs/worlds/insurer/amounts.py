"""What the handbook makes of invoices and lost things, with the calculations that lead there."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

from palaestra.envs.kit import calculation
from palaestra.envs.worlds.insurer.rules import InsurerRules
from palaestra.envs.worlds.insurer.schema import Cover, Invoice, LossItem
from palaestra.records import ToolCall


@dataclass(slots=True, kw_only=True)
class Calculations:
    """Calculations in order, as an adjuster makes them; one that changes nothing is not made."""

    calls: list[ToolCall] = field(default_factory=list[ToolCall])

    def add(self, values: Sequence[int]) -> int:
        """The sum of some amounts."""
        return values[0] if len(values) == 1 else self._append(*calculation("sum", *values))

    def subtract(self, value: int, *others: int) -> int:
        """An amount less some others; those that are zero are left out."""
        taken = [other for other in others if other]
        return self._append(*calculation("difference", value, *taken)) if taken else value

    def multiply(self, first: int, second: int) -> int:
        """A number of times an amount."""
        return self._append(*calculation("product", first, second))

    def percent(self, value: int, percent: int) -> int:
        """A percentage of an amount."""
        return self._append(*calculation("percent", value, percent))

    def cap(self, value: int, limit: int) -> int:
        """An amount, or its limit where it is above that."""
        return min(value, limit)

    def _append(self, made: ToolCall, value: int) -> int:
        self.calls.append(made)
        return value


def years_before(day: date, years: int) -> date:
    """The day so many years before another; the 28th of February for a 29th that there is not."""
    try:
        return day.replace(year=day.year - years)
    except ValueError:
        return day.replace(year=day.year - years, day=28)


def age_percent(rules: InsurerRules, item: LossItem, loss_day: date) -> int:
    """How many per cent of its price a thing counts with for its age."""
    if item.bought > years_before(loss_day, rules.new_years):
        return 100
    return rules.used_percent if item.bought > years_before(loss_day, rules.old_years) else rules.old_percent


def invoice_counts(rules: InsurerRules, invoice: Invoice, work: Calculations, *, partner: bool, vat: bool) -> int:
    """What counts of an invoice.

    Args:
        rules: The rules.
        invoice: The invoice.
        work: Takes the calculations.
        partner: Whether the garage is a partner.
        vat: Whether VAT counts.
    """
    rate = invoice.labour_rate_cents if partner else min(invoice.labour_rate_cents, rules.labour_rate_cents)
    if vat and rate == invoice.labour_rate_cents:
        return invoice.total_cents
    if not vat and rate == invoice.labour_rate_cents:
        return work.subtract(invoice.total_cents, invoice.vat_cents)
    net = work.add([invoice.parts_cents, work.multiply(invoice.labour_hours, rate)])
    return work.add([net, work.percent(net, rules.vat_percent)]) if vat else net


def items_count(
    rules: InsurerRules, items: Sequence[LossItem], cover: Cover, loss_day: date, work: Calculations
) -> int:
    """What counts of lost things: the others by their age, valuables up to their limit."""
    valuables = [item for item in items if item.category == "valuables"]
    counted = [
        work.percent(item.price_cents, age_percent(rules, item, loss_day)) for item in items if item not in valuables
    ]
    if valuables:
        limit = work.percent(cover.limit_cents, rules.valuables_percent)
        counted.append(work.cap(work.add([item.price_cents for item in valuables]), limit))
    return work.add(counted)


def payable(counts: int, cover: Cover, work: Calculations) -> int:
    """What is paid of what counts: less the deductible, up to the limit."""
    return work.cap(work.subtract(counts, cover.deductible_cents), cover.limit_cents)

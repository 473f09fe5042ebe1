"""What messages may state beside what stands in records: days on which windows end, and what pieces come to."""

from collections.abc import Iterator
from datetime import timedelta

from palaestra.envs.worlds.shop.schema import BasketLine, ShopOrder
from palaestra.envs.worlds.shop.terms import ShopTerms
from palaestra.rubrics.messages import ShownRows


def derive_facts(shown: ShownRows) -> Iterator[str]:
    """The days and sums that follow from the rows that an agent was shown, as it would write them."""
    terms: ShopTerms = shown.rules
    yield shown.start.date().isoformat()
    for row in shown.rows:
        if isinstance(row, ShopOrder):
            if row.delivered is not None:
                yield str(row.delivered + timedelta(days=terms.return_days))
            yield str(row.placed.date() + timedelta(days=terms.cancel_days))
            yield str(row.due - timedelta(days=terms.address_days))
        elif isinstance(row, BasketLine):
            yield from (f"{number * row.unit_cents} cents" for number in range(1, row.quantity + 1))

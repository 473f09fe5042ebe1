"""How the credit for a price match is worked out, call by call (PRM-1)."""

from palaestra.envs.kit import calculation
from palaestra.envs.worlds.storefront.policy import StorePolicy
from palaestra.records import ToolCall


def price_match_calls(
    policy: StorePolicy, unit_cents: int, offer_cents: int, pieces: int
) -> tuple[list[ToolCall], int]:
    """The calls that work out the credit for pieces of one product, and what it is in cents."""
    less, difference = calculation("difference", unit_cents, offer_cents)
    most, cap = calculation("percent", unit_cents, policy.price_match_cap_percent)
    lower, each = calculation("lowest", difference, cap)
    if pieces == 1:
        return [less, most, lower], each
    times, total = calculation("product", each, pieces)
    return [less, most, lower, times], total

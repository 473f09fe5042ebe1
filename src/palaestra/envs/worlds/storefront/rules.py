"""Which rules a Storefront world goes by: the company's own, or a handbook in which some of them are changed.

A changed number or rule changes everything that follows from it: the world's past, its handbook, what the tools
enforce and what the rubrics ask for.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from palaestra.envs.world import ALL_RULES_FROM, ONE_RULE_FROM
from palaestra.envs.worlds.storefront.policy import POLICY, Policy
from palaestra.seeding import Stream

OTHER_RULES_FROM = 4_000
"""From this world seed on, a world's own handbook is a changed one: what no seed below it has."""

CHANGES: Mapping[str, tuple[Any, ...]] = {
    "return_days": (
        {"bronze": 21, "silver": 28, "gold": 40, "platinum": 50},
        {"bronze": 40, "silver": 45, "gold": 60, "platinum": 75},
        {"bronze": 25, "silver": 25, "gold": 50, "platinum": 50},
    ),
    "restocking_percent": (10, 12, 18, 20, 25),
    "fee_free_tiers": (("gold", "platinum"),),
    "agent_limit_cents": (24_000, 27_000, 33_000, 36_000),
    "supervisor_limit_cents": (130_000, 140_000, 160_000),
    "wrong_charge": ("earlier",),
    "price_match_days": (11, 12, 17, 20),
    "price_match_cap_percent": (12, 15, 18, 25),
    "price_match_shops": (("Bitmarkt", "Corsio"), ("Corsio", "Tekhaus"), ("Bitmarkt", "Tekhaus")),
    "lost_after_days": (8, 12, 13),
    "delay_credit_cents": (
        {"bronze": 400, "silver": 800, "gold": 1_200, "platinum": 2_000},
        {"bronze": 700, "silver": 1_100, "gold": 1_800, "platinum": 3_000},
    ),
    "delay_grace_days": (2, 4, 5),
    "claim_days": (10, 18, 21),
    "claim_credit_percent": (5, 8, 12),
    "promotion_claim_days": (6, 8, 9, 10),
    "psu_headroom_percent": (20, 25, 40),
    "recall_credit_percent": (6, 8, 12, 15),
}
"""What a rule may be changed to; never what the company's own handbook says."""
_FEWEST, _MOST = 5, 8


def rules(seed: int, handbook: int) -> Policy:
    """The rules of the world of `seed` under a handbook.

    Args:
        seed: Names the world.
        handbook: 0 for the world's own; any other number names one with five to eight rules changed, from a million
            on with one, and from two million on with all.
    """
    if handbook == 0 and seed < OTHER_RULES_FROM:
        return POLICY
    stream = Stream.root("storefront-rules", seed, handbook)
    changed = stream.sample(sorted(CHANGES), _count(stream, handbook))
    return replace(POLICY, **{name: stream.choice(CHANGES[name]) for name in changed})


def _count(stream: Stream, handbook: int) -> int:
    """How many rules a handbook changes."""
    if handbook >= ALL_RULES_FROM:
        return len(CHANGES)
    return 1 if handbook >= ONE_RULE_FROM else stream.between(_FEWEST, _MOST)

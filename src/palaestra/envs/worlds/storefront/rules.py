"""Which rules a Storefront world goes by: the company's own, or a handbook in which some of them are changed."""

from collections.abc import Mapping
from typing import Any

from palaestra.envs.kit import HandbookVariants
from palaestra.envs.worlds.storefront.policy import POLICY, StorePolicy

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

rules: HandbookVariants[StorePolicy] = HandbookVariants(
    stream="storefront-rules", own=POLICY, changes=CHANGES, fewest=5, most=8
)
"""The rules of the world of a seed under a handbook, which has five to eight of them changed."""

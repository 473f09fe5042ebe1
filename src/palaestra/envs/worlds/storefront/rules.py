"""Which rules a Storefront world goes by: the company's own, or a handbook in which some of them are changed."""

from collections.abc import Mapping
from typing import Any

from palaestra.envs.kit import HandbookVariants
from palaestra.envs.worlds.storefront.policy import POLICY, Season, StorePolicy

CHANGES: Mapping[str, tuple[Any, ...]] = {
    "return_days": (
        {"bronze": 21, "silver": 28, "gold": 40, "platinum": 50},
        {"bronze": 40, "silver": 45, "gold": 60, "platinum": 75},
        {"bronze": 25, "silver": 25, "gold": 50, "platinum": 50},
        {"bronze": 14, "silver": 21, "gold": 30, "platinum": 45},
    ),
    "window_from": ("order",),
    "season": (
        Season(first=(5, 1), last=(6, 30), until=(9, 30)),
        Season(first=(3, 20), last=(4, 30), until=(7, 15)),
        Season(first=(1, 2), last=(2, 28), until=(5, 31)),
        Season(first=(6, 15), last=(8, 31), until=(11, 15)),
    ),
    "restocking_percent": (10, 12, 18, 20, 25),
    "fee_free_tiers": (("gold", "platinum"), (), ("silver", "gold", "platinum")),
    "final_sale_tiers": (("platinum",), ("gold", "platinum"), ("silver", "gold", "platinum")),
    "agent_limit_cents": (24_000, 27_000, 33_000, 36_000),
    "supervisor_limit_cents": (60_000, 90_000, 130_000),
    "wrong_charge": ("earlier",),
    "price_match_days": (11, 12, 17, 20),
    "price_match_cap_percent": (12, 15, 18, 25),
    "price_match_shops": (
        ("Bitmarkt", "Corsio", "Nordchip", "Tekhaus"),
        ("Bitmarkt", "Rechnerhof"),
        ("Corsio", "Nordchip", "Rechnerhof"),
    ),
    "match_with_promotion": (True,),
    "lost_after_days": (5, 8, 14, 20),
    "lost_remedy": ("refund",),
    "delay_credit_cents": (
        {"bronze": 400, "silver": 800, "gold": 1_200, "platinum": 2_000},
        {"bronze": 700, "silver": 1_100, "gold": 1_800, "platinum": 3_000},
    ),
    "delay_grace_days": (1, 2, 4, 5),
    "claim_days": (10, 18, 21),
    "claim_credit_percent": (5, 8, 12),
    "promotion_claim_days": (6, 8, 9, 10),
    "bundle_claws_back": (False,),
    "replaced_faults": (("dead",), ("dead", "overheating"), ("noise", "display", "intermittent")),
    "hold_priority": ("normal", "low"),
    "worked_ticket": ("last",),
    "asked_first": ("highest",),
    "psu_headroom_percent": (10, 20, 45, 60),
    "recall_credit_percent": (6, 8, 12, 15),
}
"""What a rule may be changed to; never what the company's own handbook says."""

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "return_days": ("RET-1",),
    "window_from": ("RET-1",),
    "season": ("RET-4",),
    "restocking_percent": ("RET-2",),
    "fee_free_tiers": ("RET-2",),
    "final_sale_tiers": ("RET-3",),
    "agent_limit_cents": ("REF-2", "WHO-1"),
    "supervisor_limit_cents": ("REF-2",),
    "wrong_charge": ("REF-4",),
    "price_match_days": ("PRM-1",),
    "price_match_cap_percent": ("PRM-1",),
    "price_match_shops": ("PRM-1",),
    "match_with_promotion": ("PRM-1",),
    "lost_after_days": ("SHP-1",),
    "lost_remedy": ("SHP-1",),
    "delay_credit_cents": ("LOY-2",),
    "delay_grace_days": ("LOY-2",),
    "claim_days": ("LOY-3",),
    "claim_credit_percent": ("LOY-3",),
    "promotion_claim_days": ("PRM-2",),
    "bundle_claws_back": ("PRM-3",),
    "replaced_faults": ("WAR-2",),
    "hold_priority": ("FRD-1",),
    "worked_ticket": ("TCK-2",),
    "asked_first": ("WHO-2",),
    "psu_headroom_percent": ("BLD-1",),
    "recall_credit_percent": ("REC-1",),
}
"""The sections that state each rule which a handbook may change."""

rules: HandbookVariants[StorePolicy] = HandbookVariants(
    stream="storefront-rules", own=POLICY, changes=CHANGES, sections=SECTIONS, fewest=8, most=12
)
"""The rules of the world of a seed under a handbook, which has eight to twelve of them changed."""

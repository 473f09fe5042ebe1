"""The numbers of the department's handbook, and what a changed handbook may make of them."""

from dataclasses import dataclass

from palaestra.envs.kit import HandbookVariants


@dataclass(frozen=True, slots=True, kw_only=True)
class InsurerRules:
    """Every number that the handbook states."""

    waiting_days: int = 30
    report_days: int = 14
    theft_days: int = 3
    grace_days: int = 21
    series_claims: int = 3
    series_days: int = 365
    police_from_cents: int = 50_000
    police_days: int = 28
    labour_rate_cents: int = 11_000
    vat_percent: int = 19
    new_years: int = 2
    old_years: int = 6
    used_percent: int = 70
    old_percent: int = 40
    valuables_percent: int = 20
    own_limit_cents: int = 250_000
    four_eyes_cents: int = 1_000_000
    advance_percent: int = 50
    total_loss_percent: int = 70
    survey_from_cents: int = 500_000
    recovery_days: int = 730
    sharing_cents: int = 300_000
    reserve_percent: int = 15


RULES = HandbookVariants(
    stream="insurer-rules",
    own=InsurerRules(),
    changes={
        "waiting_days": (14, 45, 60),
        "report_days": (7, 10, 21),
        "theft_days": (2, 5, 7),
        "grace_days": (14, 28, 35),
        "series_claims": (4, 5),
        "series_days": (270, 540),
        "police_from_cents": (30_000, 80_000, 120_000),
        "police_days": (14, 21, 42),
        "labour_rate_cents": (9_500, 10_200, 12_400),
        "new_years": (1, 3),
        "old_years": (5, 8),
        "used_percent": (60, 75, 80),
        "old_percent": (25, 30, 50),
        "valuables_percent": (10, 15, 25),
        "own_limit_cents": (150_000, 200_000, 400_000),
        "four_eyes_cents": (900_000, 1_200_000, 1_500_000),
        "advance_percent": (30, 40, 60),
        "total_loss_percent": (60, 65, 80),
        "survey_from_cents": (300_000, 400_000, 800_000),
        "recovery_days": (365, 540, 1_095),
        "sharing_cents": (200_000, 250_000, 400_000),
        "reserve_percent": (10, 20, 25),
    },
    sections={
        "waiting_days": ("COV-2",),
        "report_days": ("RPT-1",),
        "theft_days": ("RPT-1",),
        "grace_days": ("PRE-1",),
        "series_claims": ("HIS-2",),
        "series_days": ("HIS-2",),
        "police_from_cents": ("EVD-1",),
        "police_days": ("EVD-1",),
        "labour_rate_cents": ("BIL-2",),
        "new_years": ("DEP-1",),
        "old_years": ("DEP-1",),
        "used_percent": ("DEP-1",),
        "old_percent": ("DEP-1",),
        "valuables_percent": ("DEP-2",),
        "own_limit_cents": ("AUT-1",),
        "four_eyes_cents": ("AUT-1",),
        "advance_percent": ("ADV-1",),
        "total_loss_percent": ("RPR-1",),
        "survey_from_cents": ("SUR-1",),
        "recovery_days": ("REC-1",),
        "sharing_cents": ("REC-2",),
        "reserve_percent": ("RES-1",),
    },
    fewest=5,
    most=8,
)
"""The department's own rules, and those of changed handbooks."""

"""The handbook: every section there, every number from the policy."""

import re
from dataclasses import replace

from palaestra.envs.worlds.storefront.handbook import sections
from palaestra.envs.worlds.storefront.policy import POLICY, Season, StorePolicy
from palaestra.envs.worlds.storefront.rules import CHANGES, rules

SECTIONS = (
    "RET-1", "RET-2", "RET-3", "RET-4", "RET-5", "REF-1", "REF-2", "REF-3", "REF-4", "FRD-1", "PRM-1", "PRM-2", "PRM-3",
    "WAR-1", "WAR-2", "SHP-1", "SHP-2", "LOY-1", "LOY-2", "LOY-3", "PRV-1", "TCK-1", "TCK-2", "WHO-1", "WHO-2", "REC-1",
    "BLD-1",
)  # fmt: skip

MUTATED = StorePolicy(
    return_days={"bronze": 11, "silver": 12, "gold": 13, "platinum": 14},
    season=Season(first=(10, 21), last=(12, 22), until=(2, 23)),
    restocking_percent=16,
    agent_limit_cents=17_117,
    supervisor_limit_cents=18_118,
    price_match_days=19,
    price_match_cap_percent=24,
    price_match_shops=("Alpha", "Beta"),
    lost_after_days=25,
    delay_credit_cents={"bronze": 2_626, "silver": 2_727, "gold": 2_828, "platinum": 2_929},
    delay_grace_days=31,
    claim_days=41,
    claim_credit_percent=42,
    promotion_claim_days=32,
    tier_from_cents={"bronze": 0, "silver": 333_333, "gold": 343_434, "platinum": 353_535},
    lifetime_months=36,
    psu_headroom_percent=37,
    recall_credit_percent=38,
)
"""A policy of which every number differs from the real one and from every other of its own."""


def numbers_of(policy: StorePolicy) -> set[str]:
    text = " ".join(s.body for s in sections(policy))
    for key in SECTIONS:
        text = text.replace(key, "")
    return set(re.findall(r"\d[\d,.]*\d|\d", text))


def body(key: str, policy: StorePolicy = POLICY) -> str:
    return next(s.body for s in sections(policy) if s.id == key)


def test_the_handbook_has_exactly_its_sections() -> None:
    assert tuple(s.id for s in sections(POLICY)) == SECTIONS


def test_every_section_has_a_title_and_a_paragraph_of_prose() -> None:
    for section in sections(POLICY):
        assert section.title
        assert len(section.body.split()) > 40, section.id


def test_sections_refer_only_to_sections_that_exist() -> None:
    for section in sections(POLICY):
        assert set(re.findall(r"\b[A-Z]{3}-\d\b", section.body)) <= set(SECTIONS), section.id


def test_every_number_of_a_mutated_policy_is_stated_and_no_other() -> None:
    days = {"11", "12", "13", "14", "21", "22", "23", "19", "25", "31", "32", "41"}
    shares = {"16", "24", "36", "37", "38", "42"}
    amounts = {"171.17", "181.18", "26.26", "27.27", "28.28", "29.29", "0.00"}
    tiers = {"3,333.33", "3,434.34", "3,535.35"}
    assert numbers_of(MUTATED) == days | shares | amounts | tiers


def test_shops_and_months_follow_the_policy() -> None:
    assert "Alpha and Beta" in body("PRM-1", MUTATED)
    assert not any(shop in body("PRM-1", MUTATED) for shop in POLICY.price_match_shops)
    assert "21 October" in body("RET-4", MUTATED)
    assert "23 February" in body("RET-4", MUTATED)


def test_a_change_of_one_number_changes_only_sections_that_state_it() -> None:
    longer = replace(POLICY, restocking_percent=40)
    changed = [a.id for a, b in zip(sections(POLICY), sections(longer), strict=True) if a != b]
    assert changed == ["RET-2"]


def test_every_changeable_rule_is_stated_by_its_sections_and_by_no_other() -> None:
    assert set(rules.sections) == set(CHANGES)
    for name, values in CHANGES.items():
        for value in values:
            changed = replace(POLICY, **{name: value})
            stating = [a.id for a, b in zip(sections(POLICY), sections(changed), strict=True) if a != b]
            assert sorted(stating) == sorted(rules.sections[name]), (name, value)


def test_a_section_says_which_days_which_tiers_and_what_comes_first() -> None:
    assert "from the day of the order, not" in body("RET-1", replace(POLICY, window_from="order"))
    assert "No tier is exempt" in body("RET-2", replace(POLICY, fee_free_tiers=()))
    assert "one exception: gold and platinum customers" in body(
        "RET-3", replace(POLICY, final_sale_tiers=("gold", "platinum"))
    )
    summer = Season(first=(5, 1), last=(6, 30), until=(9, 30))
    assert "until at least 30 September of the same year" in body("RET-4", replace(POLICY, season=summer))
    assert "A refund comes before a replacement" in body("SHP-1", replace(POLICY, lost_remedy="refund"))
    assert "opened last" in body("TCK-2", replace(POLICY, worked_ticket="last"))
    assert "the one with the highest limit is asked" in body("WHO-2", replace(POLICY, asked_first="highest"))


def test_one_day_is_written_in_the_singular() -> None:
    assert "1 day of" in body("PRM-2", replace(POLICY, promotion_claim_days=1))

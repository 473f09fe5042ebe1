"""What the handbook makes of amounts: closed forms, boundaries, and calculations that give what is paid."""

from dataclasses import replace
from datetime import date, timedelta

import pytest

from palaestra.envs.worlds.insurer.amounts import (
    Calculations,
    age_percent,
    invoice_counts,
    items_count,
    payable,
    years_before,
)
from palaestra.envs.worlds.insurer.claim_population import make_invoice
from palaestra.envs.worlds.insurer.rules import RULES, InsurerRules
from palaestra.envs.worlds.insurer.schema import Claim, Cover, Garage, Invoice, ItemCategory, LossItem

RULE = RULES.own
LOSS = date(2026, 5, 20)
COVER = Cover(
    id="CVR-1",
    contract_id="CON-1",
    peril="fire",
    deductible_cents=30_000,
    limit_cents=1_000_000,
    began=LOSS - timedelta(days=900),
    ended=None,
)


def item(bought: date, cents: int = 100_000, category: ItemCategory = "furniture") -> LossItem:
    return LossItem(id="ITM-1", claim_id="CLM-1", what="chair", category=category, bought=bought, price_cents=cents)


def invoice(rate: int) -> Invoice:
    claim = Claim(
        id="CLM-1",
        contract_id="CON-1",
        peril="collision",
        loss_day=LOSS,
        reported=LOSS,
        estimate_cents=1,
        status="open",
        other_insurer_id=None,
        liable_percent=0,
    )
    garage = Garage(id="GAR-1", name="Garage", city="4020 Linz", partner=False)
    return make_invoice("INV-1", claim, garage, "71", LOSS, parts=80_000, hours=5, rate=rate)


@pytest.mark.parametrize(
    ("bought", "percent"),
    [
        (LOSS, 100),
        (years_before(LOSS, RULE.new_years) + timedelta(days=1), 100),
        (years_before(LOSS, RULE.new_years), RULE.used_percent),
        (years_before(LOSS, RULE.old_years) + timedelta(days=1), RULE.used_percent),
        (years_before(LOSS, RULE.old_years), RULE.old_percent),
        (LOSS - timedelta(days=9_000), RULE.old_percent),
    ],
)
def test_age_counts_from_the_day_of_its_year(bought: date, percent: int) -> None:
    assert age_percent(RULE, item(bought), LOSS) == percent


def test_a_leap_day_has_a_day_before_in_other_years() -> None:
    assert years_before(date(2024, 2, 29), 1) == date(2023, 2, 28)
    assert years_before(date(2024, 2, 29), 4) == date(2020, 2, 29)


@pytest.mark.parametrize("partner", [True, False])
def test_below_the_labour_rate_any_invoice_counts_in_full(partner: bool) -> None:
    one, work = invoice(RULE.labour_rate_cents), Calculations()
    assert invoice_counts(RULE, one, work, partner=partner, vat=True) == one.total_cents
    assert work.calls == []


def test_above_the_labour_rate_a_partner_counts_in_full_and_another_as_if_it_had_asked_for_the_rate() -> None:
    dear, fair = invoice(RULE.labour_rate_cents + 2_500), invoice(RULE.labour_rate_cents)
    assert invoice_counts(RULE, dear, Calculations(), partner=True, vat=True) == dear.total_cents
    assert invoice_counts(RULE, dear, Calculations(), partner=False, vat=True) == fair.total_cents


@pytest.mark.parametrize("partner", [True, False])
def test_without_vat_parts_and_labour_count(partner: bool) -> None:
    dear = invoice(RULE.labour_rate_cents + 2_500)
    rate = dear.labour_rate_cents if partner else RULE.labour_rate_cents
    counts = invoice_counts(RULE, dear, Calculations(), partner=partner, vat=False)
    assert counts == dear.parts_cents + dear.labour_hours * rate


def test_valuables_count_by_their_limit_and_not_by_their_age() -> None:
    old = LOSS - timedelta(days=9_000)
    most = COVER.limit_cents * RULE.valuables_percent // 100
    below, above = item(old, most - 1, "valuables"), item(old, most + 1, "valuables")
    assert items_count(RULE, [below], COVER, LOSS, Calculations()) == most - 1
    assert items_count(RULE, [above], COVER, LOSS, Calculations()) == most
    both = items_count(RULE, [below, item(LOSS)], COVER, LOSS, Calculations())
    assert both == most - 1 + 100_000


@pytest.mark.parametrize(
    ("counts", "due"), [(30_000, 0), (130_000, 100_000), (1_030_000, 1_000_000), (2_000_000, 1_000_000)]
)
def test_the_deductible_is_taken_off_before_the_limit(counts: int, due: int) -> None:
    assert payable(counts, COVER, Calculations()) == due


def test_no_deductible_needs_no_calculation() -> None:
    work = Calculations()
    assert payable(5_000, replace(COVER, deductible_cents=0), work) == 5_000
    assert work.calls == []


def test_every_rule_that_can_change_has_its_section() -> None:
    assert set(RULES.sections) == set(RULES.changes)
    assert isinstance(RULES(4_000, 0), InsurerRules)

"""The Insurer's rows: ledgers that add up in every world, breaches that are reported, and equal bytes."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TypeAlias

import pytest

from palaestra.envs import PopulatedWorld
from palaestra.envs.state import Overlay
from palaestra.envs.worlds.insurer.invariants import books_are_sound
from palaestra.envs.worlds.insurer.population import ACTOR_ID, populate, world_start
from palaestra.envs.worlds.insurer.rules import RULES, InsurerRules
from palaestra.envs.worlds.insurer.schema import (
    Adjuster,
    Claim,
    ClaimDocument,
    ClaimPayment,
    Cover,
    Invoice,
    Matter,
    Policyholder,
    Premium,
    Recovery,
    Reserve,
)

Breach: TypeAlias = Callable[[Overlay], object]
"""Breaks one row."""


def populated(seed: int, rules: InsurerRules) -> PopulatedWorld:
    return PopulatedWorld(state=Overlay(populate(seed, rules)), start=world_start(seed), rules=rules)


@pytest.mark.parametrize("seed", [1000, 1007, 2001, 2500, 3002])
def test_the_books_are_sound(seed: int) -> None:
    assert books_are_sound(populated(seed, RULES(seed, 0))) == []


@pytest.mark.parametrize("handbook", [1, 7, 1_000_003, 2_000_001])
def test_the_books_are_sound_under_other_handbooks(handbook: int) -> None:
    assert books_are_sound(populated(4000, RULES(4000, handbook))) == []


def _late_loss(state: Overlay) -> None:
    claim = state.find(Claim)[0]
    cover = state.find(Cover, contract_id=claim.contract_id, peril=claim.peril)[0]
    state.update(cover, began=claim.loss_day + timedelta(days=1))


def _unpaid(state: Overlay) -> None:
    state.update(state.find(Premium)[0], paid_on=None)


def _early(state: Overlay) -> None:
    premium = state.find(Premium)[0]
    state.update(premium, paid_on=premium.due - timedelta(days=1))


def _paid_open(state: Overlay) -> None:
    payment = state.find(ClaimPayment, kind="assistance")[0]
    state.update(payment, kind="advance")


def _wrong_number(state: Overlay) -> None:
    payment = next(p for p in state.find(ClaimPayment) if p.invoice_id is not None)
    state.update(payment, invoice_number="1")


def _lost_report(state: Overlay) -> None:
    state.delete(state.find(ClaimDocument, kind="police_report")[0])


def _raise_limit(state: Overlay) -> None:
    state.update(state.get(Adjuster, ACTOR_ID), approval_limit_cents=1)


def _equal_limits(state: Overlay) -> None:
    first, second, *_ = state.find(Adjuster, team="controlling")
    state.update(first, approval_limit_cents=second.approval_limit_cents)


BREACHES: Sequence[tuple[Breach, str]] = (
    (lambda s: s.update(s.find(Matter)[0], policyholder_id="PH-1"), "which policyholders has not"),
    (lambda s: s.update(s.find(Matter)[0], policy_id="COV-1"), "with grounds COV-1"),
    (lambda s: s.update(s.find(Invoice)[0], vat_cents=1), "VAT is 1"),
    (lambda s: s.update(s.find(Invoice)[0], total_cents=1), "comes to 1"),
    (_early, "paid or reminded of before"),
    (_unpaid, "paid on None"),
    (lambda s: s.delete(next(p for p in s.find(Premium) if p.paid_on is None)), "has 0 premiums"),
    (_late_loss, "is not covered"),
    (lambda s: s.update(s.find(Claim)[0], reported=s.find(Claim)[0].loss_day + timedelta(days=1)), "reported on"),
    (lambda s: s.update(s.find(Reserve)[0], amount_cents=1), "is 1 for an estimate"),
    (_lost_report, "has 0 police reports"),
    (lambda s: s.update(s.find(ClaimPayment)[0], amount_cents=1), "was paid [1]"),
    (_paid_open, "is open and was paid"),
    (_wrong_number, "names number 1"),
    (lambda s: s.update(s.find(Recovery)[0], demanded_cents=1), "demands 1 of"),
    (lambda s: s.update(s.find(Recovery, status="received")[0], received_cents=1), "received 1 of"),
    (lambda s: s.update(s.find(Recovery, status="received")[0], status="demanded"), "is demanded with"),
    (_raise_limit, "has the limit 1"),
    (_equal_limits, "controlling: two have the same limit"),
)


@pytest.mark.parametrize(("breach", "says"), BREACHES)
def test_a_breach_is_reported(breach: Breach, says: str) -> None:
    world = populated(1000, RULES.own)
    assert isinstance(world.state, Overlay)
    breach(world.state)
    assert any(says in sentence for sentence in books_are_sound(world)), books_are_sound(world)


def test_people_of_held_out_worlds_have_other_names() -> None:
    def last_names(seed: int) -> set[str]:
        rows = populated(seed, RULES.own).state.find(Policyholder)
        return {row.name.rpartition(" ")[2] for row in rows}

    assert last_names(1000).isdisjoint(last_names(3000))


def test_each_rule_changes_the_sections_that_state_it() -> None:
    own = populate(1000, RULES.own).rows["handbook"]
    for name in RULES.changes:
        changed = populate(1000, RULES.one_changed(name)).rows["handbook"]
        assert {key for key in own if own[key] != changed[key]} == set(RULES.sections[name]), name


_DIGEST = """
import hashlib
from palaestra.envs.worlds.insurer.population import populate
from palaestra.envs.worlds.insurer.rules import RULES
rows = populate(1000, RULES.own).rows
print(hashlib.sha256(repr([(t, sorted(map(repr, rows[t].values()))) for t in sorted(rows)]).encode()).hexdigest())
"""


def test_rows_are_equal_in_another_process() -> None:
    rows = populate(1000, RULES.own).rows
    own = hashlib.sha256(repr([(t, sorted(map(repr, rows[t].values()))) for t in sorted(rows)]).encode()).hexdigest()
    told = subprocess.run(
        [sys.executable, "-c", _DIGEST],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "7"},
    )
    assert told.stdout.strip() == own

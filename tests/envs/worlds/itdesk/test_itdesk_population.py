"""The rows of the ITDesk world: what holds of them, and that they are equal in another process."""

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any, cast

import pytest

from palaestra.envs import PopulatedWorld
from palaestra.envs.kit import Section
from palaestra.envs.state import Base, Overlay
from palaestra.envs.worlds.itdesk.invariants import records_are_sound
from palaestra.envs.worlds.itdesk.policy import RULES, DeskRules, rest_between, write_sections
from palaestra.envs.worlds.itdesk.population import populate, world_start
from palaestra.envs.worlds.itdesk.schema import (
    SCHEMA,
    AccessGrant,
    ManagedDevice,
    OnCallShift,
    StaffMember,
    UserAccount,
)
from palaestra.records import Row

pytestmark = pytest.mark.xdist_group("itdesk")


def breaches(state: Overlay) -> list[str]:
    return records_are_sound(PopulatedWorld(state=state, start=world_start(1000), rules=DeskRules()))


@pytest.mark.parametrize("seed", [1000, 1003, 2001, 3000, 4002])
def test_the_rows_are_sound(seed: int) -> None:
    rules = RULES(seed, 0)
    world = PopulatedWorld(state=Overlay(populate(seed, rules)), start=world_start(seed), rules=rules)
    assert records_are_sound(world) == []


def change(kind: type[Row], **columns: Any) -> list[str]:
    """What is found of rows of which the last of a kind is changed."""
    state = Overlay(populate(1000, DeskRules()))
    state.update(state.find(kind)[-1], **columns)
    return breaches(state)


def test_each_rule_of_the_rows_finds_a_breach() -> None:
    assert any("line manager" in one for one in change(StaffMember, manager_id=None))
    assert any("moved on" in one for one in change(StaffMember, former_department="sales"))
    assert any("is joining" in one for one in change(StaffMember, status="joining"))
    assert any("has left" in one for one in change(StaffMember, status="left"))
    assert any("accounts" in one for one in change(UserAccount, staff_member_id="STF-101"))
    assert any("rests on 0" in one for one in change(AccessGrant, approval_id=None))
    assert any("rests on APR-" in one for one in change(AccessGrant, approval_id="APR-4001"))
    assert any("held by" in one for one in change(ManagedDevice, staff_member_id="STF-101"))
    assert any("which staff has not" in one for one in change(OnCallShift, staff_member_id="STF-999"))


def test_shifts_that_follow_too_soon_are_found() -> None:
    state = Overlay(populate(1000, DeskRules()))
    first = state.find(OnCallShift)[0]
    other = next(one for one in state.find(OnCallShift) if one.rota == first.rota and one.id != first.id)
    state.update(other, staff_member_id=first.staff_member_id)
    assert any("too near" in one for one in breaches(state))


def test_an_owner_who_is_nobody_and_too_many_seats_are_found() -> None:
    rows = populate(1000, DeskRules()).rows
    systems: Any = rows["systems"]
    pools: Any = rows["pools"]
    changed = {
        "systems": [replace(one, owner_id="STF-999") for one in systems.values()],
        "pools": [replace(one, seats=1) for one in pools.values()],
    }
    base = Base(SCHEMA, [row for table in rows for row in changed.get(table, rows[table].values())])
    found = breaches(Overlay(base))
    assert sum("is nobody" in one for one in found) == len(systems)
    assert sum("seats are assigned" in one for one in found) == len(pools)


def test_every_kind_of_people_is_there() -> None:
    for seed in (1000, 2000, 3000, 4000, 2500):
        rows = populate(seed, DeskRules()).rows["staff"].values()
        people = cast("list[StaffMember]", list(rows))
        assert {"joining", "active", "left"} == {one.status for one in people}
        assert sum(one.contract == "contractor" for one in people) >= 5
        assert {one.rota for one in people} == {None, "network", "database", "workplace"}
        assert all(one.moved is None or one.former_department != one.department for one in people)


def test_held_out_people_have_names_of_their_own() -> None:
    def names(seed: int) -> set[str]:
        return {cast("StaffMember", one).name for one in populate(seed, DeskRules()).rows["staff"].values()}

    assert names(3000).isdisjoint(names(1000) | names(1001) | names(2000))


def test_each_rule_changes_the_section_that_states_it() -> None:
    rules = RULES
    own = {section.id: section for section in write_sections(rules.own)}
    assert set(rules.changes) == set(rules.sections)
    for name, values in rules.changes.items():
        for value in values:
            changed = {one.id: one for one in write_sections(replace(rules.own, **{name: value}))}
            assert {key for key in own if own[key] != changed[key]} == set(rules.sections[name]), name


def test_the_handbook_of_a_world_states_its_own_rules() -> None:
    for seed in (1000, 4001):
        rules = RULES(seed, 0)
        rows = populate(seed, rules).rows["handbook"]
        assert {cast("Section", row).body for row in rows.values()} == {one.body for one in write_sections(rules)}
    assert RULES(1000, 0) == DeskRules() != RULES(4001, 0)


def test_rest_is_counted_from_the_earlier_shift_whatever_the_order() -> None:
    day = world_start(1000).date()
    early, late = (day, day.replace(day=day.day)), (day.replace(year=2027), day.replace(year=2027))
    assert rest_between(early, late) == rest_between(late, early) == 365
    assert rest_between(early, early) == 0


_DIGEST = """
import hashlib
from palaestra.envs.worlds.itdesk.population import populate
from palaestra.envs.worlds.itdesk.policy import DeskRules
rows = populate(1000, DeskRules()).rows
print(hashlib.sha256(repr([(t, sorted(map(repr, rows[t].values()))) for t in sorted(rows)]).encode()).hexdigest())
"""


def test_rows_are_equal_in_another_process() -> None:
    rows = populate(1000, DeskRules()).rows
    own = hashlib.sha256(repr([(t, sorted(map(repr, rows[t].values()))) for t in sorted(rows)]).encode()).hexdigest()
    told = subprocess.run(
        [sys.executable, "-c", _DIGEST],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "7"},
    )
    assert told.stdout.strip() == own

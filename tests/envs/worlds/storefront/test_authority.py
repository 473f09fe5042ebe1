"""Who may approve a refund, held to the handbook's words by a second reading of them."""

from itertools import product

import pytest

from palaestra.envs.state import Overlay
from palaestra.envs.worlds.storefront.authority import (
    at_work_covering,
    eligible_approvers,
    newcomer,
    on_leave_covering,
    stand_ins,
)
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.schema import Employee
from palaestra.envs.worlds.storefront.world import STOREFRONT
from palaestra.seeding import Stream

WORLDS = tuple(product((1000, 3000, 4001), (0, 1)))


def desk_of(seed: int, handbook: int) -> Desk:
    return Desk(
        state=Overlay(STOREFRONT.base(seed, handbook)),
        start=STOREFRONT.start(seed),
        family_stream=Stream.root("authority", seed),
        ordinal=0,
        rules=STOREFRONT.rules(seed, handbook),
    )


def amounts(desk: Desk) -> list[int]:
    alone, supervisor = desk.policy.agent_limit_cents, desk.policy.supervisor_limit_cents
    return [alone + 1, (alone + supervisor) // 2, supervisor, supervisor + 1, 2 * supervisor]


@pytest.mark.parametrize("world", WORLDS)
def test_up_to_a_limit_supervisors_approve_and_above_it_finance_managers(world: tuple[int, int]) -> None:
    desk = desk_of(*world)
    for cents in amounts(desk):
        wanted = ("support", "supervisor") if cents <= desk.policy.supervisor_limit_cents else ("finance", "manager")
        found = eligible_approvers(desk, cents)
        assert {(e.team, e.rank) for e in found} == {wanted}
        assert all(e.approval_limit_cents >= cents for e in found)


@pytest.mark.parametrize("world", WORLDS)
def test_everybody_at_work_but_the_stand_ins_covers_less_or_has_a_higher_limit(world: tuple[int, int]) -> None:
    desk = desk_of(*world)
    for cents in amounts(desk):
        chosen = stand_ins(desk, cents)
        assert chosen
        for colleague in desk.state.find(Employee, team=chosen[0].team, rank=chosen[0].rank, on_leave=False):
            better = cents <= colleague.approval_limit_cents < chosen[0].approval_limit_cents
            same = colleague.approval_limit_cents == chosen[0].approval_limit_cents
            assert not better
            assert (colleague in chosen) == same


@pytest.mark.parametrize("world", WORLDS)
def test_a_raised_newcomer_stands_in_where_the_lowest_limit_comes_first(world: tuple[int, int]) -> None:
    desk = desk_of(*world)
    cents = desk.policy.agent_limit_cents + 5_000
    assert newcomer(desk) not in stand_ins(desk, cents)
    raised = desk.state.update(newcomer(desk), approval_limit_cents=cents)
    chosen = stand_ins(desk, cents)
    assert (chosen == [raised]) == (desk.policy.asked_first == "lowest")
    assert raised in chosen or chosen[0].approval_limit_cents > raised.approval_limit_cents


@pytest.mark.parametrize("world", WORLDS)
def test_somebody_at_work_and_somebody_on_leave_covers_every_amount(world: tuple[int, int]) -> None:
    desk = desk_of(*world)
    for cents in amounts(desk):
        assert not at_work_covering(desk, cents).on_leave
        assert on_leave_covering(desk, cents).on_leave


def test_nobody_stands_in_when_all_who_could_are_on_leave() -> None:
    desk = desk_of(1000, 0)
    cents = desk.policy.supervisor_limit_cents
    for able in stand_ins(desk, cents):
        desk.state.update(able, on_leave=True)
    assert stand_ins(desk, cents) == []

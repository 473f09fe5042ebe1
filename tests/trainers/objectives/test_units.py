"""Every preset in its own unit: what is paid in points of 100 teaches what is paid in points of 1."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
import torch

from complete import complete, gradient, step_of
from palaestra.errors import ConfigError
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives import (
    BuiltObjective,
    ObjectiveConfig,
    Recipe,
    build,
    preset,
    presets,
    read_recipe,
)
from palaestra.trainers.objectives.rewards import RewardUnit

POINTS = 100.0
STATED = presets()
ANY = [name for name in STATED if preset(name).recipe["unit"] == "any"]
IN_A_UNIT = [name for name in presets() if name not in ANY]
HIDDEN: Mapping[str, str] = {
    "laconic": "its price is 0 in the first batch",
    "ppo": "its critic learns returns, and its steps have a size",
    "ragen2": "its filter bears a hundredth of a return, which this batch does not need",
    "starpo_s": "its critic learns returns, and its steps have a size",
    "vapo": "its critic learns returns, and its steps have a size",
    "repo": "no rollout of this batch is a solution in other words",
    "recipe_2026": "its advantages are normalised, and its price on length is 0 in the first batch",
}
"""Presets whose unit shows in more than the gradient of one batch."""


def paid(batch: TokenBatch, points: float, *, said: bool = True) -> TokenBatch:
    """The batch as a world would pay it in which a solved task is worth so many points, and which says so."""
    returns = ("layers_UL", "harm_U", "won_UL", "flip_RK", "greedy_R", "counterfactual_R")
    columns = {name: points * batch.column(name) for name in returns}
    columns["total_R"] = torch.full_like(batch.return_R, points if said else 0.0)
    return replace(batch, reward_U=points * batch.reward_U, return_R=points * batch.return_R).with_columns(columns)


def unconverted(name: str) -> BuiltObjective:
    return build(read_recipe({**preset(name).recipe, "unit": "any"}))


@pytest.mark.parametrize("name", presets())
def test_what_is_paid_in_points_of_100_teaches_what_is_paid_in_points_of_1(name: str) -> None:
    built = ObjectiveConfig(preset=name).build
    for seed in range(2):
        batch = complete(seed=seed)
        one_T, hundred_T = gradient(built(), paid(batch, 1.0)), gradient(built(), paid(batch, POINTS))
        assert one_T.any()
        # What is the same at any scale divides by a deviation and something small, which is not of any scale.
        tolerance = 1e-4 if name in ANY else 1e-12
        assert (hundred_T - one_T).norm() <= tolerance * one_T.norm()


@pytest.mark.parametrize("name", [name for name in IN_A_UNIT if name not in HIDDEN])
def test_without_its_conversion_a_preset_in_a_unit_takes_another_step(name: str) -> None:
    batch = complete()
    one_T, hundred_T = (gradient(unconverted(name), paid(batch, points)) for points in (1.0, POINTS))
    assert (hundred_T - one_T).norm() > 1e-3 * one_T.norm()


def test_every_preset_that_hides_its_unit_is_one_in_a_unit() -> None:
    assert HIDDEN.keys() <= set(IN_A_UNIT)


def test_oapl_on_points_of_100_is_another_algorithm_unless_they_are_converted() -> None:
    batch = complete()
    one_T = gradient(unconverted("oapl"), paid(batch, 1.0))
    raw_T = gradient(unconverted("oapl"), paid(batch, POINTS))
    assert raw_T.norm() > 50 * one_T.norm()
    assert torch.cosine_similarity(one_T, raw_T, dim=0) < 0.99
    converted_T = gradient(ObjectiveConfig(preset="oapl").build(), paid(batch, POINTS))
    assert torch.cosine_similarity(one_T, converted_T, dim=0) == pytest.approx(1.0, abs=1e-12)


def test_worlds_of_one_batch_are_each_converted_by_what_they_pay() -> None:
    batch = complete()
    hundred_R = batch.group_R == 1
    factor_R = torch.where(hundred_R, POINTS, 1.0).double()
    mixed = replace(
        batch, reward_U=batch.reward_U * factor_R[batch.trajectory_U], return_R=batch.return_R * factor_R
    ).with_columns({"total_R": factor_R})
    built = ObjectiveConfig(preset="oapl").build()
    torch.testing.assert_close(gradient(built, mixed), gradient(built, batch), rtol=1e-12, atol=0)


def test_returns_of_1_in_a_unit_of_1_are_left_as_they_are_to_the_last_bit() -> None:
    batch = complete()
    assert RewardUnit().convert(batch).equals(batch)


def test_hipers_penalties_are_for_returns_of_10() -> None:
    built = ObjectiveConfig(preset="hiper").build()
    assert built.returns == 10
    batch = complete()
    converted = built.convert(paid(batch, POINTS))
    torch.testing.assert_close(converted.return_R, 10 * batch.return_R)
    torch.testing.assert_close(converted.column("layers_UL"), 10 * batch.column("layers_UL"))


def test_solved_tasks_are_paid_in_the_unit_of_the_constants_beside_them() -> None:
    """Otherwise HiPER's penalty for a single kept subgoal would be a third of what a solved task pays."""
    with pytest.raises(ConfigError, match=r"amount=1, and .* that a solved task returns 10; give amount = 10"):
        ObjectiveConfig(preset="hiper", parts={"rewards": ["solved"]})
    ObjectiveConfig(preset="hiper", parts={"rewards": [{"part": "solved", "amount": 10}]})
    ObjectiveConfig(parts={"rewards": [{"part": "solved", "amount": 7}], "unit": "any"})
    ObjectiveConfig(preset="hiper", parts={"rewards": [{"part": "unit", "size": 100}, "solved"]})


def test_where_the_world_does_not_say_what_it_pays_a_unit_is_refused_and_any_is_not() -> None:
    silent = paid(complete(), POINTS, said=False)
    with pytest.raises(ConfigError, match=r"returns 1, and the world does not say.*size = 100.*unit = \"any\""):
        step_of(ObjectiveConfig(preset="rloo").build(), silent)
    assert gradient(ObjectiveConfig(preset="grpo").build(), silent).any()


def test_a_size_that_is_stated_takes_the_place_of_the_worlds_word() -> None:
    parts = {"rewards": [{"part": "unit", "size": POINTS}]}
    built = ObjectiveConfig(preset="oapl", parts=parts).build()
    assert "total_R" not in built.requires
    batch = complete()
    torch.testing.assert_close(
        gradient(built, paid(batch, POINTS, said=False)), gradient(unconverted("oapl"), batch), rtol=1e-12, atol=0
    )


def test_parts_of_ones_own_on_a_preset_of_any_scale_are_in_units_of_1() -> None:
    assert ObjectiveConfig(preset="grpo").build().returns is None
    mine = {"rewards": [{"part": "soft-overlong", "longest": 20, "cache": 10}]}
    assert ObjectiveConfig(preset="grpo", parts=mine).build().returns == 1
    assert ObjectiveConfig(preset="grpo", parts={**mine, "unit": 5}).build().returns == 5
    assert ObjectiveConfig(preset="grpo", parts={**mine, "unit": "any"}).build().returns is None
    assert Recipe().unit == 1


def test_filters_see_returns_in_the_unit() -> None:
    parts = {"filters": [{"part": "uncertain", "strategy": "top_p", "amount": 0.9, "score": "std"}], "unit": 1}
    built = ObjectiveConfig(preset="grpo", parts=parts).build()
    shy = complete()
    shy = replace(shy, reward_U=0.005 * shy.reward_U, return_R=0.005 * shy.return_R)  # within the filter's slack
    kept = [step_of(built, paid(shy, points)).batch.trajectories for points in (1.0, POINTS)]
    assert kept[0] == kept[1] < step_of(unconverted("grpo"), shy).batch.trajectories


@pytest.mark.parametrize("unit", [0, -1, float("inf"), "some"])
def test_a_unit_that_is_none_is_refused(unit: object) -> None:
    with pytest.raises(ConfigError, match="unit"):
        ObjectiveConfig(parts={"unit": unit})


def test_a_conversion_behind_other_rewards_is_refused() -> None:
    unit = {"part": "unit", "size": 100}
    with pytest.raises(ConfigError, match="unit stands at place 2, and what it converts has been changed by then"):
        ObjectiveConfig(parts={"rewards": [{"part": "tool-bonus", "most": 5}, unit]})
    with pytest.raises(ConfigError, match="size=0"):
        ObjectiveConfig(parts={"rewards": [{"part": "unit", "size": 0}]})

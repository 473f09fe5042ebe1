"""What holds of every part that gives turns their own advantage, whatever its formula."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from credit import drawn_rewards, played
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives import build, read_recipe
from palaestra.trainers.objectives.part import Part, part_of

GROUPS = [4, 4, 4, 9, 9, 2]
NAMES = ("adca", "blockwise", "cm2", "gigpo", "hiper", "igpo", "mig", "mt-grpo", "sharp")
KINDS = [part_of("advantage", name) for name in NAMES] + [part_of("reward", "potential")]
FULL = ("switch", "plan", "", "action")


def drawn(seed: int, kind: torch.dtype) -> TokenBatch:
    """A batch with every column that these parts read; its numbers are of one type, its names are 64-bit integers."""
    rng = np.random.default_rng(seed)
    rewards = drawn_rewards(rng, GROUPS)
    turns, trajectories = sum(map(len, rewards)), len(rewards)

    def numbers(*shape: int) -> Tensor:
        return torch.from_numpy(rng.normal(size=shape)).to(kind)

    def flags(*shape: int) -> Tensor:
        return torch.from_numpy(rng.integers(0, 2, shape)).to(kind)

    columns = {
        "anchor_U": torch.from_numpy(rng.integers(0, 3, turns)) + 2**62,
        "goal_U": torch.from_numpy(rng.integers(-1, 2, turns)) * 2**61,
        "agent_R": torch.from_numpy(rng.integers(0, 2, trajectories)) - 2**62,
        "met_UC": flags(turns, 3),
        "open_UC": flags(turns, 3),
        "points_RC": torch.tensor([[0.5, 0.25, 0.25]] * trajectories, dtype=kind),
        "gold_U": -numbers(turns).abs(),
        "gold_R": -numbers(trajectories).abs(),
        "values_UH": numbers(turns, 3),
        **{name: flags(turns) for name in ("switch_U", "invalid_U", "label_U")},
        "done_R": flags(trajectories),
        "potential_U": numbers(turns),
        "potential_R": numbers(trajectories),
        "counterfactual_R": numbers(trajectories),
    }
    batch = played(rewards, GROUPS, parts=[FULL[: 1 + turn % 4] for turn in range(turns)], columns=columns)
    changed: dict[str, Any] = {"reward_U": batch.reward_U.to(kind), "return_R": batch.return_R.to(kind)}
    return type(batch)(**{name: getattr(batch, name) for name in batch.__slots__} | changed)


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> Part:
    found: Part = request.param
    return found


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_numbers_keep_their_type_and_are_finite(kind: Part, dtype: torch.dtype) -> None:
    found = kind.make()(drawn(0, dtype))
    assert found.dtype == dtype
    assert found.isfinite().all()
    assert found.any()


def test_what_is_given_is_not_changed(kind: Part) -> None:
    batch = drawn(1, torch.float64)
    kind.make()(batch)
    assert batch.equals(drawn(1, torch.float64))


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_trajectories_does_not_matter(kind: Part, seed: int) -> None:
    batch = drawn(seed, torch.float64)
    order = np.random.default_rng(seed).permutation(batch.trajectories).tolist()
    found, shuffled = kind.make()(batch), kind.make()(batch.select(order))
    owner = batch.trajectory_U if kind.plug == "reward" else batch.trajectory_T
    for place, trajectory in enumerate(order):
        to = batch.select(order)
        mine = (to.trajectory_U if kind.plug == "reward" else to.trajectory_T) == place
        torch.testing.assert_close(shuffled[mine], found[owner == trajectory], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.name != "blockwise"], ids=lambda kind: kind.name)
def test_other_groups_do_not_matter(kind: Part, seed: int) -> None:
    """But to Blockwise, which asks the whole batch where nobody of a group came out alike."""
    batch = drawn(seed, torch.float64)
    found, alone = kind.make()(batch), kind.make()(batch.select([0, 1, 2]))
    torch.testing.assert_close(alone, found[: len(alone)], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_neutral_settings_are_settings(kind: Part) -> None:
    neutral = kind.neutral or {}
    part = kind.make(**neutral)
    assert {name: getattr(part, name) for name in neutral} == dict(neutral)


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_can_name_it(name: str) -> None:
    built = build(read_recipe({"advantage": name, "unit": "any"}))
    assert built.requires == part_of("advantage", name).requires


def test_a_recipe_can_name_the_reward() -> None:
    built = build(read_recipe({"rewards": ["potential"], "unit": "any"}))
    assert built.requires == {"potential_U", "potential_R"}

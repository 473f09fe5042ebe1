"""Transforms as parts of an objective."""

from typing import Any

import pytest
import torch

from palaestra.trainers.objectives.advantages import GroupAdvantage, rloo
from palaestra.trainers.objectives.build import build, read_recipe
from palaestra.trainers.objectives.columns import COLUMNS
from palaestra.trainers.objectives.part import part_of
from palaestra.trainers.objectives.transforms import BatchNorm, DropSmall
from scored import drawn

TRANSFORMS: dict[str, dict[str, Any]] = {
    "arm": {"alpha": 0.1},
    "batch-norm": {"over": "tokens", "clamp": 2.0},
    "drop-small": {"below": 0.1},
}


@pytest.mark.parametrize("name", sorted(TRANSFORMS))
def test_a_recipe_builds_it(name: str) -> None:
    built = build(read_recipe({"transforms": [{"part": name, **TRANSFORMS[name]}]}))
    assert part_of("transform", name).requires <= built.requires <= COLUMNS.keys()
    batch = drawn(0)
    found = built.objective.advantages(batch)
    assert found.advantage_T.isfinite().all()
    assert not torch.equal(found.advantage_T, build(read_recipe({})).objective.advantages(batch).advantage_T)


@pytest.mark.parametrize("name", sorted(TRANSFORMS))
def test_nothing_that_is_given_is_changed(name: str) -> None:
    batch = drawn(1)
    advantage_T = GroupAdvantage()(batch)
    before = {key: value.clone() for key, value in {**batch.arrays(), "given": advantage_T}.items()}
    part_of("transform", name).make(**TRANSFORMS[name])(advantage_T, batch)
    after = {**batch.arrays(), "given": advantage_T}
    assert all(torch.equal(after[key], value) for key, value in before.items())


def test_transforms_are_made_in_their_order() -> None:
    batch = drawn(2)
    recipe = {"advantage": "rloo", "transforms": [{"part": "drop-small", "below": 0.5}, "batch-norm"]}
    found_T = build(read_recipe(recipe)).objective.advantages(batch).advantage_T[batch.trained_T]
    small_T = DropSmall(below=0.5)(rloo(batch), batch)
    expected_T = BatchNorm()(small_T, batch)[batch.trained_T]
    torch.testing.assert_close(found_T, expected_T, rtol=0, atol=1e-12)

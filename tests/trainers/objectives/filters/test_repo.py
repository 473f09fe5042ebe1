"""RePO: which rollouts of a group make room for a rephrased solution, against a loop over groups."""

import math

import pytest
import torch

from palaestra.errors import ConfigError
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives import ObjectiveConfig
from palaestra.trainers.objectives.filters import RephrasedSolutions
from scored import paid


def batch_of(returns: list[float], groups: list[int], rephrased: list[int]) -> TokenBatch:
    marks = torch.zeros(len(returns), dtype=torch.float64)
    marks[rephrased] = 1
    return paid(returns, groups).with_columns({"rephrased_R": marks})


def kept(part: RephrasedSolutions, batch: TokenBatch) -> list[int]:
    found: list[int] = part(batch).nonzero()[:, 0].tolist()
    return found


def expected(part: RephrasedSolutions, batch: TokenBatch) -> list[int]:
    """The same, one group after another."""
    keep: list[int] = []
    for group in sorted(set(batch.group_R.tolist())):
        members = [r for r in range(batch.trajectories) if int(batch.group_R[r]) == group]
        own = [r for r in members if not float(batch.column("rephrased_R")[r])]
        further = [r for r in members if r not in own]
        failed = [r for r in own if float(batch.return_R[r]) < part.failure]
        if further and len(failed) >= part.share * len(own):
            own.remove(min(own, key=lambda r: float(batch.return_R[r])))
            own += further
        keep += own
    return sorted(keep)


def test_a_group_that_fails_often_enough_gives_its_worst_rollout_for_the_solution() -> None:
    # Of the first group 3 of 4 failed, of the second 2 of 4.
    returns = [0.0, 1.0, -0.2, 0.3, 0.0, 1.0, 0.0, 1.0, 0.9, 1.0]
    batch = batch_of(returns, [0] * 4 + [1] * 4 + [0, 1], [8, 9])
    assert kept(RephrasedSolutions(), batch) == [0, 1, 3, 4, 5, 6, 7, 8]
    assert kept(RephrasedSolutions(share=0.5), batch) == [0, 1, 3, 5, 6, 7, 8, 9]
    assert kept(RephrasedSolutions(failure=0.1), batch) == [0, 1, 2, 3, 4, 5, 6, 7]


def test_of_equally_bad_rollouts_the_first_goes_and_a_worse_solution_still_joins() -> None:
    batch = batch_of([0.0, 0.0, 0.0, -5.0], [0] * 4, [3])
    assert kept(RephrasedSolutions(), batch) == [1, 2, 3]


@pytest.mark.parametrize("share", [1.01, math.inf])
def test_above_one_no_group_uses_its_solution(share: float) -> None:
    batch = batch_of([0.0, 0.0, 1.0], [0, 0, 0], [2])
    assert kept(RephrasedSolutions(share=share), batch) == [0, 1]


@pytest.mark.parametrize("seed", range(20))
def test_it_is_what_a_loop_over_groups_keeps_and_no_group_changes_its_size(seed: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    sizes: list[int] = torch.randint(1, 6, (5,), generator=draw).tolist()
    groups = [group for group, size in enumerate(sizes) for _ in range(size)] + list(range(5))
    returns: list[float] = (torch.randint(0, 4, (len(groups),), generator=draw) / 4).tolist()
    batch = batch_of(returns, groups, list(range(sum(sizes), len(groups))))
    for part in (RephrasedSolutions(), RephrasedSolutions(failure=0.8, share=0.3), RephrasedSolutions(share=2.0)):
        assert kept(part, batch) == expected(part, batch)
        assert [sum(groups[r] == group for r in kept(part, batch)) for group in range(5)] == sizes


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"share": 0.0}, "share=0.0: at 0 every group"), ({"failure": math.nan}, "failure=nan: .* finite number")],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RephrasedSolutions(**settings)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"ratio": {"anchor": "rollout"}}, "repo needs ratio.anchor=old: .* under another prompt"),
        ({"filters": ["repo", "mixed"], "refill": 3}, "repo does not go with refill: .* before its solution"),
        (
            {"schedule": {"name": "turns"}, "ratio": {"anchor": "old", "granularity": "turn"}},
            "repo does not go with schedule=turns: .* before the first step",
        ),
    ],
)
def test_recipes_in_which_the_solution_has_no_place_are_refused(parts: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ObjectiveConfig(preset="repo", parts=parts)

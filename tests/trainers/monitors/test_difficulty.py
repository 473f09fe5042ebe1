"""What groups weigh in a step, by how often they are solved. Axes: T tokens, R trajectories."""

from dataclasses import replace

import pytest
import torch

from complete import complete, step_of
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.monitors import difficulty_metrics, solve_rates
from palaestra.trainers.objectives import ObjectiveConfig


def with_rates(batch: TokenBatch, solved: list[int]) -> TokenBatch:
    """The batch, of whose groups so many passed and were paid 1."""
    passed_R = torch.zeros(batch.trajectories, dtype=torch.float64)
    for group, count in enumerate(solved):
        passed_R[(batch.group_R == group).nonzero()[:count, 0]] = 1.0
    batch = replace(batch, return_R=passed_R).with_columns({"passed_R": passed_R})
    return batch.with_columns({"solved_R": solve_rates(batch)})


def shares(batch: TokenBatch) -> dict[str, float]:
    return {name.removeprefix("gradient/solved/"): share for name, share in difficulty_metrics(batch).items()}


def test_a_rate_is_of_the_whole_group() -> None:
    batch = with_rates(complete(groups=(4, 2)), [1, 2])
    assert batch.column("solved_R").tolist() == [0.25] * 4 + [1.0] * 2


def test_the_weight_is_the_sum_of_weights_times_advantages() -> None:
    batch = with_rates(complete(groups=(4, 4, 8)), [1, 2, 7])
    step = step_of(ObjectiveConfig(preset="grpo").build(), batch)
    ready = step.prepared.batch
    weight = (ready.weight_T * ready.advantage_T).abs()
    found = shares(ready)
    for name, group in (("0-25", 0), ("25-50", 1), ("75-100", 2)):
        own = weight[(ready.group_R == group)[ready.trajectory_T]]
        assert found.pop(name) == pytest.approx(float(own.sum() / weight.sum()))
    assert set(found.values()) == {0.0}


@pytest.mark.parametrize(("scale", "law"), [("none", 1.0), ("group", 0.5)])
def test_groups_weigh_p_times_1_less_p_or_its_root_where_their_deviation_divides(scale: str, law: float) -> None:
    """Each trajectory weighs as much: means over each trajectory, then over all (arXiv:2602.14868)."""
    batch = with_rates(complete(groups=(8, 8, 8)), [1, 3, 6])
    parts = {"advantage": {"part": "group", "scale": scale}, "aggregation": {"name": "seq-mean-token-mean"}}
    found = shares(step_of(ObjectiveConfig(parts=parts).build(), batch).prepared.batch)
    expected = [(p * (1 - p)) ** law for p in (1 / 8, 3 / 8, 6 / 8)]
    assert [found[name] for name in ("0-25", "25-50", "50-75")] == pytest.approx(
        [one / sum(expected) for one in expected], rel=1e-5
    )


def test_groups_that_are_never_or_always_solved_have_ranges_of_their_own() -> None:
    batch = with_rates(complete(groups=(2, 2, 2)), [0, 2, 1])
    ones_T = batch.trained_T.double()
    found = shares(replace(batch, weight_T=ones_T, advantage_T=ones_T))
    assert found["0"] > 0
    assert found["100"] > 0
    assert sum(found.values()) == pytest.approx(1.0)
    assert list(found) == ["0", "0-25", "25-50", "50-75", "75-100", "100"]


def test_where_nothing_has_weight_there_is_no_figure() -> None:
    assert difficulty_metrics(with_rates(complete(), [1, 1, 0, 1])) == {}

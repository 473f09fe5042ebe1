"""Log-partitions that are learnt beside the policy, and what they estimate."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from graded import many, numbers, reals, returning
from palaestra.errors import UnknownNameError
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.parts import Stateful
from palaestra.trainers.objectives.whole import (
    FlowRl,
    LearnableLoss,
    PacedRl,
    Partition,
    WholeTrajectoryObjective,
    partition,
    token_sum,
)
from palaestra.trainers.objectives.whole.adam import AdamParameter
from palaestra.trainers.objectives.whole.partition import PartitionName

NAMES: tuple[PartitionName, ...] = ("mlp", "table")


def made(name: PartitionName, *, rate: float = 0.05, seed: int = 0) -> Partition:
    return partition(name, rate=rate, width=6, seed=seed)


def towards(target_R: Tensor) -> Callable[[Tensor], Tensor]:
    def loss(log_z_R: Tensor) -> Tensor:
        return (log_z_R - target_R).square().mean()

    return loss


@pytest.mark.parametrize("name", NAMES)
def test_it_is_0_until_it_has_learnt(name: PartitionName) -> None:
    batch = many(1)
    assert made(name)(batch).tolist() == [0.0] * batch.trajectories


@pytest.mark.parametrize("name", NAMES)
def test_asking_changes_nothing(name: PartitionName) -> None:
    batch, asked, other = many(1), made(name), made(name)
    asked(batch)
    assert asked.state() == other.state()
    for one in (asked, other):
        one.learn(towards(batch.return_R), batch)
    assert asked.state() == other.state()


@pytest.mark.parametrize("name", NAMES)
def test_it_comes_to_fit_what_it_is_shown(name: PartitionName) -> None:
    batch, log_z = many(1), made(name)
    target_R = batch.column("task_R") / 7 if name == "table" else batch.column("prompt_RF")[:, 0]
    for _ in range(600):
        log_z.learn(towards(target_R), batch)
    assert float((log_z(batch) - target_R).abs().max()) < 0.05


def test_tasks_that_are_not_in_a_batch_stay_as_they_are() -> None:
    log_z = made("table")
    first, second = returning([0, 0, 0], task_R=[5, 2, 5]), returning([0, 0], task_R=[3, 2])
    log_z.learn(towards(reals([1, 2, 1])), first)
    before = log_z(first)
    log_z.learn(towards(reals([4, 4])), second)
    after = log_z(first)
    assert before[0] == before[2] == after[0] == after[2]
    assert before[1] != after[1]
    assert float(log_z(returning([0], task_R=[99]))) == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_its_state_is_json_and_loses_nothing(name: PartitionName) -> None:
    batch, one, other = many(1), made(name), made(name, seed=5)
    for _ in range(3):
        one.learn(towards(batch.return_R), batch)
    other.restore(json.loads(json.dumps(one.state())))
    for log_z in (one, other):
        log_z.learn(towards(batch.return_R), batch)
    assert one.state() == other.state()
    assert torch.equal(one(batch), other(batch))


@pytest.mark.parametrize("name", NAMES)
def test_the_state_of_one_that_never_learnt_is_json_too(name: PartitionName) -> None:
    batch, other = many(1), made(name)
    other.restore(json.loads(json.dumps(made(name).state())))
    assert torch.equal(made(name)(batch), other(batch))


def test_weights_come_from_the_seed() -> None:
    batch = many(1)
    found: list[Tensor] = []
    for seed in (0, 0, 1):
        log_z = made("mlp", seed=seed)
        log_z.learn(towards(batch.return_R), batch)
        log_z.learn(towards(batch.return_R), batch)
        found.append(log_z(batch))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_its_steps_are_those_of_adam() -> None:
    """Against torch's own, on the same slopes."""
    own = torch.nn.Parameter(reals([1.0, -2.0, 0.0]))
    optimiser = torch.optim.Adam([own], lr=0.03)
    learnt = AdamParameter.new(own.detach().clone())
    for step in range(20):
        own.grad = reals([math.sin(step), step / 7.0, 0.0])
        learnt = learnt.step(own.grad.clone(), rate=0.03)
        optimiser.step()
        torch.testing.assert_close(learnt.value, own.detach(), rtol=1e-12, atol=1e-15)


def test_the_layers_are_those_of_torch() -> None:
    """(linear, GELU, layer norm) twice, then linear, with the same weights."""
    batch, log_z = many(1), made("mlp")
    for _ in range(5):
        log_z.learn(towards(batch.return_R), batch)
    layers: Any = log_z.state()["layers"]
    values = [reals(layer["value"]) for layer in layers]
    plain = torch.nn.Sequential(
        torch.nn.Linear(5, 6), torch.nn.GELU(), torch.nn.LayerNorm(6),
        torch.nn.Linear(6, 6), torch.nn.GELU(), torch.nn.LayerNorm(6),
        torch.nn.Linear(6, 1),
    ).double()  # fmt: skip
    with torch.no_grad():
        for parameter, value in zip(plain.parameters(), values, strict=True):
            parameter.copy_(value)
        expected_R = plain(batch.column("prompt_RF"))[:, 0]
    torch.testing.assert_close(log_z(batch), expected_R, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_it_reads_the_column_that_it_says(name: PartitionName) -> None:
    batch = many(1).with_columns({})
    (column,) = made(name).requires
    with pytest.raises(UnknownNameError, match=column):
        made(name)(returning([0]))
    assert FlowRl(partition=name).requires == {"old_T", "ref_T", column}
    assert PacedRl(partition=name).requires == {"old_T", column}
    assert len(made(name)(batch)) == batch.trajectories


def standing(batch: TokenBatch) -> TokenBatch:
    """With a policy that has not moved since the batch began."""
    return batch.with_columns({"old_T": batch.column("now_T")})


def test_paced_is_best_at_the_mean_return_less_how_far_the_policy_moved() -> None:
    """beta log Z = mean R + beta mean(old - now): 0.75 - 0.05 * 0.05 = 0.7475 of three in four, moved by 0.05."""
    batch = returning([1, 1, 1, 0], task_R=[1, 1, 1, 1])
    logp_R = token_sum(batch.column("old_T"), batch) + reals([0.2, -0.1, 0.1, 0.0])
    loss = PacedRl(partition="table")
    log_z_R = torch.full((4,), 0.7475 / 0.05, dtype=torch.float64, requires_grad=True)
    (slope_R,) = torch.autograd.grad(loss.balance(log_z_R, logp_R, batch), log_z_R)
    assert float(slope_R.sum()) == pytest.approx(0, abs=1e-12)
    assert 0.05 * float(log_z_R[0].detach()) == pytest.approx(0.7475, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_where_the_policy_stands_still_paced_finds_how_often_tasks_are_solved(name: PartitionName) -> None:
    """Of three tasks with 3/4, 1/4 and none; `estimate` stays within 0 and 1."""
    passed = [1.0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    prompts = [[1.0, 0.0, 0.0]] * 4 + [[0.0, 1.0, 0.0]] * 4 + [[0.0, 0.0, 1.0]] * 4
    batch = returning(passed, groups=[0] * 4 + [1] * 4 + [2] * 4, task_R=[0.0] * 4 + [1.0] * 4 + [2.0] * 4)
    batch = standing(batch).with_columns({"prompt_RF": torch.tensor(prompts, dtype=torch.float64)})
    loss = PacedRl(partition=name, rate=0.1, width=8)
    whole = WholeTrajectoryObjective(loss=loss)
    for _ in range(800):
        whole.prepare(batch)
    assert numbers(loss.estimate(batch)) == pytest.approx([0.75] * 4 + [0.25] * 4 + [0.0] * 4, abs=0.02)


def test_an_estimate_is_a_probability() -> None:
    loss = PacedRl(partition="table")
    loss.restore({"task": [1, 2], "value": [900.0, -3.0], "mean": [0, 0], "square": [0, 0], "steps": [1, 1]})
    assert loss.estimate(returning([0, 0], task_R=[1, 2])).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("loss", [FlowRl(partition="table"), PacedRl(partition="mlp")], ids=repr)
def test_calling_a_loss_changes_nothing_and_its_step_does(loss: FlowRl | PacedRl) -> None:
    batch = many(4)
    assert isinstance(loss, LearnableLoss)
    assert isinstance(loss, Stateful)
    logp_R = token_sum(batch.column("now_T"), batch)
    before = loss.state()
    value = loss(logp_R, batch)
    assert loss.state() == before
    loss.learn(logp_R, batch)
    assert loss.state() != before
    assert float(loss(logp_R, batch)) < float(value)


@pytest.mark.parametrize("make", [lambda: FlowRl(partition="mlp"), lambda: PacedRl(partition="table")])
def test_a_restored_loss_goes_on_as_it_was(make: Any) -> None:
    batch, one, other = many(4), make(), make()
    WholeTrajectoryObjective(loss=one).prepare(batch)
    other.restore(json.loads(json.dumps(one.state())))
    first, second = (
        WholeTrajectoryObjective(loss=one).prepare(batch),
        WholeTrajectoryObjective(loss=other).prepare(batch),
    )
    assert first.batch.equals(second.batch)
    assert one.state() == other.state()

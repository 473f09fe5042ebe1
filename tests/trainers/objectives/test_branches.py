"""Continuations beside whole trajectories: credit among siblings, no loss for what was shared, own means.

Axes: T tokens, R trajectories.
"""

from dataclasses import replace
from statistics import fmean, stdev

import pytest
import torch
from torch import Tensor

from palaestra.seeding import Stream
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.branches import BRANCH, add_branches, split_streams
from palaestra.trainers.data.flatten import flatten
from palaestra.trainers.objectives import ObjectiveConfig
from palaestra.trainers.objectives.advantages.group import GroupAdvantage
from palaestra.trainers.objectives.aggregation import Aggregation
from palaestra.trainers.objectives.composed import ComposedObjective
from palaestra.trainers.updates.minibatches import shares
from palaestra.trajectory import Episode, Segment, Span, Tokens
from trajectories import episode, turn


def make_episode(group: str, *rewards: float, shared: int = 0) -> Episode:
    """Turns of one token behind a prompt of one, each answered by one; the first `shared` were drawn by another."""
    width = 1 + 2 * len(rewards)
    tokens = Tokens(
        ids=tuple(range(width)),
        sampled=tuple(place % 2 == 1 and place > 2 * shared for place in range(width)),
        logprobs=(0.0,) * width,
        versions=(0,) * width,
        spans=tuple(Span(kind="turn", start=1 + 2 * n, end=2 + 2 * n) for n in range(len(rewards))),
        stops=tuple("end" for _ in rewards),
        shared_turns=shared,
    )
    one = episode(Segment(prompt=(), turns=tuple(map(turn, rewards)), tokens=tokens), id=f"{group}/{rewards}")
    return replace(one, group=group)


MAIN = flatten(
    [
        make_episode("a", 0, 0, 0),
        make_episode("a", 5, 0),
        make_episode("b", 100),
        make_episode("b", 0, 0),
        make_episode("b", 30, 0),
    ]
)
BRANCHES = flatten(
    [
        make_episode("a/0/1", 0, 90, shared=1),
        make_episode("a/0/1", 0, 0, 10, shared=1),
        make_episode("a/0/1", 0, 20, shared=1),
        make_episode("a/1/1", 5, 40, 0, shared=1),
        make_episode("a/1/1", 5, 0, shared=1),
    ]
)
FORKS = ((90.0, 10.0, 20.0), (40.0, 0.0))
"""What the continuations of each fork earned behind it."""


def whole_step(weight: float = 1.0) -> TokenBatch:
    return add_branches(MAIN, BRANCHES, weight=weight)


def by_trajectory(value_T: Tensor, batch: TokenBatch) -> list[list[float]]:
    """The values of each trajectory's trained tokens."""
    own_T = batch.trained_T
    return [value_T[own_T & (batch.trajectory_T == one)].tolist() for one in range(batch.trajectories)]


def losses(batch: TokenBatch, logp_T: Tensor, objective: ComposedObjective) -> Tensor:
    """The loss of a whole step."""
    placed = batch.with_columns({"place_T": torch.arange(len(batch.ids_T))})
    prepared = objective.prepare(objective.advantages(placed))
    logp_T = logp_T[prepared.batch.column("place_T")]
    return prepared.loss(logp_T, torch.zeros_like(logp_T), prepared.batch)[0]


def shifted_logprobs(batch: TokenBatch) -> Tensor:
    noise_T = torch.randn(len(batch.ids_T), generator=torch.Generator().manual_seed(3))
    return (batch.logprob_T + 0.1 * noise_T * batch.trained_T).requires_grad_()


# credit


@pytest.mark.parametrize("scale", ["none", "group"])
def test_a_continuation_is_credited_by_its_return_against_those_of_its_siblings(scale: str) -> None:
    """Closed form: (R - mean of the fork) / deviation of the fork, whatever the parents earned."""
    advantage = GroupAdvantage(scale=scale, epsilon=0.0)  # type: ignore[arg-type]
    batch = ComposedObjective(advantage=advantage).advantages(whole_step())
    found = by_trajectory(batch.advantage_T, batch)[MAIN.trajectories :]
    expected = [(own - fmean(fork)) / (stdev(fork) if scale == "group" else 1.0) for fork in FORKS for own in fork]
    for own, one in zip(found, expected, strict=True):
        assert own == [pytest.approx(one)] * len(own) != []


def test_whole_trajectories_keep_the_advantages_that_they_have_without_continuations() -> None:
    alone = ComposedObjective().advantages(MAIN)
    beside = ComposedObjective().advantages(whole_step())
    assert by_trajectory(beside.advantage_T, beside)[: MAIN.trajectories] == by_trajectory(alone.advantage_T, MAIN)


@pytest.mark.parametrize("name", ["gpg", "reinforce-pp-baseline"])
def test_what_is_normalised_over_a_batch_is_so_within_each_stream(name: str) -> None:
    built = ObjectiveConfig(parts={"advantage": name, "unit": "any"}).build().objective
    batch = built.advantages(whole_step())
    for stream, alone in zip(split_streams(batch), (MAIN, BRANCHES), strict=True):
        assert torch.equal(stream.batch.advantage_T, built.advantages(alone).advantage_T)


# loss


def test_what_was_shared_has_no_loss_and_no_gradient() -> None:
    batch = whole_step()
    shared_T = (batch.turn_T >= 0) & ~batch.trained_T
    assert int(shared_T.sum()) == BRANCHES.trajectories, "one turn of one token each"
    logp_T = shifted_logprobs(batch)
    (gradient_T,) = torch.autograd.grad(losses(batch, logp_T, ComposedObjective()), logp_T)
    assert (gradient_T[shared_T] == 0).all()
    own_T = batch.trained_T & (batch.column(BRANCH) != 0)[batch.trajectory_T]
    assert (gradient_T[own_T] != 0).all()


@pytest.mark.parametrize("weight", [0.25, 1.0, 3.0])
@pytest.mark.parametrize("mean", ["token-mean", "seq-mean-token-mean", "prompt-mean"])
def test_the_loss_is_that_of_whole_trajectories_and_weight_times_that_of_continuations(
    weight: float, mean: str
) -> None:
    """DEEP-GRPO: L = mean over main tokens + lambda mean over branch tokens, and no mean over both."""
    objective = ComposedObjective(aggregation=Aggregation(name=mean))  # type: ignore[arg-type]
    logp_T = shifted_logprobs(whole_step())
    main_T, branch_T = logp_T[: len(MAIN.ids_T)], logp_T[len(MAIN.ids_T) :]
    expected = losses(MAIN, main_T, objective) + weight * losses(BRANCHES, branch_T, objective)
    torch.testing.assert_close(losses(whole_step(weight), logp_T, objective), expected)


def test_regularisers_are_means_of_each_stream_too() -> None:
    parts = {"regularisers": [{"part": "move", "coefficient": 0.5}], "unit": "any"}
    objective = ObjectiveConfig(parts=parts).build().objective
    assert isinstance(objective, ComposedObjective)
    main, branches, both = (one.with_columns({"old_T": one.logprob_T}) for one in (MAIN, BRANCHES, whole_step(2.0)))
    logp_T = shifted_logprobs(both)
    main_T, branch_T = logp_T[: len(MAIN.ids_T)], logp_T[len(MAIN.ids_T) :]
    expected = losses(main, main_T, objective) + 2.0 * losses(branches, branch_T, objective)
    torch.testing.assert_close(losses(both, logp_T, objective), expected)


# division


def test_each_update_has_its_part_of_both_streams_and_whole_ones_fall_as_they_do_without() -> None:
    first, second = shares(whole_step(), 2, Stream.root("shares"), joined=False)
    alone = shares(MAIN, 2, Stream.root("shares"), joined=False)
    assert sorted(first + second) == list(range(MAIN.trajectories + BRANCHES.trajectories))
    assert [[one for one in share if one < MAIN.trajectories] for share in (first, second)] == alone
    assert sorted(sum(one >= MAIN.trajectories for one in share) for share in (first, second)) == [2, 3]


def test_a_batch_without_continuations_is_its_only_stream_as_it_stands() -> None:
    (stream,) = split_streams(MAIN)
    assert stream.batch is MAIN
    assert stream.weight == 1


def test_continuations_alone_are_a_stream() -> None:
    batch = whole_step(2.0)
    rest = batch.select(range(MAIN.trajectories, batch.trajectories))
    (stream,) = split_streams(rest)
    assert stream.weight == 2
    assert stream.batch.trajectories == BRANCHES.trajectories

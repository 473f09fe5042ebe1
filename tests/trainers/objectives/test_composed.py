"""Axes: T tokens, R trajectories, B sequences, L places. `rows` of a batch are what the reference reads."""

import math
from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from learning import ADVANTAGES, in_rows, sequences, weighed
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.flatten import flatten
from palaestra.trainers.objectives import PARTS, ObjectiveConfig, part
from palaestra.trainers.objectives.advantages import group_advantages
from palaestra.trainers.objectives.aggregation import Aggregation
from palaestra.trainers.objectives.composed import ComposedObjective
from palaestra.trainers.objectives.objective import Metrics
from palaestra.trainers.objectives.trust import Clip, Surrogate
from palaestra.trainers.reference import grpo as reference
from palaestra.trajectory import Episode
from trajectories import batches

INF = math.inf
ADVANTAGE_R = torch.tensor(ADVANTAGES)
returns = st.lists(st.integers(-60, 100), min_size=1, max_size=24)


def doubled(batch: TokenBatch) -> TokenBatch:
    return replace(batch, logprob_T=batch.logprob_T.double(), advantage_T=batch.advantage_T.double())


def off_policy(batch: TokenBatch, *, spread: float = 0.3) -> Tensor:
    """Log-probabilities on both sides of the clip, with gradients."""
    noise_T = torch.randn(len(batch.ids_T), generator=torch.Generator().manual_seed(7), dtype=batch.logprob_T.dtype)
    return (batch.logprob_T + spread * noise_T).requires_grad_()


def told_of(batch: TokenBatch, logp_T: Tensor, objective: ComposedObjective | None = None) -> tuple[Tensor, Metrics]:
    """The loss of the whole batch, of which some trajectories may be left out, and its figures."""
    placed = batch.with_columns({"place_T": torch.arange(len(batch.ids_T))})
    prepared = (objective or ComposedObjective()).prepare(placed)
    logp_T = logp_T[prepared.batch.column("place_T")]
    return prepared.loss(logp_T, torch.zeros_like(logp_T), prepared.batch)


def loss_of(batch: TokenBatch, logp_T: Tensor, objective: ComposedObjective | None = None) -> Tensor:
    return told_of(batch, logp_T, objective)[0]


def gradient(loss: Tensor, of: Tensor) -> Tensor:
    (found,) = torch.autograd.grad(loss, of)
    return found


# What may not happen


def test_returns_of_other_shapes_than_their_groups_are_a_mistake() -> None:
    with pytest.raises(AssertionError, match="groups"):
        group_advantages(torch.zeros(3), torch.zeros(2, dtype=torch.long))


@pytest.mark.parametrize(("new", "old"), [(0.0, -800.0), (0.0, -INF), (INF, 0.0), (math.nan, math.nan)])
def test_a_token_that_is_not_trained_changes_nothing_whatever_it_holds(new: float, old: float) -> None:
    batch = weighed(sequences())
    clean_T = off_policy(batch)
    dirty_T = clean_T.detach().masked_fill(~batch.trained_T, new).requires_grad_()
    dirty = replace(
        batch,
        logprob_T=batch.logprob_T.masked_fill(~batch.trained_T, old),
        advantage_T=batch.advantage_T.masked_fill(~batch.trained_T, old),
    )
    loss = loss_of(dirty, dirty_T)
    assert loss.item() == loss_of(batch, clean_T).item()
    found_T = gradient(loss, dirty_T)
    assert (found_T[~batch.trained_T] == 0).all()
    assert torch.equal(found_T, gradient(loss_of(batch, clean_T), clean_T))


def test_no_gradient_flows_into_old_log_probabilities_and_advantages() -> None:
    batch = doubled(weighed(sequences()))
    old_T, advantage_T = batch.logprob_T.clone().requires_grad_(), batch.advantage_T.clone().requires_grad_()
    loss_of(replace(batch, logprob_T=old_T, advantage_T=advantage_T), off_policy(batch)).backward()
    assert old_T.grad is None
    assert advantage_T.grad is None


def test_however_far_a_ratio_is_from_one_it_is_finite() -> None:
    batch = weighed(sequences())
    far_T = (batch.logprob_T + 500.0).requires_grad_()
    assert math.isfinite(loss_of(batch, far_T).item())
    assert gradient(loss_of(batch, far_T), far_T).isfinite().all()


# Against the reference


@given(values=returns, data=st.data())
def test_advantages_are_the_references(values: list[int], data: st.DataObject) -> None:
    groups = data.draw(st.lists(st.integers(-2, 5), min_size=len(values), max_size=len(values)))
    return_R, group_R = torch.tensor(values, dtype=torch.float64), torch.tensor(groups)
    found_R = group_advantages(return_R, group_R)
    assert torch.allclose(found_R, reference.group_advantages(return_R, group_R), atol=1e-12, rtol=1e-9)
    single_R = group_advantages(return_R.float(), group_R)
    assert torch.allclose(single_R, reference.group_advantages(return_R.float(), group_R), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("spread", [0.0, 0.1, 0.5, 3.0])
def test_loss_and_gradient_are_the_references(spread: float, double: bool) -> None:
    batch = weighed(sequences())
    batch = doubled(batch) if double else batch
    logp_T = off_policy(batch, spread=spread)
    row_BL = in_rows(logp_T, batch)
    expected = reference.grpo_loss(
        row_BL,
        in_rows(batch.logprob_T, batch),
        ADVANTAGE_R.to(logp_T.dtype),
        in_rows(batch.trained_T, batch),
        clip=0.2,
    )
    expected = expected / batch.trajectories
    loss = loss_of(batch, logp_T)
    off = 1e-12 if double else 2e-6
    assert torch.allclose(loss, expected, atol=off, rtol=off)
    assert torch.allclose(gradient(loss, logp_T), gradient(expected, logp_T), atol=off, rtol=off)


# Advantages


@given(value=st.floats(-1e6, 1e6, width=32), count=st.integers(1, 9))
def test_equal_returns_and_a_group_of_one_give_exactly_zero(value: float, count: int) -> None:
    assert group_advantages(torch.tensor([value] * count), torch.zeros(count, dtype=torch.long)).tolist() == [0] * count
    assert group_advantages(torch.tensor([value] * count), torch.arange(count)).tolist() == [0] * count


@settings(max_examples=30)
@given(drawn=batches)
def test_each_trained_token_has_its_trajectorys_advantage_and_no_other_has_any(drawn: list[Episode]) -> None:
    batch = flatten(drawn)
    found_T = ComposedObjective().advantages(batch).advantage_T
    expected_R = reference.group_advantages(batch.return_R, batch.group_R)
    for token, trajectory in enumerate(batch.trajectory_T.tolist()):
        expected = expected_R[trajectory].item() if batch.trained_T[token] else 0.0
        assert found_T[token].item() == pytest.approx(expected, abs=1e-5)


# Sums and means


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_the_shares_of_micro_batches_add_up_to_the_whole(size: int) -> None:
    batch = doubled(weighed(sequences()))
    prepared = ComposedObjective().prepare(batch)
    logp_T = off_policy(prepared.batch)
    whole, figures = prepared.loss(logp_T, logp_T, prepared.batch)
    loss, clipped = 0.0, 0.0
    for start in range(0, prepared.batch.trajectories, size):
        chosen = range(start, min(start + size, prepared.batch.trajectories))
        inside_T = torch.isin(prepared.batch.trajectory_T, torch.tensor(chosen))
        part, shares = prepared.loss(logp_T[inside_T], logp_T[inside_T], prepared.batch.select(chosen))
        loss, clipped = loss + part.item(), clipped + shares["clip_fraction"]
    assert loss == pytest.approx(whole.item(), rel=1e-12)
    assert clipped == pytest.approx(figures["clip_fraction"], rel=1e-12)


def test_trajectories_without_an_advantage_are_left_out_and_counted() -> None:
    batch = weighed(sequences())
    moved = [r for r in range(batch.trajectories) if ADVANTAGES[r] != 0]
    assert len(moved) < batch.trajectories
    prepared = ComposedObjective().prepare(batch)
    assert prepared.batch.trajectories == len(moved)
    assert float(prepared.batch.weight_T.sum()) == pytest.approx(len(moved) / batch.trajectories)


# The clip


@pytest.mark.parametrize(
    ("advantage", "ratio", "flows"),
    [
        (1.0, 1.29, True),
        (1.0, 1.31, False),  # already likelier than the clip lets it gain
        (1.0, 0.5, True),
        (-1.0, 0.91, True),
        (-1.0, 0.89, False),
        (-1.0, 1.5, True),
    ],
)
def test_where_the_clip_binds_there_is_no_gradient_and_it_is_counted(
    advantage: float, ratio: float, flows: bool
) -> None:
    batch = weighed(sequences(1), [advantage])
    logp_T = (batch.logprob_T + math.log(ratio)).requires_grad_()
    loss, figures = told_of(batch, logp_T, ComposedObjective(trust=Clip(low=0.1, high=0.3)))
    found_T = gradient(loss, logp_T)[batch.trained_T]
    expected = -advantage * ratio / len(found_T) if flows else 0.0
    assert found_T.tolist() == pytest.approx([expected] * len(found_T), rel=1e-5)
    assert figures["clip_fraction"] == (0.0 if flows else 1.0)


# Its relatives


def test_unscaled_advantages_are_distances_from_the_mean() -> None:
    return_R, group_R = torch.tensor([1.0, 3.0, 0.1, 0.1, 0.1]), torch.tensor([4, 4, 9, 9, 9])
    found = group_advantages(return_R, group_R, scale="none")
    assert found.tolist() == [-1.0, 1.0, 0.0, 0.0, 0.0]


def test_in_dr_grpo_a_trajectory_weighs_by_its_length() -> None:
    """Its whole weight grows with its trained tokens, where GRPO's is the same for all."""
    batch = weighed(sequences(), [1.0] * len(ADVANTAGES))
    place_N = batch.trajectory_T[batch.trained_T]
    tokens_R = torch.bincount(place_N, minlength=batch.trajectories)

    def pull(objective: ComposedObjective) -> Tensor:
        logp_T = batch.logprob_T.clone().requires_grad_()
        loss = loss_of(batch, logp_T, objective)
        weight_N = -gradient(loss, logp_T)[batch.trained_T]
        return torch.zeros(batch.trajectories).index_add(0, place_N, weight_N)

    plain_R = pull(ComposedObjective())
    long_R = pull(ComposedObjective(aggregation=Aggregation(name="seq-mean-token-sum", length=100)))
    torch.testing.assert_close(plain_R, torch.full_like(plain_R, 1 / batch.trajectories))
    torch.testing.assert_close(long_R, tokens_R / (100 * batch.trajectories))


# Trajectories without an advantage


def tug(surrogate: Surrogate) -> Tensor:
    """A loss of a user's: it moves every token, whatever its advantage."""
    return -(1 + surrogate.advantage_N) * surrogate.logp_N


def scale(surrogate: Surrogate) -> Tensor:
    """A loss of a user's without a gradient where the advantage is 0."""
    return -2 * surrogate.advantage_N * surrogate.logp_N


@pytest.fixture
def registered() -> Iterator[None]:
    part("trust", "tug", formula="C = 1 + 1 / A")(tug)
    part("trust", "scale", formula="C = 2", pulls=False)(scale)
    yield
    del PARTS["trust", "tug"], PARTS["trust", "scale"]


@pytest.mark.usefixtures("registered")
def test_a_loss_of_a_users_sees_every_trajectory_unless_it_denies_a_gradient_without_an_advantage() -> None:
    batch = doubled(weighed(sequences()))
    flat_T = batch.trained_T & (batch.advantage_T == 0)
    assert bool(flat_T.any())
    for name, region in (("tug", tug), ("scale", scale)):
        built = ObjectiveConfig(parts={"trust": name}).build().objective
        assert isinstance(built, ComposedObjective)
        logp_T = off_policy(batch)
        found_T = gradient(loss_of(batch, logp_T, built), logp_T)
        whole_T = gradient(loss_of(batch, logp_T, ComposedObjective(trust=region)), logp_T)
        weight_T = Aggregation().weights(batch, batch.trained_T)
        slope_T = 1 + batch.advantage_T if name == "tug" else 2 * batch.advantage_T
        expected_T = (-weight_T * slope_T).masked_fill(~batch.trained_T, 0.0)
        torch.testing.assert_close(found_T, expected_T, rtol=1e-12, atol=0)
        torch.testing.assert_close(whole_T, expected_T, rtol=1e-12, atol=0)
        left_out = built.prepare(batch).batch.trajectories < batch.trajectories
        assert left_out == (name == "scale")
        assert bool(found_T[flat_T].any()) == (name == "tug")


def test_a_loss_that_nobody_registered_sees_every_trajectory() -> None:
    batch = doubled(weighed(sequences()))
    logp_T = off_policy(batch)
    found_T = gradient(loss_of(batch, logp_T, ComposedObjective(trust=lambda surrogate: -surrogate.logp_N)), logp_T)
    assert bool((found_T[batch.trained_T] != 0).all())

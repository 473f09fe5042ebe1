"""Whole-trajectory losses put through a model in pieces: no division changes a loss or a gradient."""

from dataclasses import dataclass, field, replace

import pytest
import torch
from torch import Tensor

from graded import graded, many, reals, returning
from palaestra.seeding import Stream
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.objective import PreparedStep
from palaestra.trainers.objectives.parts import WholeLoss
from palaestra.trainers.objectives.term import Term
from palaestra.trainers.objectives.trust import Surrogate
from palaestra.trainers.objectives.whole import (
    Dpo,
    FlowRl,
    Ipo,
    Kto,
    Oapl,
    PacedRl,
    Spin,
    Sppo,
    WholeTrajectoryObjective,
    token_sum,
)


def losses() -> list[WholeLoss]:
    """New ones, for some of them learn."""
    return [
        Oapl(beta1=0.5, beta2=0.1),
        Dpo(),
        Ipo(),
        Ipo(normalised=True),
        Kto(),
        Kto(drift="mismatched"),
        Spin(),
        Sppo(beta=0.5),
        Sppo(beta=0.5, form="rates"),
        FlowRl(partition="table"),
        FlowRl(partition="mlp", clip=None),
        PacedRl(partition="table"),
        PacedRl(partition="mlp"),
    ]


PLACES = range(len(losses()))
NAMES = [repr(loss) for loss in losses()]


def tabular(batch: TokenBatch) -> Tensor:
    """The log-probability of every token, as parameters of a model: as `now_T` has them."""
    return batch.column("now_T").clone().requires_grad_()


def numbered(batch: TokenBatch) -> TokenBatch:
    """With each token's place as its id, by which a share finds its parameters."""
    return batch.with_columns({"place_T": torch.arange(len(batch.ids_T))})


def shares(prepared: PreparedStep, logp_T: Tensor, *, pieces: list[list[int]]) -> tuple[float, Tensor]:
    """The loss that is added up over pieces, and its gradient."""
    total = 0 * logp_T.sum()
    for piece in pieces:
        share = prepared.batch.select(piece)
        own_T = logp_T[share.column("place_T")].masked_fill(~share.trained_T, 0.0)
        total = total + prepared.loss(own_T, torch.zeros_like(own_T), share)[0]
    (gradient_T,) = torch.autograd.grad(total, logp_T)
    return float(total.detach()), gradient_T


def divided(count: int, seed: int) -> list[list[int]]:
    """All places below `count`, in pieces of any size."""
    stream = Stream.root("pieces", seed)
    order = stream.permutation(range(count))
    pieces: list[list[int]] = []
    while order:
        size = min(1 + stream.below(4), len(order))
        pieces.append(order[:size])
        order = order[size:]
    return pieces


@pytest.mark.parametrize("place", PLACES, ids=NAMES)
@pytest.mark.parametrize("seed", range(6))
def test_any_division_adds_up_to_the_loss_and_its_gradient(place: int, seed: int) -> None:
    batch = numbered(many(seed))
    logp_T = tabular(batch)
    direct = losses()[place](token_sum(logp_T, batch), batch)
    (expected_T,) = torch.autograd.grad(direct, logp_T, allow_unused=True, materialize_grads=True)
    prepared = WholeTrajectoryObjective(loss=losses()[place]).prepare(batch)
    found, gradient_T = shares(prepared, logp_T, pieces=divided(prepared.batch.trajectories, seed))
    torch.testing.assert_close(gradient_T, expected_T, rtol=1e-12, atol=1e-14)
    if expected_T.any():
        assert found == pytest.approx(float(direct.detach()), rel=1e-12)


@pytest.mark.parametrize("place", PLACES, ids=NAMES)
def test_the_order_of_trajectories_changes_nothing(place: int) -> None:
    batch = many(21)
    order = Stream.root("order").permutation(range(batch.trajectories))
    returns = reals([0.25 * r * r for r in range(batch.trajectories)])  # no two are equal
    batch = replace(batch, return_R=returns)
    turned = batch.select(order)
    slopes = [_slopes(losses()[place], one) for one in (batch, turned)]
    torch.testing.assert_close(slopes[1], slopes[0][order], rtol=1e-10, atol=1e-13)


def _slopes(loss: WholeLoss, batch: TokenBatch) -> Tensor:
    logp_R = token_sum(batch.column("now_T"), batch).requires_grad_()
    return torch.autograd.grad(loss(logp_R, batch), logp_R)[0]


def test_only_trajectories_that_have_a_gradient_are_put_through_the_model() -> None:
    batch = returning([1, 0, 0.5, 2, 2], groups=[0, 0, 0, 1, 1])
    assert WholeTrajectoryObjective(loss=Dpo()).prepare(batch).batch.return_R.tolist() == [1, 0]


def test_a_step_without_a_pair_is_none() -> None:
    batch = returning([1, 1, 0], groups=[0, 0, 1])
    assert not WholeTrajectoryObjective(loss=Dpo()).prepare(batch).batch.trajectories


def flat(surrogate: Surrogate) -> Tensor:
    return surrogate.logp_N


def test_what_a_term_is_about_is_put_through_the_model() -> None:
    batch = numbered(returning([1, 1, 0], groups=[0, 0, 1]))
    prepared = WholeTrajectoryObjective(loss=Dpo(), terms=(Term(regulariser=flat),)).prepare(batch)
    logp_T = tabular(batch)
    found, _ = shares(prepared, logp_T, pieces=[[0], [1, 2]])
    assert prepared.batch.trajectories == 3
    assert found == pytest.approx(float(logp_T.detach()[batch.trained_T].mean()), rel=1e-12)


def test_every_trained_token_has_an_advantage_so_that_none_is_left_out() -> None:
    batch = many(2)
    assert torch.equal(WholeTrajectoryObjective(loss=Dpo()).advantages(batch).advantage_T != 0, batch.trained_T)


@dataclass(slots=True, kw_only=True)
class Counting:
    """(logp - n)^2, where n is how many steps it has learnt."""

    learnt: int = field(init=False, default=0)

    def __call__(self, logp_R: Tensor, batch: TokenBatch, /) -> Tensor:
        return (logp_R - self.learnt).square().sum()

    def learn(self, logp_R: Tensor, batch: TokenBatch) -> None:
        assert not logp_R.requires_grad
        self.learnt += 1

    def state(self) -> dict[str, object]:
        return {"learnt": self.learnt}

    def restore(self, state: dict[str, object]) -> None:
        self.learnt = int(str(state["learnt"]))


def test_a_loss_learns_once_for_each_step_and_after_its_slope_was_taken() -> None:
    batch = graded([[2], [1]])
    whole = WholeTrajectoryObjective(loss=Counting())
    logp_R = token_sum(batch.column("now_T"), batch)
    for step in range(3):
        assert torch.equal(whole.prepare(batch).batch.column("slope_R"), 2 * (logp_R - step))
    assert whole.loss.state() == {"learnt": 3}  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("place", PLACES, ids=NAMES)
def test_a_step_keeps_the_precision_of_its_batch(place: int) -> None:
    batch = many(3)
    halved = {name: array.float() if array.dtype == torch.float64 else array for name, array in batch.arrays().items()}
    single = replace(
        batch,
        **{name: array for name, array in halved.items() if name not in batch.columns},
        columns={name: halved[name] for name in batch.columns},
    )
    prepared = WholeTrajectoryObjective(loss=losses()[place]).prepare(single)
    assert prepared.batch.column("slope_R").dtype == torch.float32
    double = WholeTrajectoryObjective(loss=losses()[place]).prepare(batch)
    torch.testing.assert_close(
        prepared.batch.column("slope_R").double(), double.batch.column("slope_R"), rtol=2e-3, atol=1e-5
    )

"""SeeUPO's update: which turn, in which order, and what the later ones are to the earlier ones."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace

import pytest
import torch
from torch import Tensor

from complete import complete
from palaestra.seeding import Stream
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.learner.statistics import TokenStatistic
from palaestra.trainers.objectives import BuiltObjective, Metrics, ObjectiveConfig, PreparedStep, UpdateSchedule
from palaestra.trainers.objectives.advantages.turns import places as places_of
from palaestra.trainers.updates import train_turn_by_turn
from palaestra.trainers.updates.turns import at_place, carry_ratio


@dataclass
class Rows:
    """A policy that is nothing but its tokens' log-probabilities, and moves by plain gradient descent."""

    logp_T: Tensor
    lr: float
    stepped: list[TokenBatch] = field(default_factory=list[TokenBatch])

    def step(self, prepared: PreparedStep, *, lr: float | None = None, temperature: float = 1.0) -> Metrics:
        del lr, temperature
        batch = prepared.batch
        own_T = batch.column("own_T")
        logp_T = self.logp_T[own_T].clone().requires_grad_()
        loss, figures = prepared.loss(logp_T, torch.zeros_like(logp_T), batch)
        (slope_T,) = torch.autograd.grad(loss, logp_T)
        self.logp_T = self.logp_T.index_add(0, own_T, -self.lr * slope_T)
        self.stepped.append(batch)
        return {**figures, "loss": float(loss.detach())}

    def columns(
        self, batch: TokenBatch, wanted: Collection[TokenStatistic], *, temperature: float = 1.0
    ) -> dict[TokenStatistic, Tensor]:
        del temperature
        values_T = self.logp_T[batch.column("own_T")].masked_fill(~batch.trained_T, 0.0)
        return dict.fromkeys(wanted, values_T)

    def gradient_norms(self, batch: TokenBatch, *, temperature: float = 1.0) -> Tensor:
        raise AssertionError("no part of SeeUPO reads gradient norms")


def seeupo() -> BuiltObjective:
    return ObjectiveConfig(preset="seeupo", parts={"regularisers": []}).build()


def several(seed: int = 0, **settings: object) -> TokenBatch:
    batch = complete(seed=seed, groups=(4, 4), **settings)  # type: ignore[arg-type]
    return batch.with_columns({"own_T": torch.arange(len(batch.ids_T))})


def trained(
    batch: TokenBatch, *, lr: float = 1.0, schedule: UpdateSchedule | None = None, start_T: Tensor | None = None
) -> tuple[Rows, Metrics]:
    rows = Rows((batch.logprob_T if start_T is None else start_T).clone(), lr)
    made = seeupo()
    metrics = train_turn_by_turn(
        batch,
        made.objective,
        rows,
        requires=made.requires,
        schedule=schedule or made.recipe.schedule,
        stream=Stream.root("turns"),
    )
    return rows, metrics


def place_of(step: TokenBatch) -> int:
    """The place of the one turn that a step is about."""
    turns = step.turn_T[step.trained_T]
    [place] = set(places(step)[turns].tolist())
    return int(place)


def places(batch: TokenBatch) -> Tensor:
    return places_of(batch.trajectory_U, batch.trajectories)


def of_ratios(*log_ratios: float) -> tuple[TokenBatch, Tensor, Tensor]:
    """One trajectory of which a single token is trained, and log-probabilities after and before."""
    batch = several()
    batch = batch.select([0])
    own_T = torch.zeros_like(batch.trained_T)
    own_T[batch.trained_T.nonzero()[0]] = True
    new_T = torch.full_like(batch.logprob_T, float("nan"))
    new_T[own_T] = log_ratios[0]
    return replace(batch, trained_T=own_T), new_T, torch.zeros_like(new_T)


# The golden numbers


def test_later_turns_ratios_are_multiplied_within_the_clip() -> None:
    """Ratios of 1.1, 0.9 and 1.3 of turns 1 to 3, the last updated first."""
    m_R = torch.ones(1, dtype=torch.float64)
    used = []
    for ratio in (1.3, 0.9, 1.1):
        used.append(m_R.item())
        turn, new_T, old_T = of_ratios(float(torch.tensor(ratio, dtype=torch.float64).log()))
        m_R = carry_ratio(m_R, new_T, old_T, turn)
    assert [*used, m_R.item()] == pytest.approx([1.0, 1.2, 1.08, 1.188])


def test_a_ratio_however_far_stays_within_the_clip() -> None:
    for far, bound in ((500.0, 1.2), (-500.0, 0.8)):
        turn, new_T, old_T = of_ratios(far)
        assert carry_ratio(torch.ones(1, dtype=torch.float64), new_T, old_T, turn).item() == pytest.approx(bound)


def test_a_trajectory_without_the_turn_keeps_what_it_had_exactly() -> None:
    batch = several()
    place_U = places(batch)
    last = at_place(batch, place_U, int(place_U.max()))
    m_R = torch.linspace(0.8, 1.2, batch.trajectories, dtype=torch.float64)
    without_R = torch.bincount(last.trajectory_T[last.trained_T], minlength=batch.trajectories) == 0
    assert without_R.any()
    found_R = carry_ratio(m_R, last.logprob_T + 0.1, last.logprob_T, last)
    assert torch.equal(found_R[without_R], m_R[without_R])
    assert not torch.isclose(found_R[~without_R], m_R[~without_R]).any()


# The order


@pytest.mark.parametrize(("order", "expected"), [("reverse", [2, 1, 0]), ("forward", [0, 1, 2])])
def test_each_step_is_about_one_turn_in_the_order_that_was_asked_for(order: str, expected: list[int]) -> None:
    rows, metrics = trained(several(), schedule=UpdateSchedule(name="turns", order=order))  # type: ignore[arg-type]
    assert [place_of(step) for step in rows.stepped] == expected
    assert metrics["seeupo/steps"] == 3


def test_a_random_order_takes_every_turn_once() -> None:
    rows, _ = trained(several(), schedule=UpdateSchedule(name="turns", order="random"))
    assert sorted(place_of(step) for step in rows.stepped) == [0, 1, 2]


# What it is when it is something simpler


def test_with_one_turn_it_is_gspo_with_normalised_advantages() -> None:
    batch = several()
    batch = at_place(batch, places(batch), 0)
    once, metrics = trained(batch)
    assert metrics["seeupo/steps"] == 1
    gspo = ObjectiveConfig(
        preset="gspo",
        parts={
            "advantage": {"scale": "none"},
            "transforms": ["batch-norm"],
            "trust": {"low": 0.2, "high": 0.2},
            "ratio": {"anchor": "old"},
        },
    ).build()
    rows = Rows(batch.logprob_T.clone(), 1.0)
    ready = batch.with_columns({"old_T": batch.logprob_T})
    rows.step(gspo.objective.prepare(gspo.objective.advantages(ready)))
    torch.testing.assert_close(once.logp_T, rows.logp_T, rtol=1e-12, atol=1e-14)


def test_where_nothing_moves_nothing_is_carried() -> None:
    _, metrics = trained(several(), lr=0.0)
    assert metrics["seeupo/carry_mean"] == 1.0


def test_without_carrying_each_turn_is_a_step_by_itself() -> None:
    plain = UpdateSchedule(name="turns", carry=False)
    forward, _ = trained(several(), schedule=replace(plain, order="forward"))
    reverse, metrics = trained(several(), schedule=plain)
    torch.testing.assert_close(forward.logp_T, reverse.logp_T)
    assert metrics["seeupo/carry_mean"] == 1.0


def test_rows_in_another_order_come_to_the_same() -> None:
    batch = several()
    order = [5, 2, 7, 0, 1, 6, 3, 4]
    one, _ = trained(batch, lr=3.0)
    other, _ = trained(batch.select(order), lr=3.0, start_T=batch.logprob_T)
    torch.testing.assert_close(other.logp_T, one.logp_T)


def test_a_batch_of_equal_returns_takes_no_step() -> None:
    rows, metrics = trained(several(equal=True))
    assert rows.stepped == []
    assert metrics == {}

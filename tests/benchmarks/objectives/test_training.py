"""Every preset learns; what is said of training itself: curves, staleness, seeds."""

from dataclasses import dataclass, replace

import pytest
import torch

from palaestra.benchmarks.objectives.bandit import Bandit
from palaestra.benchmarks.objectives.copying import Copying
from palaestra.benchmarks.objectives.fits import BANDIT, COPYING, FITS, STEPS, USUAL, fit
from palaestra.benchmarks.objectives.planning import Planning
from palaestra.benchmarks.objectives.toy import Choose, Toy, ToyEpisode
from palaestra.benchmarks.objectives.training import ToyTraining, train_toy
from palaestra.seeding import Stream
from palaestra.trainers.objectives import Recipe, presets

TOYS = {toy.name: toy for toy in (BANDIT, COPYING)}


@pytest.mark.parametrize("name", presets())
@pytest.mark.parametrize("toy", TOYS)
def test_every_preset_learns(toy: str, name: str) -> None:
    steps = STEPS[toy]
    learnt = train_toy(TOYS[toy], name, steps=steps, seed=0, training=ToyTraining(measure_every=steps))
    assert learnt.success[0] < 0.35
    assert learnt.final > fit(TOYS[toy], name).above


@dataclass(frozen=True, slots=True, kw_only=True)
class InPoints:
    """A toy that pays 100 points where another pays 1."""

    toy: Toy

    @property
    def name(self) -> str:
        return self.toy.name

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.toy.sizes

    @property
    def tasks(self) -> int:
        return self.toy.tasks

    def play(self, task: int, choose: Choose, luck: Stream) -> ToyEpisode:
        played = self.toy.play(task, choose, luck)
        turns = tuple(replace(turn, reward=100 * turn.reward) for turn in played.turns)
        return replace(played, turns=turns, total=100 * played.total)

    def best(self, state: int) -> int:
        return self.toy.best(state)


@pytest.mark.parametrize("name", presets())
def test_every_preset_learns_the_same_whether_a_toy_pays_1_or_100(name: str) -> None:
    training = ToyTraining(measure_every=3, measured=1, optimiser="sgd")
    toys: tuple[Toy, ...] = (BANDIT, InPoints(toy=BANDIT))
    ones, hundreds = (train_toy(toy, name, steps=3, seed=0, training=training) for toy in toys)
    assert ones.table.logits_XA.abs().max() > 0
    torch.testing.assert_close(hundreds.table.logits_XA, ones.table.logits_XA, rtol=1e-3, atol=1e-6)


def test_exceptions_are_of_presets_that_there_are_and_say_why() -> None:
    for (toy, name), one in FITS.items():
        assert toy in TOYS
        assert name in presets()
        assert one.why
        assert one.above < USUAL


def test_without_whitening_ppo_solves_the_tasks_that_it_hardens_against_with_it() -> None:
    training = ToyTraining(measure_every=80)
    for seed in (1, 2):
        whitened = train_toy(COPYING, "ppo", steps=80, seed=seed, training=training)
        raw = Recipe(advantage={"part": "gae", "whiten": False})
        assert whitened.final < 0.8 < train_toy(COPYING, raw, steps=80, seed=seed, training=training).final


def test_paid_for_the_wrong_arms_a_policy_does_not_succeed() -> None:
    wrong = train_toy(Bandit(good=0, other=100), "grpo", steps=60, seed=0)
    assert wrong.final < 0.05


def test_the_same_seed_gives_the_same_curve_and_another_does_not() -> None:
    first, second, other = (train_toy(Copying(), "grpo", steps=15, seed=seed) for seed in (0, 0, 1))
    assert first.success == second.success
    assert torch.equal(first.table.logits_XA, second.table.logits_XA)
    assert first.success != other.success


def test_how_often_is_measured_changes_nothing_that_is_learnt() -> None:
    often = train_toy(Planning(), "grpo", steps=12, seed=0, training=ToyTraining(measure_every=3))
    once = train_toy(Planning(), "grpo", steps=12, seed=0, training=ToyTraining(measure_every=12))
    assert torch.equal(often.table.logits_XA, once.table.logits_XA)
    assert (len(often.success), len(once.success)) == (5, 2)
    assert often.final == once.final


def test_the_effective_share_is_whole_on_policy_and_falls_with_staleness() -> None:
    shares = [
        train_toy(
            Copying(), "token_tis", steps=32, seed=0, training=ToyTraining(staleness=staleness, measure_every=32)
        ).ess
        for staleness in (1, 4, 16)
    ]
    assert shares[0] == 1.0
    assert shares[0] > shares[1] > shares[2] > 0


def test_training_begins_where_it_is_told_to() -> None:
    learnt = train_toy(Bandit(), "grpo", steps=30, seed=0)
    again = train_toy(Bandit(), "grpo", steps=1, seed=1, start=learnt.table)
    assert again.success[0] > 0.9


@pytest.mark.parametrize("setting", ["groups", "group_size", "updates", "staleness", "measure_every", "measured"])
def test_counts_below_one_are_refused(setting: str) -> None:
    with pytest.raises(ValueError, match=f"{setting}=0"):
        ToyTraining(**{setting: 0})  # type: ignore[arg-type]


def test_a_learning_rate_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="lr=0"):
        ToyTraining(lr=0.0)

"""How forks are weighed: DEEP-GRPO's published numbers, the least of the loss, and chains that decide."""

from collections.abc import Callable

import numpy as np
import pytest

from palaestra.seeding import Stream
from palaestra.trainers.branching import RecoveryModel, RecoveryOdds, fit_odds, pivot_weights
from palaestra.trainers.choice import pick_weighted

TEN = [place / 10 for place in range(1, 11)]


def test_weights_are_those_of_the_published_code() -> None:
    """Origin: a run of its formula with intercept 3, slope -4, exponent 2 and ten candidates."""
    weights = pivot_weights(TEN, RecoveryOdds(intercept=3.0, slope=-4.0), depth=2.0)
    published = [.005231, .020235, .0434, .072123, .102701, .130612, .151394, .161895, .161284, .151126]  # fmt: skip
    assert weights == pytest.approx(published, abs=1e-6)


def test_before_anything_is_known_depth_alone_decides() -> None:
    assert pivot_weights(TEN, None, depth=2.0) == pytest.approx([r * r / sum(q * q for q in TEN) for r in TEN])
    assert pivot_weights(TEN, None, depth=0.0) == pytest.approx([0.1] * 10)


def loss(intercept: float, slope: float, ratios: list[float], solved: list[bool]) -> float:
    logits = intercept + slope * np.array(ratios)
    signs = np.where(np.array(solved), 1.0, -1.0)
    return float(np.logaddexp(0.0, -signs * logits).sum() + slope**2 / 2)


@pytest.mark.parametrize("seed", range(5))
def test_the_fit_is_the_least_of_its_loss(seed: int) -> None:
    stream = Stream.root("fit", seed)
    ratios = [stream.below(1000) / 1000 for _ in range(60)]
    solved = [stream.chance(int(90 - 80 * ratio)) for ratio in ratios]
    odds = fit_odds(ratios, solved)
    least = loss(odds.intercept, odds.slope, ratios, solved)
    for step in (1e-3, 0.1):
        for by, along in ((step, 0.0), (-step, 0.0), (0.0, step), (0.0, -step)):
            assert loss(odds.intercept + by, odds.slope + along, ratios, solved) > least


def test_nothing_is_fitted_to_few_forks_or_to_forks_of_one_kind() -> None:
    model = RecoveryModel(100)
    for _ in range(20):
        model.observe(0.5, solved=False)
    assert model.odds() is None
    few = RecoveryModel(100)
    for number in range(10):
        few.observe(0.5, solved=number % 2 == 0)
    assert few.odds() is None
    few.observe(0.5, solved=True)
    assert few.odds() is not None


def test_the_window_forgets_the_oldest_forks() -> None:
    model = RecoveryModel(12)
    for number in range(12):
        model.observe(number / 12, solved=number < 6)
    falling = model.odds()
    for number in range(12):
        model.observe(number / 12, solved=number >= 6)
    rising = model.odds()
    assert falling is not None
    assert rising is not None
    assert falling.slope == pytest.approx(-rising.slope)
    assert falling.slope < 0


def learnt(recovers: Callable[[float], float]) -> tuple[float, float]:
    """The slope after 400 forks of a chain of ten turns, and the mean depth of the next 400."""
    model, stream = RecoveryModel(10_000), Stream.root("chain")

    def draw() -> float:
        return TEN[pick_weighted(pivot_weights(TEN[:-1], model.odds(), depth=2.0), stream)]

    for _ in range(400):
        ratio = draw()
        model.observe(ratio, solved=stream.word() / 2**64 < recovers(ratio))
    odds = model.odds()
    assert odds is not None
    return odds.slope, sum(draw() for _ in range(400)) / 400


def test_a_chain_that_late_turns_cannot_save_is_forked_earlier_than_one_that_any_turn_can() -> None:
    slope, early = learnt(lambda ratio: 1 - ratio)
    flat, late = learnt(lambda ratio: 0.5)
    assert slope < -1.5 < flat
    assert early < late - 0.05

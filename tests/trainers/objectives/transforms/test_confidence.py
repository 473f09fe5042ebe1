"""ProGRPO's advantages against loops."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages import GroupAdvantage
from palaestra.trainers.objectives.transforms import Arm, confidences
from scored import array, drawn, own, paid, per_trajectory


@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(8))
def test_advantages_move_by_confidence_where_returns_differ(seed: int, share: float) -> None:
    batch = drawn(seed)
    before = per_trajectory(GroupAdvantage()(batch), batch)
    logp, prompt = array(batch.column("old_T")), array(batch.column("prompt_R"))
    returns, groups = array(batch.return_R), batch.group_R.numpy()
    expected = before.copy()
    for number, places in enumerate(own(batch)):
        if places and len(set(returns[groups == groups[number]].tolist())) > 1:
            least = sorted(logp[places])[: max(1, math.ceil(round(share * len(places), 9)))]
            expected[number] += 0.3 * (math.exp(prompt[number]) - math.exp(float(np.mean(least))))
    found = per_trajectory(Arm(alpha=0.3, share=share)(GroupAdvantage()(batch), batch), batch)
    used = [number for number, places in enumerate(own(batch)) if places]
    np.testing.assert_allclose(found[used], expected[used], rtol=0, atol=1e-12)


def answers(probabilities: Sequence[Sequence[float]], returns: Sequence[float]) -> TokenBatch:
    """Of equal lengths, to a prompt of which the policy is half sure."""
    batch = paid(returns, tokens=len(probabilities[0]))
    old_T = torch.zeros(len(batch.ids_T), dtype=torch.float64)
    old_T = old_T.masked_scatter(batch.trained_T, torch.tensor(probabilities, dtype=torch.float64).log().flatten())
    prompt_R = torch.full((len(returns),), math.log(0.5), dtype=torch.float64)
    return batch.with_columns({"old_T": old_T, "prompt_R": prompt_R})


def test_of_two_right_answers_the_less_sure_one_gains_more() -> None:
    """0.5 - 0.1 and 0.5 - 0.9, on what had the same advantage."""
    batch = answers([[0.1, 1.0], [0.9, 1.0], [0.5, 1.0]], [1, 1, 0])
    moved = per_trajectory(Arm(alpha=1.0)(GroupAdvantage()(batch), batch) - GroupAdvantage()(batch), batch)
    np.testing.assert_allclose(moved, [0.4, -0.4, 0.0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("one", [0.0, 1.0])
def test_a_group_paid_alike_stays_as_it_is(one: float) -> None:
    batch = answers([[0.1, 1.0], [0.9, 1.0]], [one, one])
    assert not Arm(alpha=1.0)(GroupAdvantage()(batch), batch)[batch.trained_T].any()


def test_confidences_worth_nothing_change_nothing() -> None:
    batch = drawn(1)
    assert torch.equal(Arm(alpha=0.0)(GroupAdvantage()(batch), batch), GroupAdvantage()(batch))


@pytest.mark.parametrize(("tokens", "many"), [(1, 1), (4, 1), (5, 1), (6, 2), (10, 2), (11, 3), (15, 3)])
def test_a_fifth_of_the_tokens_is_rounded_up(tokens: int, many: int) -> None:
    probabilities = [0.5] * many + [0.9] * (tokens - many)
    batch = answers([probabilities], [1])
    assert confidences(batch.column("old_T"), batch, share=0.2).item() == pytest.approx(0.5)


def test_what_is_not_trained_is_no_part_of_a_confidence() -> None:
    batch = answers([[0.5, 0.5]], [1])
    unlikely_T = batch.column("old_T").masked_fill(~batch.trained_T, -100.0)
    assert confidences(unlikely_T, batch, share=1.0).item() == pytest.approx(0.5)


def test_a_trajectory_without_tokens_is_finite() -> None:
    batch = answers([[], []], [1, 0])
    assert Arm(alpha=1.0)(GroupAdvantage()(batch), batch).isfinite().all()


@pytest.mark.parametrize("share", [0.0, 1.1])
def test_a_share_of_nothing_or_of_more_than_all_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="share="):
        Arm(alpha=1.0, share=share)

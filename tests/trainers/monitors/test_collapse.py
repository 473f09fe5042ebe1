"""What reasonings say of their prompts, against sums in numpy."""

import math

import numpy as np
import pytest
import torch

from palaestra.trainers.monitors.collapse import collapse


def test_golden_figures() -> None:
    """Likelihoods of three reasonings (rows) after three prompts."""
    likely = torch.tensor([[0.6, 0.1, 0.1], [0.1, 0.5, 0.2], [0.2, 0.1, 0.4]], dtype=torch.float64)
    found = collapse(likely.log())
    assert found.information == pytest.approx(0.659512, abs=1e-6)
    assert found.conditional_entropy == pytest.approx(0.706755, abs=1e-6)
    assert found.entropy == pytest.approx(1.366266, abs=1e-6)
    assert found.retrieval == 1.0
    assert found.chance == pytest.approx(1 / 3)


@pytest.mark.parametrize("seed", range(5))
def test_figures_are_what_their_formulas_say(seed: int) -> None:
    logp = -np.random.default_rng(seed).exponential(1.5, (7, 7))
    own = [logp[i, i] for i in range(7)]
    prior = [math.log(sum(math.exp(logp[i, j]) for j in range(7)) / 7) for i in range(7)]
    found = collapse(torch.from_numpy(logp))
    assert found.information == pytest.approx(np.mean([o - p for o, p in zip(own, prior, strict=True)]), rel=1e-10)
    assert found.conditional_entropy == pytest.approx(-np.mean(own), rel=1e-10)
    assert found.entropy == pytest.approx(-np.mean(prior), rel=1e-10)
    assert found.retrieval == np.mean([max(range(7), key=lambda j: logp[i, j]) == i for i in range(7)])
    assert found.entropy == pytest.approx(found.information + found.conditional_entropy, rel=1e-10)


def test_a_template_tells_nothing_of_its_prompt() -> None:
    """However uncertain its tokens are."""
    same = torch.tensor([-1.0, -2.0, -0.5], dtype=torch.float64)[:, None].expand(3, 3)
    found = collapse(same)
    assert found.information == pytest.approx(0, abs=1e-12)
    assert found.entropy == pytest.approx(3.5 / 3)
    assert found.retrieval == found.chance


def test_no_reasoning_tells_more_than_which_prompt_it_was() -> None:
    found = collapse(torch.full((4, 4), -900.0).fill_diagonal_(-0.1))
    assert found.information == pytest.approx(math.log(4))


def test_a_single_prompt_tells_nothing() -> None:
    found = collapse(torch.tensor([[-0.7]]))
    assert found.information == pytest.approx(0, abs=1e-12)
    assert found.retrieval == 1.0

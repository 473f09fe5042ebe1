import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from palaestra.trainers.engines.native.draw import draw
from palaestra.trainers.engines.noise import noise_at, noise_from

LOGITS_V = torch.tensor([1.0, -2.0, 0.5, 3.0, 0.5])
DRAWS = 40_000


def drawn(
    logits_V: Tensor, noise: list[float], *, temperature: float = 1.0, top_p: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Ids and log-probabilities of one distribution under each number of `noise`."""
    count = len(noise)
    ids_B, logp_B = draw(
        logits_V.expand(count, -1),
        torch.tensor(noise, dtype=torch.float64),
        temperature_B=torch.full((count,), temperature, dtype=torch.float64),
        top_p_B=torch.full((count,), top_p, dtype=torch.float64),
    )
    return ids_B.long(), logp_B


def nucleus(logits_V: "np.ndarray[tuple[int], np.dtype[np.float64]]", temperature: float, top_p: float) -> list[float]:
    """Probabilities at a temperature within the nucleus, token by token."""
    weights = [math.exp((x - max(logits_V)) / temperature) for x in logits_V]
    p = [weight / math.fsum(weights) for weight in weights]
    kept: list[int] = []
    for number in sorted(range(len(p)), key=lambda i: (-p[i], i)):
        if math.fsum(p[i] for i in kept) >= top_p and top_p < 1:
            break
        kept.append(number)
    total = math.fsum(p[i] for i in kept)
    return [p[i] / total if i in kept else 0.0 for i in range(len(p))]


# Distributions


@pytest.mark.parametrize(("temperature", "top_p"), [(1.0, 1.0), (0.5, 1.0), (2.0, 1.0), (1.0, 0.8), (1.5, 0.5)])
def test_evenly_spaced_noise_draws_each_token_as_often_as_its_probability_says(
    temperature: float, top_p: float
) -> None:
    noise = [(i + 0.5) / DRAWS for i in range(DRAWS)]
    ids_B, logp_B = drawn(LOGITS_V, noise, temperature=temperature, top_p=top_p)
    expected = nucleus(LOGITS_V.double().numpy(), temperature, top_p)
    counts = torch.bincount(ids_B, minlength=5).tolist()
    for number, probability in enumerate(expected):
        assert abs(counts[number] - probability * DRAWS) <= 1  # inversion: an interval of the probability's length
        if probability:
            assert logp_B[ids_B == number][0].item() == pytest.approx(math.log(probability), abs=1e-6)


def test_noise_of_a_trajectory_draws_each_token_as_often_as_its_probability_says() -> None:
    noise = noise_from(b"key", 0)
    ids_B, _ = drawn(LOGITS_V, [next(noise) for _ in range(DRAWS)])
    expected = np.array(nucleus(LOGITS_V.double().numpy(), 1.0, 1.0)) * DRAWS
    found = torch.bincount(ids_B, minlength=5).numpy()
    chi_squared = float((((found - expected) ** 2) / expected).sum())
    assert chi_squared < 18.5  # 4 degrees of freedom: one key in a thousand is worse


def test_even_logits_cut_the_unit_interval_evenly() -> None:
    ids_B, logp_B = drawn(torch.zeros(4), [0.0, 0.24, 0.26, 0.49, 0.51, 0.74, 0.76, 1 - 2.0**-24])
    assert ids_B.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert logp_B.tolist() == pytest.approx([-math.log(4)] * 8, abs=1e-7)


@settings(max_examples=150, deadline=None)
@given(
    logits=st.lists(st.floats(-8, 8, width=32), min_size=1, max_size=30),
    noise=st.floats(0, 1 - 2.0**-24, width=32),
    temperature=st.floats(0.1, 4),
    top_p=st.floats(0.01, 1),
)
def test_a_draw_is_that_of_a_second_implementation(
    logits: list[float], noise: float, temperature: float, top_p: float
) -> None:
    ids_B, logp_B = drawn(torch.tensor(logits), [noise], temperature=temperature, top_p=top_p)
    number = int(ids_B[0])
    loose = [nucleus(np.array(logits), temperature, min(1.0, top_p + shift)) for shift in (-1e-5, 0.0, 1e-5)]
    # Where a sum comes within rounding of top_p or of the noise, either side is right.
    fits = []
    for expected in loose:
        below = math.fsum(expected[:number])
        inside = below - 1e-5 <= noise <= below + expected[number] + 1e-5
        fits.append(
            inside and expected[number] > 0 and math.isclose(math.log(expected[number]), logp_B[0].item(), abs_tol=1e-4)
        )
    assert any(fits), (number, loose)


# Edges


def test_the_greatest_noise_never_draws_what_has_no_probability() -> None:
    logits_V = torch.tensor([0.3, 1.7, -0.2, -math.inf, -math.inf])
    for greatest in (1 - 2.0**-24, 1 - 2.0**-20):
        assert drawn(logits_V, [greatest])[0].tolist() == [2]
        assert drawn(logits_V, [greatest], top_p=0.5)[0].tolist() == [1]


def test_noise_of_nothing_never_draws_what_has_no_probability() -> None:
    assert drawn(torch.tensor([-math.inf, -math.inf, 0.0, 0.0]), [0.0])[0].tolist() == [2]


def test_of_equally_likely_tokens_those_of_lower_ids_are_kept() -> None:
    ids_B, logp_B = drawn(torch.zeros(4), [0.0, 0.4, 0.6, 0.99], top_p=0.5)
    assert ids_B.tolist() == [0, 0, 1, 1]
    assert logp_B.tolist() == pytest.approx([-math.log(2)] * 4)


def test_turns_beside_each_other_have_each_their_own_temperature_and_nucleus() -> None:
    noise = [0.05, 0.05, 0.97]
    settings_B = [(1.0, 1.0), (0.3, 0.6), (3.0, 0.9)]
    ids_B, logp_B = draw(
        LOGITS_V.expand(3, -1),
        torch.tensor(noise, dtype=torch.float64),
        temperature_B=torch.tensor([t for t, _ in settings_B]),
        top_p_B=torch.tensor([p for _, p in settings_B]),
    )
    for i, (temperature, top_p) in enumerate(settings_B):
        id_1, logp_1 = drawn(LOGITS_V, [noise[i]], temperature=temperature, top_p=top_p)
        assert (ids_B[i], logp_B[i]) == (id_1[0], logp_1[0])


def test_settings_that_are_all_1_may_be_left_out() -> None:
    noise_B = torch.tensor([0.1, 0.5, 0.9])
    plain = draw(LOGITS_V.expand(3, -1), noise_B, temperature_B=None, top_p_B=None)
    ones = draw(LOGITS_V.expand(3, -1), noise_B, temperature_B=torch.ones(3), top_p_B=torch.ones(3))
    torch.testing.assert_close(plain, ones, atol=1e-7, rtol=0)


def scan_in_parallel(x: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Tensor:
    """Cumulated sums along the last axis as a GPU adds them up: in a tree, each result in an order of its own."""
    assert dim == -1
    x = x.to(x.dtype if dtype is None else dtype)
    step = 1
    while step < x.shape[-1]:
        x = torch.cat((x[..., :step], x[..., step:] + x[..., :-step]), -1)
        step *= 2
    return x


def test_no_token_outside_of_the_nucleus_is_drawn_where_sums_are_of_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "cumsum", scan_in_parallel)
    logits_V = 4 * torch.randn(20_000, generator=torch.Generator().manual_seed(0))
    p_V = logits_V.softmax(-1)
    p_V[p_V < p_V.sort().values[-2_000]] = 0.0
    sums_V = scan_in_parallel(p_V, -1)
    moves = (sums_V.diff() > 0) & (p_V[1:] == 0)
    assert moves.any(), "in single precision the sums move where nothing is added"
    noise = (sums_V[:-1][moves] / sums_V[-1]).tolist()  # of a sum before a move
    top_p = float(p_V.double().sum()) - 1e-6
    assert drawn(logits_V, noise[:200], top_p=top_p)[1].isfinite().all()


@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_logits_that_are_no_numbers_are_told_by_a_log_probability_that_is_none(broken: float) -> None:
    logits_BV = torch.stack((LOGITS_V, LOGITS_V.clone()))
    logits_BV[1, 2] = broken
    _, logp_B = draw(logits_BV, torch.tensor([0.5, 0.5]), temperature_B=None, top_p_B=None)
    assert math.isfinite(logp_B[0])
    assert math.isnan(logp_B[1])


# Noise


def test_noise_at_a_place_is_that_of_the_run_that_passes_it() -> None:
    run = noise_from(b"key", 5)
    assert [next(run) for _ in range(20)] == [noise_at(b"key", place) for place in range(5, 25)]

"""The temperature head's distribution against torch's own, closed forms, and numerical integrals. Axes: N tokens."""

import math
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, distributions

from decoders import tiny, varied
from palaestra.errors import CheckpointError
from palaestra.trainers.model.checkpoint import fresh, load_decoder, save_decoder
from palaestra.trainers.model.shape import TemperatureRange
from palaestra.trainers.model.temperature import LATENT_MARGIN, NO_LATENT, ChoiceDistribution, TemperatureHead

RANGE = TemperatureRange(low=0.5, high=1.5, epsilon=1.0)
EDGES = (LATENT_MARGIN, 0.2, 0.5, 0.9, 1 - LATENT_MARGIN)


def wide(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def of(gate: float, alpha: float, beta: float, latent: float) -> float:
    found = ChoiceDistribution(gate_N=wide(gate), alpha_N=wide(alpha), beta_N=wide(beta)).logprobs(wide(latent))
    return found.item()


parameters = st.floats(0.05, 40.0)


@given(gate=st.floats(-8, 8), alpha=parameters, beta=parameters, latent=st.sampled_from([NO_LATENT, *EDGES]))
def test_a_choice_has_the_probability_of_torchs_bernoulli_and_beta(
    gate: float, alpha: float, beta: float, latent: float
) -> None:
    opens = distributions.Bernoulli(logits=wide(gate))
    if latent == NO_LATENT:
        expected = opens.log_prob(wide(0.0))
    else:
        expected = opens.log_prob(wide(1.0)) + distributions.Beta(wide(alpha), wide(beta)).log_prob(wide(latent))
    assert of(gate, alpha, beta, latent) == pytest.approx(expected.item(), rel=1e-9, abs=1e-9)


def test_closed_forms() -> None:
    assert of(0.0, 1.0, 1.0, 0.3) == pytest.approx(-math.log(2))  # an even density
    assert of(0.0, 2.0, 1.0, 0.25) == pytest.approx(math.log(0.5 * 2 * 0.25))
    assert of(0.0, 2.0, 2.0, 0.5) == pytest.approx(math.log(0.5 * 6 * 0.25))
    assert of(math.log(3), 5.0, 7.0, NO_LATENT) == pytest.approx(math.log(0.25))
    assert of(-1e4, 2.0, 2.0, NO_LATENT) == 0.0


@pytest.mark.parametrize(("alpha", "beta"), [(1.7, 1.7), (3.0, 1.2), (1.0, 4.0)])
def test_all_choices_together_have_probability_one(alpha: float, beta: float) -> None:
    steps = 20_000
    latent_N = (torch.arange(steps, dtype=torch.float64) + 0.5) / steps
    same_N = torch.ones_like(latent_N)
    found = ChoiceDistribution(gate_N=0.4 * same_N, alpha_N=alpha * same_N, beta_N=beta * same_N)
    total = found.logprobs(latent_N).exp().mean() + found.logprobs(0 * same_N)[0].exp()
    assert total.item() == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("latent", [NO_LATENT, LATENT_MARGIN, 1 - LATENT_MARGIN])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0])
def test_at_the_edges_values_and_gradients_are_finite(latent: float, epsilon: float) -> None:
    head = TemperatureHead(6, TemperatureRange(low=0.5, high=1.5, epsilon=epsilon), seed=0)
    hidden_NC = 30 * torch.randn(5, 6, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        head.outer.weight.normal_(0, 3.0, generator=torch.Generator().manual_seed(2))
    logp_N = head(hidden_NC).logprobs(torch.full((5,), latent))
    logp_N.sum().backward()
    assert bool(logp_N.isfinite().all())
    for weight in head.parameters():
        assert weight.grad is not None
        assert bool(weight.grad.isfinite().all())


def test_where_the_gate_is_closed_the_density_has_no_gradient() -> None:
    alpha_N = wide(2.0, 3.0).requires_grad_()
    found = ChoiceDistribution(gate_N=wide(0.1, 0.1), alpha_N=alpha_N, beta_N=wide(2.0, 2.0))
    (grad_N,) = torch.autograd.grad(found.logprobs(wide(NO_LATENT, 0.7)).sum(), alpha_N)
    assert grad_N[0] == 0 != grad_N[1]


def test_gradients_of_every_weight_are_finite_differences() -> None:
    head = TemperatureHead(4, RANGE, seed=0).double()
    generator = torch.Generator().manual_seed(3)
    weights = [torch.randn(weight.shape, generator=generator, dtype=torch.float64) for weight in head.parameters()]
    hidden_NC = torch.randn(5, 4, generator=generator, dtype=torch.float64)
    latent_N = wide(NO_LATENT, 0.1, 0.5, 0.93, NO_LATENT)
    names = [name for name, _ in head.named_parameters()]

    def logprobs(*values: Tensor) -> Tensor:
        found: ChoiceDistribution = torch.func.functional_call(head, dict(zip(names, values, strict=True)), hidden_NC)
        return found.logprobs(latent_N)

    assert torch.autograd.gradcheck(logprobs, tuple(weight.requires_grad_() for weight in weights))


def test_a_new_head_is_the_same_at_every_state_and_open_half_of_the_time() -> None:
    head = TemperatureHead(8, RANGE, seed=4)
    found: ChoiceDistribution = head(torch.randn(3, 8, generator=torch.Generator().manual_seed(0)))
    assert found.gate_N.tolist() == [0.0] * 3
    assert found.alpha_N.tolist() == found.beta_N.tolist() == pytest.approx([1 + math.log(2)] * 3)
    other = TemperatureHead(8, RANGE, seed=5)
    assert not torch.equal(head.inner.weight, other.inner.weight)
    assert torch.equal(head.inner.weight, TemperatureHead(8, RANGE, seed=4).inner.weight)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"low": 0.0}, r"low=0\.0, high=1\.5: temperatures are above 0"),
        ({"low": 2.0}, r"low=2\.0, high=1\.5: .*high is low or more"),
        ({"high": math.inf}, "high=inf"),
        ({"epsilon": 0.0}, r"epsilon=0\.0: parameters of a Beta distribution are above 0; give such a number"),
        ({"epsilon": math.nan}, "epsilon=nan"),
    ],
)
def test_ranges_that_make_no_sense_are_refused(changes: dict[str, float], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        TemperatureRange(**{"low": 0.5, "high": 1.5, "epsilon": 1.0, **changes})


# In a decoder


def test_a_decoder_counts_saves_and_loads_its_head(tmp_path: Path) -> None:
    decoder = varied(tiny(temperature=RANGE))
    assert decoder.shape.parameters == sum(weight.numel() for weight in decoder.parameters())
    save_decoder(decoder, tmp_path)
    loaded = load_decoder(tmp_path)
    assert loaded.shape == decoder.shape
    own, others = decoder.state_dict(), loaded.state_dict()
    assert own.keys() == others.keys()
    assert all(torch.equal(own[name], others[name]) for name in own)
    config = tmp_path / "config.json"
    config.write_text(config.read_text().replace('"epsilon": 1.0', '"epsilon": -1.0'))
    with pytest.raises(CheckpointError, match=r"epsilon=-1\.0"):
        load_decoder(tmp_path)


def test_a_head_changes_no_other_weight() -> None:
    plain, headed = fresh(tiny(), seed=3), fresh(tiny(temperature=RANGE), seed=3)
    own, others = plain.state_dict(), headed.state_dict()
    assert {name for name in others if name not in own} == {
        f"temperature_head.{layer}.{kind}" for layer in ("inner", "outer") for kind in ("weight", "bias")
    }
    assert all(torch.equal(own[name], others[name]) for name in own)
    plain.add_temperature_head(RANGE, seed=3)
    assert plain.shape == headed.shape
    added = plain.state_dict()
    assert all(torch.equal(added[name], others[name]) for name in others)

"""How temperatures are chosen, and what the engine makes of them. Axes: B turns, T tokens, V vocabulary."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor, distributions

from decoders import causal, logits_of, tiny, varied
from palaestra.errors import EngineError
from palaestra.seeding import Stream
from palaestra.trainers.engines.engine import Completion, Sampling, TurnRequest
from palaestra.trainers.engines.native import NativeConfig
from palaestra.trainers.engines.native.choices import choice_noise, choose_temperatures, sample_latent
from palaestra.trainers.engines.native.core import Core
from palaestra.trainers.engines.noise import noise_key
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.model.shape import TemperatureRange
from palaestra.trainers.model.temperature import LATENT_MARGIN, NO_LATENT, TemperatureHead

RANGE = TemperatureRange(low=0.5, high=1.5, epsilon=1.0)
SAMPLES = 4000


def decoder(bias: float | None = None, *, within: TemperatureRange = RANGE) -> Decoder:
    """A decoder with a head; with a gate of this logit whatever the state, where one is given."""
    found = varied(tiny(temperature=within))
    head = found.temperature_head
    assert head is not None
    with torch.no_grad():
        if bias is not None:
            head.outer.weight[0] = 0.0
            head.outer.bias[0] = bias
    return found


def request(name: str, context: Sequence[int], *, limit: int = 12, temperature: float = 1.0) -> TurnRequest:
    sampling = Sampling(limit=limit, stop=(), temperature=temperature)
    return TurnRequest(trajectory=name, context=tuple(context), sampling=sampling, noise=noise_key("choices", name))


REQUESTS = [request(f"t{n}", [3 + n, *range(n), 7]) for n in range(5)]


def drawn(core: Core, requests: Sequence[TurnRequest]) -> list[Completion]:
    """The turns, in the order of their requests."""
    found: dict[str, Completion] = {}
    for one in requests:
        core.admit(one)
    while core.running:
        for ended in core.step():
            assert isinstance(ended.result, Completion), ended.result
            found[ended.drawing.request.trajectory] = ended.result
    return [found[one.trajectory] for one in requests]


# What is chosen


@pytest.mark.parametrize(("alpha", "beta"), [(1.7, 1.7), (0.3, 2.0), (5.0, 1.0), (60.0, 20.0), (0.05, 0.05)])
def test_latents_have_the_beta_distribution(alpha: float, beta: float) -> None:
    stream = Stream.root("latents", str(alpha), str(beta))
    found = torch.tensor([sample_latent(50.0, alpha, beta, stream) for _ in range(SAMPLES)], dtype=torch.float64)
    grid = torch.linspace(LATENT_MARGIN, 1 - LATENT_MARGIN, 2001, dtype=torch.float64)
    density = distributions.Beta(torch.tensor(alpha).double(), torch.tensor(beta).double()).log_prob(grid).exp()
    cumulated = torch.cumulative_trapezoid(density, grid)
    inner = (grid[1:] > 0.02) & (grid[1:] < 0.98)  # at its ends a density may be infinite
    share = (found[None] <= grid[1:, None]).double().mean(1)
    offset = (share - cumulated)[inner]
    # Kolmogorov and Smirnov: one stream in a thousand is farther off; the ends add one constant.
    assert (offset.max() - offset.min()) / 2 < 1.95 / SAMPLES**0.5
    mean, deviation = alpha / (alpha + beta), (alpha * beta / (alpha + beta + 1)) ** 0.5 / (alpha + beta)
    assert found.mean().item() == pytest.approx(mean, abs=4 * deviation / SAMPLES**0.5)


def test_the_gate_is_open_as_often_as_it_says() -> None:
    stream = Stream.root("gate")
    opened = sum(sample_latent(-1.0, 2.0, 2.0, stream) != NO_LATENT for _ in range(SAMPLES)) / SAMPLES
    expected = torch.sigmoid(torch.tensor(-1.0)).item()
    assert opened == pytest.approx(expected, abs=4 * (expected * (1 - expected) / SAMPLES) ** 0.5)
    assert all(sample_latent(-1e9, 2.0, 2.0, stream) == NO_LATENT for _ in range(50))


@pytest.mark.parametrize(("alpha", "beta", "edge"), [(1e-3, 50.0, LATENT_MARGIN), (50.0, 1e-3, 1 - LATENT_MARGIN)])
def test_latents_keep_away_from_the_edges(alpha: float, beta: float, edge: float) -> None:
    stream = Stream.root("edges")
    assert {sample_latent(50.0, alpha, beta, stream) for _ in range(50)} == {edge}


def test_a_choice_depends_on_key_and_place_alone() -> None:
    head = TemperatureHead(8, RANGE, seed=0)
    hidden_BC = torch.randn(4, 8, generator=torch.Generator().manual_seed(1))
    keys = [(b"one", 3), (b"one", 4), (b"other", 3), (b"other", 9)]
    kept = [0.6, 0.7, 0.8, 0.9]

    def chosen(order: list[int]) -> list[tuple[float, float]]:
        found = choose_temperatures(
            head, hidden_BC[order], kept=[kept[n] for n in order], noise=[choice_noise(*keys[n]) for n in order]
        )
        return [(one.temperature, one.latent) for one in found]

    whole = chosen([0, 1, 2, 3])
    assert chosen([3, 1]) == [whole[3], whole[1]]
    assert len({latent for _, latent in whole}) > 1


def test_a_number_that_is_none_is_no_choice() -> None:
    head = TemperatureHead(4, RANGE, seed=0)
    with torch.no_grad():
        head.outer.bias[2] = torch.nan
    [found] = choose_temperatures(head, torch.ones(1, 4), kept=[0.75], noise=[choice_noise(b"k", 0)])
    assert (found.temperature, found.latent) == (0.75, NO_LATENT)
    assert found.logprob != found.logprob


# In the engine


@pytest.mark.parametrize("temperature", [1.0, 0.75, 1.3])
def test_where_no_temperature_is_chosen_turns_are_those_of_the_plain_engine_to_the_bit(temperature: float) -> None:
    requests = [replace(one, sampling=replace(one.sampling, temperature=temperature)) for one in REQUESTS]
    model = decoder(-1e4)
    plain = drawn(Core(model, NativeConfig(rows=3)), requests[:3])
    found = drawn(Core(model, NativeConfig(rows=3), temperature_head=True), requests[:3])
    assert [replace(one, choices=None) for one in found] == plain
    for one in found:
        assert one.choices is not None
        assert set(one.choices.temperatures) == {temperature}
        assert set(one.choices.latents) == {NO_LATENT}


@pytest.mark.parametrize("temperature", [1.0, 0.75, 1.25])
def test_a_head_that_always_says_one_temperature_is_the_plain_engine_at_it_to_the_bit(temperature: float) -> None:
    model = decoder(1e4, within=TemperatureRange(low=temperature, high=temperature, epsilon=1.0))
    plain = [replace(one, sampling=replace(one.sampling, temperature=temperature)) for one in REQUESTS]
    found = drawn(Core(model, NativeConfig(), temperature_head=True), REQUESTS)
    assert [replace(one, choices=None) for one in found] == drawn(Core(model, NativeConfig()), plain)
    assert all(one.choices is not None and NO_LATENT not in one.choices.latents for one in found)


def logprobs_at(model: Decoder, asked: TurnRequest, completion: Completion) -> tuple[Tensor, Tensor]:
    """Of its tokens and of its choices, from one pass over the whole sequence and torch's own distributions, [T]."""
    choices = completion.choices
    assert choices is not None
    ids = [*asked.context, *completion.ids]
    before = len(asked.context) - 1
    temperature_T = torch.tensor(choices.temperatures)
    logits_TV = logits_of(model, ids)[before:-1] / temperature_T[:, None]
    token_T = logits_TV.log_softmax(-1).gather(-1, torch.tensor(completion.ids)[:, None])[:, 0]
    with torch.inference_mode():
        hidden_TC = model(torch.tensor(ids), torch.arange(len(ids)), causal)[before:-1]
        assert model.temperature_head is not None
        said = model.temperature_head(hidden_TC)
    latent_T = torch.tensor(choices.latents)
    gate_T = distributions.Bernoulli(logits=said.gate_N).log_prob((latent_T != NO_LATENT).float())
    density_T = distributions.Beta(said.alpha_N, said.beta_N).log_prob(latent_T.clamp_min(LATENT_MARGIN))
    return token_T, gate_T + density_T.masked_fill(latent_T == NO_LATENT, 0.0)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_log_probabilities_are_those_at_each_tokens_own_temperature(precision: str) -> None:
    model = decoder()
    core = Core(model, NativeConfig(rows=2, precision=precision), temperature_head=True)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    for asked, one in [
        pair for pairs in (REQUESTS[:2], REQUESTS[2:4]) for pair in zip(pairs, drawn(core, pairs), strict=True)
    ]:
        token_T, choice_T = logprobs_at(model, asked, one)
        assert one.choices is not None
        near = 2e-5 if precision == "fp32" else 0.5
        assert torch.allclose(token_T, torch.tensor(one.logprobs), atol=near)
        assert torch.allclose(choice_T, torch.tensor(one.choices.logprobs), atol=10 * near)
        before = asked.sampling.temperature
        for temperature, latent in zip(one.choices.temperatures, one.choices.latents, strict=True):
            expected = before if latent == NO_LATENT else RANGE.low + latent * (RANGE.high - RANGE.low)
            assert temperature == pytest.approx(expected, abs=1e-6)
            before = temperature


def test_what_is_drawn_beside_a_turn_changes_no_choice() -> None:
    model = decoder()
    together = drawn(Core(model, NativeConfig(), temperature_head=True), REQUESTS)
    alone = [drawn(Core(model, NativeConfig(), temperature_head=True), [one])[0] for one in REQUESTS]
    for one, other in zip(together, alone, strict=True):
        assert one.ids == other.ids
        assert one.choices is not None
        assert other.choices is not None
        assert one.choices.latents == pytest.approx(other.choices.latents, abs=1e-4)


def test_new_weights_bring_a_new_head() -> None:
    core = Core(decoder(-1e4), NativeConfig(), temperature_head=True)
    [before] = drawn(core, REQUESTS[:1])
    core.update(decoder(1e4).state_dict(), 7, "keep")
    core.release(REQUESTS[0].trajectory)
    [after] = drawn(core, REQUESTS[:1])
    assert before.choices is not None
    assert after.choices is not None
    assert set(before.choices.latents) == {NO_LATENT}
    assert NO_LATENT not in after.choices.latents
    assert set(after.versions) == {7}


def test_a_head_without_finite_weights_ends_the_turn_with_an_error() -> None:
    model = decoder()
    assert model.temperature_head is not None
    with torch.no_grad():
        model.temperature_head.outer.bias[1] = torch.inf
    core = Core(model, NativeConfig(), temperature_head=True)
    core.admit(REQUESTS[0])
    [ended] = core.step()
    assert isinstance(ended.result, EngineError)
    assert "gives temperatures that are no finite numbers" in str(ended.result)


def test_an_engine_that_is_to_choose_needs_a_head() -> None:
    with pytest.raises(ValueError, match="temperature_head=True: the model has none; give it one"):
        Core(varied(tiny()), NativeConfig(), temperature_head=True)

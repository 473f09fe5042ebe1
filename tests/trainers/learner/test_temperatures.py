"""Scores at a temperature of each token's own, and steps of a temperature head. Axes: T and N tokens, C hidden."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from decoders import causal, tiny, varied
from learning import sequences, weighed
from palaestra.errors import ConfigError, DivergedError
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.layouts import LayoutName
from palaestra.trainers.learner import Learner, LearnerConfig, LoraConfig, score_tokens
from palaestra.trainers.learner.processes import Processes
from palaestra.trainers.learner.statistics import TokenStatistic, statistics
from palaestra.trainers.model.shape import TemperatureRange
from palaestra.trainers.objectives import ComposedObjective, PreparedStep, SupervisedObjective
from palaestra.trainers.objectives.trust import Reinforce

RANGE = TemperatureRange(low=0.5, high=1.5, epsilon=1.0)
EVERY: tuple[TokenStatistic, ...] = ("logp", "entropy", "square", "proxy")
LAYOUTS: tuple[LayoutName, ...] = ("packed", "padded", "shared")
PLAIN = LearnerConfig(lr=1e-3)


def parts(n: int = 9) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """States, an output layer, tokens and their temperatures."""
    draw = torch.Generator().manual_seed(0)
    hidden_NC = torch.randn(n, 5, generator=draw, dtype=torch.float64).requires_grad_()
    weight_VC = torch.randn(11, 5, generator=draw, dtype=torch.float64).requires_grad_()
    token_N = torch.randint(0, 11, (n,), generator=draw)
    return hidden_NC, weight_VC, token_N, 0.4 + torch.rand(n, generator=draw, dtype=torch.float64)


def chosen(*, seed: int = 0) -> TokenBatch:
    """A batch with temperatures that a head chose, and advantages."""
    batch = weighed(sequences())
    draw = torch.Generator().manual_seed(seed)
    own_T = batch.trained_T
    latent_T = torch.rand(len(own_T), generator=draw).clamp(1e-4, 1 - 1e-4)
    latent_T = latent_T.masked_fill(torch.rand(len(own_T), generator=draw) < 0.4, 0.0)
    columns = {
        "temperature_T": torch.where(latent_T > 0, 0.5 + latent_T, 0.9),
        "latent_T": latent_T,
        "choice_T": -torch.rand(len(own_T), generator=draw),
    }
    return batch.with_columns({name: value.masked_fill(~own_T, 0.0) for name, value in columns.items()})


def learner(config: LearnerConfig = PLAIN) -> Learner:
    return Learner(varied(tiny(temperature=RANGE), deviation=0.1), config)


def prepared(batch: TokenBatch) -> PreparedStep:
    """REINFORCE on choices, with the batch's advantages."""
    return ComposedObjective(trust=Reinforce()).prepare(batch)


def moved(before: dict[str, Tensor], after: dict[str, Tensor]) -> set[str]:
    return {name for name in before if not torch.equal(before[name], after[name])}


def weights_of(of: Learner) -> dict[str, Tensor]:
    return {name: weight.clone() for name, weight in of.weights().items()}


# Scores


@pytest.mark.parametrize("chunk", [1, 4, 100])
def test_each_token_is_scored_at_its_own_temperature_and_so_is_its_gradient(chunk: int) -> None:
    hidden_NC, weight_VC, token_N, temperature_N = parts()
    found = score_tokens(hidden_NC, weight_VC, token_N, temperature=temperature_N, chunk=chunk)
    logp_NV = (hidden_NC @ weight_VC.T / temperature_N[:, None]).log_softmax(-1)
    logp_N, entropy_N = logp_NV.gather(-1, token_N[:, None])[:, 0], -(logp_NV.exp() * logp_NV).sum(-1)
    assert torch.allclose(found.logp, logp_N, atol=1e-12)
    assert torch.allclose(found.entropy, entropy_N, atol=1e-12)
    along_N = torch.linspace(-1, 2, len(token_N), dtype=torch.float64)
    own, others = (
        torch.autograd.grad((along_N * logp + along_N.flip(0) * entropy).sum(), (hidden_NC, weight_VC))
        for logp, entropy in ((found.logp, found.entropy), (logp_N, entropy_N))
    )
    assert all(torch.allclose(one, other, atol=1e-12) for one, other in zip(own, others, strict=True))


@pytest.mark.parametrize("temperature", [1.0, 0.7, 1.3])
def test_one_temperature_for_all_is_the_same_one_for_each_to_the_bit(temperature: float) -> None:
    hidden_NC, weight_VC, token_N, _ = (x.detach().float() if x.is_floating_point() else x for x in parts())
    each_N = torch.full((len(token_N),), temperature)
    results: list[list[Tensor]] = []
    for given in (temperature, each_N):
        hidden, weight = hidden_NC.clone().requires_grad_(), weight_VC.clone().requires_grad_()
        scores = score_tokens(hidden, weight, token_N, temperature=given, chunk=4)
        (scores.logp.sum() + 0.3 * scores.entropy.sum()).backward()
        said = statistics(hidden_NC, weight_VC, token_N, wanted=EVERY, temperature=given, chunk=4)
        assert hidden.grad is not None
        assert weight.grad is not None
        results.append([scores.logp, scores.entropy, hidden.grad, weight.grad, *(said[name] for name in EVERY)])
    assert all(torch.equal(one, other) for one, other in zip(*results, strict=True))


def test_statistics_are_those_at_each_tokens_temperature() -> None:
    hidden_NC, weight_VC, token_N, temperature_N = parts()
    found = statistics(hidden_NC, weight_VC, token_N, wanted=EVERY, temperature=temperature_N, chunk=4)
    for n in range(len(token_N)):
        alone = statistics(
            hidden_NC[n : n + 1],
            weight_VC,
            token_N[n : n + 1],
            wanted=EVERY,
            temperature=float(temperature_N[n]),
            chunk=1,
        )
        for name in EVERY:
            assert found[name][n].item() == pytest.approx(alone[name].item(), abs=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_learner_scores_at_the_temperatures_of_the_batch(layout: LayoutName) -> None:
    batch, own = chosen(), learner(replace(PLAIN, layout=layout, micro_tokens=40))
    found = own.logprobs(batch, temperature=3.0)  # which the batch's own stand before
    value_N = batch.column("temperature_T")
    for temperature in value_N[batch.trained_T].unique().tolist()[:5]:
        same_T = (value_N == temperature) & batch.trained_T
        plain = own.logprobs(replace(batch, columns={}), temperature=temperature)
        assert torch.allclose(found.logp[same_T], plain.logp[same_T], atol=1e-6)
        assert torch.allclose(found.entropy[same_T], plain.entropy[same_T], atol=1e-6)


def test_tokens_that_nobody_chose_for_are_scored_at_the_one_temperature_that_is_given() -> None:
    batch, own = chosen(), learner()
    prompt = replace(batch, trained_T=(batch.position_T > 0) & ~batch.trained_T)
    plain = replace(prompt, columns={})
    assert torch.equal(own.logprobs(prompt, temperature=0.8).logp, own.logprobs(plain, temperature=0.8).logp)


# The head


def by_autograd(own: Learner, batch: TokenBatch, weight_T: Tensor) -> dict[str, Tensor]:
    """The gradient of -sum(weight log pi) in the head, sequence by sequence and with torch's own distributions."""
    model = varied(tiny(temperature=RANGE), deviation=0.1)
    model.load_state_dict(dict(own.weights()), strict=False)
    head = model.temperature_head
    assert head is not None
    loss = torch.zeros(())
    for segment in range(batch.segments):
        mine_T = batch.segment_T == segment
        with torch.no_grad():
            ids = batch.ids_T[mine_T]
            hidden_LC = model(ids, torch.arange(len(ids)), causal)
        said = head(hidden_LC[:-1])
        latent_L, weight_L = batch.column("latent_T")[mine_T][1:], weight_T[mine_T][1:]
        opened = torch.distributions.Bernoulli(logits=said.gate_N).log_prob((latent_L != 0).float())
        density = torch.distributions.Beta(said.alpha_N, said.beta_N).log_prob(latent_L.clamp_min(1e-4))
        loss = loss - (weight_L * (opened + density * (latent_L != 0))).sum()
    names, values = zip(*head.named_parameters(), strict=True)
    return dict(zip(names, torch.autograd.grad(loss, values), strict=True))


@pytest.mark.parametrize("micro_tokens", [30, 100_000])
def test_the_gradient_of_the_head_is_that_of_a_second_implementation(micro_tokens: int) -> None:
    own = learner(replace(PLAIN, micro_tokens=micro_tokens, max_norm=1e9))
    batch = chosen()
    ready = prepared(batch)
    weight_T = torch.zeros(len(batch.ids_T))
    every = ComposedObjective(trust=Reinforce()).aggregation.weights(batch, batch.trained_T)
    weight_T += (every * batch.advantage_T).masked_fill(~batch.trained_T, 0.0)
    expected = by_autograd(own, batch, weight_T)
    kept: dict[str, Tensor] = {}

    def look(*args: Any) -> None:
        del args
        head = own.check_head()
        kept.update({name: weight.grad.clone() for name, weight in head.named_parameters() if weight.grad is not None})

    own.optimiser.register_step_pre_hook(look)
    own.step_head(ready, lr=1e-3)
    assert kept.keys() == expected.keys()
    assert all(torch.allclose(kept[name], expected[name], rtol=1e-4, atol=1e-6) for name in expected)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_each_moves_and_the_other_stands_still(precision: str) -> None:
    own = learner(replace(PLAIN, precision=precision))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    batch = chosen()
    before = weights_of(own)
    figures = own.step_head(prepared(batch), lr=1e-2)
    between = weights_of(own)
    assert moved(before, between) == {name for name in before if name.startswith("temperature_head.")}
    assert figures["gradient_norm"] > 0
    own.step(SupervisedObjective().prepare(batch))
    after = weights_of(own)
    assert moved(between, after) == {name for name in before if not name.startswith("temperature_head.")}


def test_likelier_choices_are_what_a_head_learns() -> None:
    own, batch = learner(), chosen()
    batch = replace(batch, advantage_T=batch.trained_T.float())
    before = own.choice_logprobs(batch).sum()
    for _ in range(5):
        own.step_head(prepared(batch), lr=1e-2)
    assert own.choice_logprobs(batch).sum() > before


def test_a_saved_learner_goes_on_to_the_bit() -> None:
    whole, broken, batch = learner(), learner(), chosen()

    def steps(of: Learner) -> None:
        of.step_head(prepared(batch), lr=1e-2)
        of.step(SupervisedObjective().prepare(batch))

    steps(whole)
    steps(broken)
    resumed = learner()
    resumed.restore(broken.state())
    steps(whole)
    steps(resumed)
    assert not moved(weights_of(whole), weights_of(resumed))
    assert resumed.steps == whole.steps == 4


def test_a_step_of_the_head_that_diverges_changes_nothing() -> None:
    own = learner()
    before = weights_of(own)
    batch = chosen()
    with pytest.raises(DivergedError, match=r"loss nan"):
        own.step_head(prepared(replace(batch, advantage_T=batch.advantage_T * torch.nan)), lr=1e-2)
    assert not moved(before, weights_of(own))


# Refusals


def test_a_policy_without_a_head_is_refused() -> None:
    plain = Learner(varied(tiny()), PLAIN)
    for ask in (plain.check_head, lambda: plain.choice_logprobs(chosen())):
        with pytest.raises(ConfigError, match="no temperature head to train; add one to its model"):
            ask()


def test_adapters_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"adapters leave those alone; leave learner\.lora out"):
        learner(replace(PLAIN, lora=LoraConfig(rank=2))).check_head()


def test_several_processes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    own = learner()
    monkeypatch.setattr(Processes, "several", property(lambda self: True))
    with pytest.raises(ConfigError, match="weights are spread over several; train in one"):
        own.check_head()

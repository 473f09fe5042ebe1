"""What a policy says of tokens, against whole distributions written out; norms against torch's own gradients.

Axes: N tokens, C hidden, V vocabulary.
"""

import math
from dataclasses import replace

import pytest
import torch

from decoders import tiny, varied
from learning import sequences, weighed
from palaestra.errors import ConfigError
from palaestra.trainers.data.layouts import LayoutName
from palaestra.trainers.learner import Learner, LearnerConfig
from palaestra.trainers.learner.statistics import TokenStatistic, statistics

EVERY: tuple[TokenStatistic, ...] = ("logp", "entropy", "square", "proxy")
PLAIN = LearnerConfig(lr=1e-3)


def learner(config: LearnerConfig = PLAIN) -> Learner:
    return Learner(varied(tiny(), deviation=0.1), config)


def written_out(logits: list[float], token: int) -> dict[str, float]:
    """Of one token, from the logits of its distribution."""
    total = math.fsum(map(math.exp, logits))
    p = [math.exp(x) / total for x in logits]
    left = [x if x >= 0.02 * max(p) else 0.0 for x in p]
    return {
        "logp": math.log(p[token]),
        "entropy": -math.fsum(x * math.log(x) for x in p),
        "square": math.fsum(x * x for x in p),
        "proxy": math.log(left[token] / math.fsum(left)) if left[token] else -1e4,
    }


@pytest.mark.parametrize("temperature", [1.0, 0.7])
@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_statistics_are_those_of_the_whole_distribution(temperature: float, chunk: int) -> None:
    draw = torch.Generator().manual_seed(0)
    hidden_NC = torch.randn(17, 5, generator=draw, dtype=torch.float64)
    weight_VC = 2 * torch.randn(11, 5, generator=draw, dtype=torch.float64)
    token_N = torch.randint(0, 11, (17,), generator=draw)
    found = statistics(hidden_NC, weight_VC, token_N, wanted=EVERY, temperature=temperature, chunk=chunk)
    taken_out = 0
    for n in range(17):
        expected = written_out((hidden_NC[n] @ weight_VC.T / temperature).tolist(), int(token_N[n]))
        assert {name: found[name][n].item() for name in EVERY} == pytest.approx(expected, abs=1e-12)
        taken_out += expected["proxy"] == -1e4
    assert 0 < taken_out < 17


def test_only_what_is_wanted_is_worked_out() -> None:
    hidden_NC, weight_VC = torch.ones(2, 3), torch.ones(4, 3)
    found = statistics(hidden_NC, weight_VC, torch.tensor([0, 1]), wanted=["square"], temperature=1.0, chunk=8)
    assert found.keys() == {"square"}
    assert found["square"].tolist() == pytest.approx([0.25, 0.25])


@pytest.mark.parametrize("layout", ["packed", "padded", "shared"])
def test_columns_stand_at_their_tokens_whatever_the_layout_and_division(layout: LayoutName) -> None:
    batch = weighed(sequences())
    whole = learner().columns(batch, EVERY, temperature=0.8)
    parts = learner(replace(PLAIN, layout=layout, micro_tokens=40)).columns(batch, EVERY, temperature=0.8)
    scores = learner().logprobs(batch, temperature=0.8)
    assert torch.equal(whole["logp"], scores.logp)
    assert torch.equal(whole["entropy"], scores.entropy)
    for name in EVERY:
        assert not whole[name][~batch.trained_T].any()
        torch.testing.assert_close(parts[name], whole[name], rtol=1e-4, atol=1e-5)


def test_a_gradients_norm_is_that_of_the_trajectorys_log_probability() -> None:
    batch = weighed(sequences())
    at = learner()
    before = {name: weight.clone() for name, weight in at.weights().items()}
    found_R = at.gradient_norms(batch, temperature=0.8)
    model = varied(tiny(), deviation=0.1)
    for trajectory in range(batch.trajectories):
        one = batch.select([trajectory])

        def attend(layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            del layer
            repeats = q.shape[1] // k.shape[1]
            k, v = (x.repeat_interleave(repeats, 1) for x in (k, v))
            q, k, v = (x.transpose(0, 1)[None] for x in (q, k, v))
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)[0].transpose(0, 1)

        model.zero_grad()
        logits = model.logits(model(one.ids_T, one.position_T, attend)) / 0.8
        place = one.trained_T.nonzero()[:, 0]
        logits[place - 1].log_softmax(-1)[torch.arange(len(place)), one.ids_T[place]].sum().backward()
        norm = sum(float(w.grad.double().square().sum()) for w in model.parameters() if w.grad is not None)
        assert found_R[trajectory].item() == pytest.approx(norm, rel=1e-3)
    assert all(torch.equal(weight, before[name]) for name, weight in at.weights().items())


def test_norms_of_single_trajectories_are_refused_where_weights_are_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    at = learner()
    monkeypatch.setattr(at._processes, "_mesh", object())
    with pytest.raises(ConfigError, match="opob-proxy"):
        at.check_norms()
    with pytest.raises(ConfigError, match="all weights in one process"):
        at.gradient_norms(weighed(sequences()))

"""Axes: B sequences, T tokens."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from palaestra.seeding import Stream
from palaestra.tools import CHAT_FORMATS
from palaestra.trainers.codec import Codec, train_tokenizer
from palaestra.trainers.reference.batch import PaddedBatch, Sample, pad_batch
from palaestra.trainers.reference.learner import OptimiserConfig, ReferenceLearner
from palaestra.trainers.reference.policy import ModelShape, ReferencePolicy, new_model
from palaestra.trajectory import Tokens

TINY = ModelShape(hidden=16, layers=2, heads=2, kv_heads=1, head_dim=8, mlp=32, context=64)
PLAIN = OptimiserConfig(lr=1e-3, weight_decay=0.0)


def tiny() -> ReferencePolicy:
    form = CHAT_FORMATS.get("compact")
    tokenizer = train_tokenizer([["hello world"]], form, size=300)
    return ReferencePolicy(
        model=new_model(TINY, vocabulary=len(tokenizer), seed=0).eval(), codec=Codec(tokenizer, form)
    )


def learner(config: OptimiserConfig = PLAIN) -> ReferenceLearner:
    return ReferenceLearner(tiny(), config)


def sequences(advantages: Sequence[float] = (1.0, -0.5, 0.25, -1.0, 2.0)) -> list[Sample]:
    """Random tokens of unlike lengths, about half of them sampled; as in an episode, the first is not."""
    samples: list[Sample] = []
    for number, advantage in enumerate(advantages):
        stream = Stream.root("sequence", number)
        count = 6 + 5 * number
        samples.append(
            Sample(
                tokens=Tokens(
                    ids=tuple(stream.below(200) for _ in range(count)),
                    sampled=tuple(i == count - 1 or (i > 0 and stream.chance(50)) for i in range(count)),
                    logprobs=tuple(-stream.below(8) / 2 for _ in range(count)),
                    versions=(0,) * count,
                ),
                advantage=advantage,
            )
        )
    return samples


def on_policy(of: ReferenceLearner, samples: Sequence[Sample], *, temperature: float = 1.0) -> list[Sample]:
    """The same tokens with the log-probabilities that the learner's policy gives them."""
    with torch.no_grad():
        logp_BT = of.logprobs(pad_batch(samples), temperature=temperature)
    return [
        replace(
            sample,
            tokens=replace(sample.tokens, logprobs=tuple(logp_BT[row].tolist() + [0.0] * 99)[: len(sample.tokens.ids)]),
        )
        for row, sample in enumerate(samples)
    ]


def weights(of: ReferenceLearner) -> Tensor:
    return torch.cat([weight.detach().reshape(-1).clone() for weight in of.policy.model.parameters()])


def grpo(of: ReferenceLearner, samples: Sequence[Sample], *, lr: float = 1e-3, sequences: int = 5) -> dict[str, float]:
    return of.grpo_step(samples, lr=lr, clip=0.2, temperature=1.0, sequences=sequences)


def plain_logprobs(policy: ReferencePolicy, batch: PaddedBatch, temperature: float) -> Tensor:
    """The reference: the whole of the logits, each sequence by itself, without padding."""
    logp_BT = torch.zeros_like(batch.logprob_BT)
    for row in range(len(batch.ids_BT)):
        n = int(batch.trained_BT[row].nonzero().max()) + 1
        ids_1T = batch.ids_BT[row : row + 1, :n]
        logits_TV = policy.model(input_ids=ids_1T, use_cache=False).logits[0] / temperature
        following_T = logits_TV[:-1].log_softmax(-1).gather(-1, ids_1T[0, 1:, None])[:, 0]
        logp_BT[row, 1:n] = following_T
    return logp_BT.masked_fill(~batch.trained_BT, 0.0)


# Log-probabilities


@pytest.mark.parametrize("temperature", [1.0, 0.5, 2.0])
def test_log_probabilities_are_the_log_softmax_of_the_whole_logits(temperature: float) -> None:
    at = learner()
    batch = pad_batch(sequences())
    with torch.no_grad():
        found = at.logprobs(batch, temperature=temperature)
        expected = plain_logprobs(at.policy, batch, temperature)
    assert torch.allclose(found, expected, atol=1e-5)
    assert (found[~batch.trained_BT] == 0).all()
    assert (found[batch.trained_BT] < 0).all()


# Supervised steps


def test_the_supervised_loss_is_the_mean_over_trained_tokens() -> None:
    at = learner()
    samples = sequences()
    batch = pad_batch(samples)
    with torch.no_grad():
        expected = -at.logprobs(batch).sum() / sum(sum(sample.tokens.sampled) for sample in samples)
    assert at.supervised_step(samples, lr=1e-3)["loss"] == pytest.approx(expected.item(), rel=1e-5)


def test_the_supervised_loss_falls_on_a_batch_that_stays() -> None:
    at = learner(OptimiserConfig(lr=1e-2))
    losses = [at.supervised_step(sequences(), lr=1e-2)["loss"] for _ in range(30)]
    assert losses[0] == pytest.approx(5.56, abs=0.2)  # log of the vocabulary: 261 tokens that it has never seen
    assert losses[-1] < losses[0] / 2


@pytest.mark.parametrize("micro", [1, 40, 100])
def test_micro_batches_do_not_change_a_supervised_step(micro: int) -> None:
    whole, parts = learner(), learner(replace(PLAIN, micro_tokens=micro))
    for at in (whole, parts):  # in float64: AdamW's first step magnifies the rounding of a gradient near 0
        at.policy.model.double()
    first, second = (at.supervised_step(sequences(), lr=1e-3) for at in (whole, parts))
    assert first == pytest.approx(second, rel=1e-9)
    assert torch.allclose(weights(whole), weights(parts), atol=1e-6, rtol=0)


def test_a_step_leaves_the_model_evaluating_and_no_gradient_behind() -> None:
    at = learner()
    at.supervised_step(sequences(), lr=1e-3)
    assert not at.policy.model.training
    assert all(weight.grad is None for weight in at.policy.model.parameters())


def test_a_learning_rate_of_zero_changes_nothing() -> None:
    at = learner()
    before = at.policy.digest()
    assert at.supervised_step(sequences(), lr=0.0)["gradient_norm"] > 0
    assert at.policy.digest() == before


def test_equal_steps_give_equal_weights_to_the_bit() -> None:
    first, second = learner(), learner()
    for at in (first, second):
        at.supervised_step(sequences(), lr=1e-3)
        grpo(at, sequences())
    assert first.policy.digest() == second.policy.digest()


# Steps of GRPO


def test_without_an_advantage_there_is_no_gradient_and_no_change() -> None:
    at = learner()
    before = at.policy.digest()
    assert grpo(at, sequences([0.0] * 5)) == {"loss": 0.0, "gradient_norm": 0.0}
    assert at.policy.digest() == before


def test_where_the_clip_binds_everywhere_there_is_no_change() -> None:
    at = learner()
    before = at.policy.digest()
    rarer = [
        replace(sample, advantage=1.0, tokens=replace(sample.tokens, logprobs=(-20.0,) * len(sample.tokens.ids)))
        for sample in sequences()
    ]
    assert grpo(at, rarer)["gradient_norm"] == 0.0
    assert at.policy.digest() == before


def test_with_an_advantage_the_weights_change() -> None:
    at = learner()
    before = at.policy.digest()
    assert grpo(at, on_policy(at, sequences()))["gradient_norm"] > 0
    assert at.policy.digest() != before


def test_a_step_makes_what_did_better_likelier_and_what_did_worse_rarer() -> None:
    at = learner()
    samples = on_policy(at, sequences([1.0, -1.0]))
    batch = pad_batch(samples)
    with torch.no_grad():
        before = at.logprobs(batch).sum(-1)
    grpo(at, samples, sequences=2)
    with torch.no_grad():
        after = at.logprobs(batch).sum(-1)
    assert after[0] > before[0]
    assert after[1] < before[1]


def test_samples_of_advantage_zero_may_be_left_out() -> None:
    first, second = learner(), learner()
    samples = on_policy(first, sequences([1.0, 0.0, -0.5, 0.0, 0.25]))
    grpo(first, samples)
    grpo(second, [sample for sample in samples if sample.advantage != 0])
    assert torch.allclose(weights(first), weights(second), atol=1e-5, rtol=0)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_on_policy_the_loss_is_the_mean_of_advantages_with_the_other_sign(temperature: float) -> None:
    at = learner()
    samples = on_policy(at, sequences(), temperature=temperature)
    found = at.grpo_step(samples, lr=1e-3, clip=0.2, temperature=temperature, sequences=5)
    assert found["loss"] == pytest.approx(-(1.0 - 0.5 + 0.25 - 1.0 + 2.0) / 5, rel=1e-4)


@pytest.mark.parametrize("micro", [1, 40, 100])
def test_micro_batches_do_not_change_a_step_of_grpo(micro: int) -> None:
    # The first step of Adam is lr * g / (|g| + eps), whose slope near g = 0 magnifies rounding; a large eps has none.
    first, second = learner(), learner(replace(PLAIN, micro_tokens=micro))
    samples = on_policy(first, sequences())
    for at in (first, second):
        at.optimiser.param_groups[0]["eps"] = 1e-2
        grpo(at, samples)
    assert torch.allclose(weights(first), weights(second), atol=1e-6, rtol=0)


def test_the_gradient_is_scaled_down_to_the_norm_that_is_set() -> None:
    # With a large eps a step of Adam is nearly lr * g / eps, so that a smaller norm is a smaller step.
    moved: list[float] = []
    for norm in (1e-3, 1e-4):
        at = learner(replace(PLAIN, max_norm=norm))
        at.optimiser.param_groups[0]["eps"] = 1e3
        before = weights(at)
        at.supervised_step(sequences(), lr=1e6)
        moved.append((weights(at) - before).norm().item())
    assert moved[0] == pytest.approx(10 * moved[1], rel=1e-2)

"""The learner that rounds keys and values as the engine does: log-probabilities are the engine's, gradients pass.

Axes: T tokens, H heads, G key-value heads, D head dimension.
"""

from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor

from decoders import causal, tiny
from engines.plain import telling
from learning import sequences, weighed
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.device import Precision
from palaestra.trainers.engines.native import NativeConfig
from palaestra.trainers.flow import KeyValueFormat
from palaestra.trainers.learner import Learner, LearnerConfig
from palaestra.trainers.learner.rounded_attention import RoundedAttention
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.objectives import ComposedObjective, SupervisedObjective
from palaestra.trainers.quantised_vectors import round_vectors
from unified import batch_of, draw_together

SHAPE = tiny(hidden=37, head_dim=16, mlp=51)
FREE = LearnerConfig(lr=1e-3, weight_decay=0.0, keys_and_values="fp8")
INVARIANT = replace(FREE, invariant=True)
PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16", "fp8", "fp8-block")


@cache
def decoder() -> Decoder:
    return telling(SHAPE, seed=0)


@cache
def drawn(precision: Precision, *, invariant: bool = True, held: KeyValueFormat = "fp8") -> TokenBatch:
    """Trajectories of two turns each, of lengths from 1 on, with contexts taken in by parts and prefixes shared."""
    config = NativeConfig(
        rows=64, capacity=40_000, prefill=24, precision=precision, keys_and_values=held, invariant=invariant
    )
    return batch_of(draw_together(decoder(), range(24), config))


def mismatch(config: LearnerConfig, batch: TokenBatch) -> Tensor:
    """How far the learner's log-probabilities are from those of the draw, [T]."""
    logp_T = Learner(decoder(), config).logprobs(batch).logp
    return (logp_T - batch.logprob_T)[batch.trained_T].abs()


# Log-probabilities


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("layout", ["packed", "padded", "shared"])
def test_in_the_invariant_mode_they_are_those_of_the_draw(precision: Precision, layout: Any) -> None:
    config = replace(INVARIANT, precision=precision, layout=layout, micro_tokens=900)
    assert mismatch(config, drawn(precision)).max() == 0.0


@pytest.mark.parametrize("changes", [{"micro_tokens": 60}, {"checkpointing": True}], ids=lambda one: next(iter(one)))
def test_how_a_batch_is_put_through_changes_nothing(changes: dict[str, Any]) -> None:
    assert mismatch(replace(INVARIANT, **changes), drawn("fp32")).max() == 0.0


@pytest.mark.parametrize("precision", PRECISIONS)
def test_one_half_alone_gives_others(precision: Precision) -> None:
    config = replace(INVARIANT, precision=precision)
    assert mismatch(replace(config, keys_and_values="states"), drawn(precision)).mean() > 1e-3
    assert mismatch(config, drawn(precision, held="states")).mean() > 1e-3


@pytest.mark.parametrize("layout", ["packed", "padded", "shared"])
def test_in_free_flows_they_are_about_those_of_the_draw(layout: Any) -> None:
    """A last bit that differs moves a number to its neighbour in E4M3 now and then."""
    batch, config = drawn("fp32", invariant=False), replace(FREE, layout=layout)
    unified, other = mismatch(config, batch), mismatch(replace(config, keys_and_values="states"), batch)
    assert unified.mean() < other.mean() / 5


def test_a_step_on_fresh_rollouts_has_a_ratio_of_exactly_one() -> None:
    returns = torch.tensor([float(place % 2) for place in range(24)])
    batch = replace(drawn("bf16"), group_R=torch.zeros(24, dtype=torch.long), return_R=returns)
    objective = ComposedObjective()
    learner = Learner(deepcopy(decoder()), replace(INVARIANT, precision="bf16", layout="shared"))
    found = learner.step(objective.prepare(objective.advantages(batch)))
    assert (found["policy/ratio_mean"], found["policy/ratio_max"], found["policy/kl"]) == (1.0, 1.0, 0.0)
    assert found["gradient_norm"] > 0


# Gradients


def test_gradients_are_those_of_attention_at_the_rounded_numbers() -> None:
    generator = torch.Generator().manual_seed(0)
    q_THD, k_TGD, v_TGD = (torch.randn(9, heads, 8, generator=generator).requires_grad_() for heads in (4, 2, 2))
    seen_THD = RoundedAttention(causal)(0, q_THD, k_TGD, v_TGD)
    rounded = [x.detach() for x in (q_THD, round_vectors(k_TGD), round_vectors(v_TGD))]
    leaves = [x.clone().requires_grad_() for x in rounded]
    wanted_THD = causal(0, *leaves)
    assert torch.equal(seen_THD, wanted_THD)
    weight_THD = torch.randn(seen_THD.shape, generator=generator)
    found = torch.autograd.grad((seen_THD * weight_THD).sum(), [q_THD, k_TGD, v_TGD])
    wanted = torch.autograd.grad((wanted_THD * weight_THD).sum(), leaves)
    assert all(torch.equal(one, other) for one, other in zip(found, wanted, strict=True))


def gradients(config: LearnerConfig) -> dict[str, Tensor]:
    """Of the weights, as the optimiser is about to use them."""
    learner = Learner(deepcopy(decoder()), config)
    kept: dict[str, Tensor] = {}

    def look(*args: Any) -> None:
        del args
        kept.update({name: w.grad.clone() for name, w in learner._trained.items() if w.grad is not None})

    learner.optimiser.register_step_pre_hook(look)
    learner.step(SupervisedObjective().prepare(weighed(sequences())), lr=0.0)
    return kept


def test_gradients_of_the_two_modes_agree() -> None:
    found, wanted = gradients(INVARIANT), gradients(FREE)
    assert found.keys() == wanted.keys()
    for name, gradient in wanted.items():
        assert (found[name] - gradient).norm() <= 2e-2 * gradient.norm(), name


def test_checkpointing_gives_the_same_gradients() -> None:
    found, wanted = gradients(replace(INVARIANT, checkpointing=True)), gradients(INVARIANT)
    for name, gradient in wanted.items():
        torch.testing.assert_close(found[name], gradient)


def test_it_learns() -> None:
    learner = Learner(deepcopy(decoder()), replace(FREE, lr=3e-3))
    losses = [learner.step(SupervisedObjective().prepare(weighed(sequences())))["loss"] for _ in range(12)]
    assert losses[-1] < 0.7 * losses[0]

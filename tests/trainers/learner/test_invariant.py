"""The learner in the invariant mode: log-probabilities are the engine's to the bit, gradients the ordinary ones.

Axes: T tokens.
"""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor

from decoders import tiny
from engines.plain import telling
from learning import sequences, weighed
from palaestra.errors import ConfigError
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.device import Precision
from palaestra.trainers.engines.native import NativeConfig
from palaestra.trainers.learner import Learner, LearnerConfig, LoraConfig
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.model.shape import ExpertShape
from palaestra.trainers.objectives import ComposedObjective, SupervisedObjective
from unified import batch_of, draw_together

SHAPE = tiny(hidden=37, head_dim=16, mlp=51)
BIASED: dict[str, Any] = {"hidden": 64, "qk_norm": False, "qkv_bias": True}
MIXED: dict[str, Any] = {"experts": ExpertShape(count=5, chosen=2, normalised=True)}
PLAIN = LearnerConfig(lr=1e-3, invariant=True)
PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16", "fp8", "fp8-block")


@cache
def decoder(**changes: Any) -> Decoder:
    found = telling(replace(SHAPE, **changes), seed=0)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, weight in found.named_parameters():
            if name.endswith("bias"):  # 0 at first
                weight.normal_(0.0, 0.5, generator=generator)
    return found


@cache
def drawn(precision: Precision, together: int, temperature: float = 1.0) -> TokenBatch:
    """Trajectories of two turns each, of lengths from 1 on, with contexts taken in by parts and prefixes shared."""
    config = NativeConfig(rows=64, capacity=40_000, prefill=24, precision=precision, invariant=True)
    return batch_of(draw_together(decoder(), range(together), config, temperature=temperature))


def mismatch(config: LearnerConfig, batch: TokenBatch, *, temperature: float = 1.0) -> Tensor:
    """How far the learner's log-probabilities are from those of the draw, [T]."""
    logp_T = Learner(decoder(), config).logprobs(batch, temperature=temperature).logp
    return (logp_T - batch.logprob_T)[batch.trained_T].abs()


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


# Log-probabilities


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("layout", ["packed", "padded", "shared"])
@pytest.mark.parametrize("together", [1, 7, 64])
def test_drawn_tokens_have_the_log_probabilities_that_they_were_drawn_with(
    precision: Precision, layout: Any, together: int
) -> None:
    config = replace(PLAIN, precision=precision, layout=layout, micro_tokens=900)
    assert mismatch(config, drawn(precision, together)).max() == 0.0


@pytest.mark.parametrize("shape", [BIASED, MIXED], ids=["biases", "experts"])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_other_families_are_computed_alike(precision: Precision, shape: dict[str, Any]) -> None:
    config = NativeConfig(rows=64, capacity=40_000, prefill=24, precision=precision, invariant=True)
    model = decoder(**shape)
    batch = batch_of(draw_together(model, range(7), config, temperature=1.0))
    logp_T = Learner(model, replace(PLAIN, precision=precision, layout="shared")).logprobs(batch, temperature=1.0).logp
    assert torch.equal(logp_T[batch.trained_T], batch.logprob_T[batch.trained_T])


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_ordinary_learner_gives_others(precision: Precision) -> None:
    config = replace(PLAIN, precision=precision, invariant=False)
    assert mismatch(config, drawn(precision, 7)).max() > 0.0


@pytest.mark.parametrize(
    "changes", [{"micro_tokens": 60}, {"logits_chunk": 5}, {"checkpointing": True}], ids=lambda one: next(iter(one))
)
def test_how_a_batch_is_put_through_changes_nothing(changes: dict[str, Any]) -> None:
    assert mismatch(replace(PLAIN, **changes), drawn("fp32", 7)).max() == 0.0


@pytest.mark.parametrize("temperature", [0.7, 1.9])
def test_temperatures_are_those_of_the_draw(temperature: float) -> None:
    assert mismatch(PLAIN, drawn("fp32", 7, temperature), temperature=temperature).max() == 0.0


def test_threads_change_nothing(threads: None) -> None:
    for count in (1, 2):
        torch.set_num_threads(count)
        assert mismatch(PLAIN, drawn("fp32", 7)).max() == 0.0


def test_other_statistics_come_beside_the_same_log_probabilities() -> None:
    batch = drawn("fp32", 7)
    learner, ordinary = (Learner(decoder(), config) for config in (PLAIN, replace(PLAIN, invariant=False)))
    found = learner.columns(batch, ["logp", "entropy", "square"])
    wanted = ordinary.columns(batch, ["logp", "entropy", "square"])
    assert torch.equal(found["logp"][batch.trained_T], batch.logprob_T[batch.trained_T])
    for name, x_T in wanted.items():
        torch.testing.assert_close(found[name], x_T, atol=1e-4, rtol=1e-4)


# Steps


def gradients(config: LearnerConfig, shape: dict[str, Any], batch: TokenBatch) -> dict[str, Tensor]:
    """Of the weights, as the optimiser is about to use them."""
    learner = Learner(decoder(**shape), config)
    kept: dict[str, Tensor] = {}

    def look(*args: Any) -> None:
        del args
        kept.update({name: w.grad.clone() for name, w in learner._trained.items() if w.grad is not None})

    learner.optimiser.register_step_pre_hook(look)
    learner.step(SupervisedObjective().prepare(batch), lr=0.0)
    return kept


@pytest.mark.parametrize(
    ("shape", "layout"),
    [
        ({}, "packed"),
        ({"qk_norm": False, "tied": False}, "padded"),
        ({"kv_heads": 4, "head_dim": 32}, "shared"),
        (BIASED, "shared"),
        (MIXED, "packed"),
    ],
    ids=["packed", "padded", "shared", "biases", "experts"],
)
def test_gradients_are_the_ordinary_ones(shape: dict[str, Any], layout: Any) -> None:
    batch = weighed(sequences())
    config = replace(PLAIN, layout=layout, weight_decay=0.0)
    found = gradients(config, shape, batch)
    wanted = gradients(replace(config, invariant=False), shape, batch)
    assert found.keys() == wanted.keys()
    for name, gradient in wanted.items():
        assert (found[name] - gradient).norm() <= 1e-5 * gradient.norm(), name


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_step_on_fresh_rollouts_has_a_ratio_of_exactly_one(precision: Precision) -> None:
    batch = drawn(precision, 7)
    returns = torch.tensor([float(place % 2) for place in range(7)])
    batch = replace(batch, group_R=torch.zeros(7, dtype=torch.long), return_R=returns)
    objective = ComposedObjective()
    learner = Learner(deepcopy(decoder()), replace(PLAIN, precision=precision, layout="shared"))
    first = learner.step(objective.prepare(objective.advantages(batch)))
    assert (first["policy/ratio_mean"], first["policy/ratio_max"], first["policy/kl"]) == (1.0, 1.0, 0.0)
    assert first["gradient_norm"] > 0
    second = learner.step(objective.prepare(objective.advantages(batch)))
    assert second["policy/ratio_max"] != 1.0, "the weights that are scored are those of the step before"


# Refusals


def test_what_would_be_another_forward_pass_is_refused() -> None:
    with pytest.raises(ValueError, match=r"invariant=True, lora: .* leave one of the two out"):
        LearnerConfig(lr=1e-3, invariant=True, lora=LoraConfig())
    with pytest.raises(ConfigError, match="head_dim=8"):
        Learner(telling(tiny(head_dim=8), seed=0), PLAIN)
    with pytest.raises(ConfigError, match="train in one process, or leave invariant out"):
        Learner(decoder(), PLAIN, mesh=object())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

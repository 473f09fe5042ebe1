"""The learner in FP8: it computes what the engine computes, and moves weights in single precision.

Axes: T tokens.
"""

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
from palaestra.trainers.objectives import SupervisedObjective
from unified import batch_of, draw_together

SHAPE = tiny(hidden=37, head_dim=16, mlp=51)
PLAIN = LearnerConfig(lr=1e-3, weight_decay=0.0)
FLOWS = pytest.mark.parametrize("precision", ["fp8", "fp8-block"])


@cache
def decoder() -> Decoder:
    return telling(SHAPE, seed=0)


@cache
def drawn(precision: Precision) -> TokenBatch:
    settings = NativeConfig(rows=64, capacity=40_000, prefill=24, precision=precision)
    return batch_of(draw_together(decoder(), range(24), settings))


def mismatch(config: LearnerConfig, batch: TokenBatch) -> Tensor:
    logp_T = Learner(decoder(), config).logprobs(batch).logp
    return (logp_T - batch.logprob_T)[batch.trained_T].abs()


@FLOWS
@pytest.mark.parametrize("layout", ["packed", "shared"])
def test_drawn_tokens_have_about_the_log_probabilities_that_they_were_drawn_with(
    precision: Precision, layout: Any
) -> None:
    """Sums in another order make a number round to its neighbour now and then; other formats are farther off."""
    unified = mismatch(replace(PLAIN, precision=precision, layout=layout), drawn(precision))
    higher = mismatch(replace(PLAIN, precision="bf16", layout=layout), drawn(precision))
    assert unified.mean() < 0.12
    assert unified.mean() < higher.mean() / 2


@FLOWS
def test_steps_add_up_in_single_precision(precision: Precision) -> None:
    """Steps of 1e-5 of a weight's size are lost in E4M3 and in bfloat16, and kept in the weights themselves."""
    model = deepcopy(decoder())
    learner = Learner(model, replace(PLAIN, precision=precision, lr=1e-6))
    before = next(model.projections()).weight.detach().clone()
    for _ in range(2):
        learner.step(SupervisedObjective().prepare(weighed(sequences())))
    moved = (next(model.projections()).weight.detach() - before).abs()
    assert 0 < float(moved.max()) < 4e-6
    assert model.lm_head.weight.dtype == torch.float32


@FLOWS
def test_weights_that_changed_are_quantised_again(precision: Precision) -> None:
    model = deepcopy(decoder())
    learner, batch = Learner(model, replace(PLAIN, precision=precision)), weighed(sequences())
    before = learner.logprobs(batch).logp
    model.load_state_dict(telling(SHAPE, seed=3).state_dict())
    found = learner.logprobs(batch).logp
    assert not torch.equal(found, before)
    assert torch.equal(found, Learner(model, replace(PLAIN, precision=precision)).logprobs(batch).logp)


@FLOWS
def test_it_learns(precision: Precision) -> None:
    learner = Learner(deepcopy(decoder()), replace(PLAIN, precision=precision, lr=3e-3))
    losses = [learner.step(SupervisedObjective().prepare(weighed(sequences())))["loss"] for _ in range(12)]
    assert losses[-1] < 0.7 * losses[0]


@FLOWS
@pytest.mark.parametrize("changes", [{"checkpointing": True}, {"micro_tokens": 60}], ids=["checkpoints", "micro"])
def test_how_a_batch_is_put_through_changes_little(precision: Precision, changes: dict[str, Any]) -> None:
    batch = weighed(sequences())
    one, other = (
        Learner(deepcopy(decoder()), replace(PLAIN, precision=precision, **more)).step(
            SupervisedObjective().prepare(batch), lr=0.0
        )
        for more in ({}, changes)
    )
    assert one["loss"] == pytest.approx(other["loss"], rel=2e-2)
    assert one["gradient_norm"] == pytest.approx(other["gradient_norm"], rel=0.1)


@FLOWS
def test_a_step_says_what_quantisation_took(precision: Precision) -> None:
    found = Learner(deepcopy(decoder()), replace(PLAIN, precision=precision)).step(
        SupervisedObjective().prepare(weighed(sequences()))
    )
    assert found["memory/learner_quantised"] > SHAPE.projection_parameters
    assert 0 < found["speed/learner_quantise_ms"] < 1e3 * found["seconds"]
    half = Learner(deepcopy(decoder()), replace(PLAIN, precision="bf16"))
    assert "memory/learner_quantised" not in half.step(SupervisedObjective().prepare(weighed(sequences())))


@FLOWS
def test_what_would_be_another_forward_pass_is_refused(precision: Precision) -> None:
    with pytest.raises(ValueError, match=rf"precision='{precision}', lora: .* leave lora out"):
        LearnerConfig(lr=1e-3, precision=precision, lora=LoraConfig())
    with pytest.raises(ConfigError, match="train in one process"):
        Learner(decoder(), replace(PLAIN, precision=precision), mesh=object())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

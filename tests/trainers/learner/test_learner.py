"""The learner against the reference, on transformers' own model; and what it promises besides.

Axes: T tokens, B sequences, L places.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from decoders import in_transformers, tiny, varied
from learning import in_rows, samples, sequences, weighed
from palaestra.errors import CheckpointError, DivergedError
from palaestra.trainers.codec import Codec
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.layouts import LayoutName
from palaestra.trainers.learner import Learner, LearnerConfig
from palaestra.trainers.objectives import ComposedObjective, Metrics, PreparedStep, SupervisedObjective
from palaestra.trainers.objectives.supervised import cross_entropy
from palaestra.trainers.reference.batch import pad_batch
from palaestra.trainers.reference.learner import OptimiserConfig
from palaestra.trainers.reference.learner import ReferenceLearner as Reference
from palaestra.trainers.reference.policy import ReferencePolicy

PLAIN = LearnerConfig(lr=1e-3)
LAYOUTS: tuple[LayoutName, ...] = ("packed", "padded", "shared")
DEVIATION = 0.1


def learner(config: LearnerConfig = PLAIN, **shape: Any) -> Learner:
    return Learner(varied(tiny(**shape), deviation=DEVIATION), config)


def reference(directory: Path, **shape: Any) -> Reference:
    model = in_transformers(varied(tiny(**shape), deviation=DEVIATION), directory)
    return Reference(ReferencePolicy(model=model, codec=cast("Codec", None)), OptimiserConfig(lr=1e-3))


def copied(of: Learner) -> dict[str, Tensor]:
    return {name: weight.clone() for name, weight in of.weights().items()}


def equal(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def close(one: dict[str, Tensor], other: dict[str, Tensor], *, atol: float) -> bool:
    return one.keys() == other.keys() and all(torch.allclose(one[k], other[k], atol=atol, rtol=0) for k in one)


def keep_gradients(optimiser: torch.optim.Optimizer, model: torch.nn.Module) -> dict[str, Tensor]:
    """What the gradients of `model` are when its optimiser is about to use them."""
    kept: dict[str, Tensor] = {}

    def look(*args: Any) -> None:
        del args
        kept.update({name: w.grad.clone() for name, w in model.named_parameters() if w.grad is not None})

    optimiser.register_step_pre_hook(look)
    return kept


@dataclass(frozen=True)
class Broken:
    """Supervised, but for a loss or a gradient that is no number."""

    loss_factor: float = 1.0
    gradient_factor: float = 1.0

    def prepare(self, batch: TokenBatch) -> PreparedStep:
        return replace(SupervisedObjective().prepare(batch), loss=self.loss)

    def loss(self, logp_T: Tensor, entropy_T: Tensor, batch: TokenBatch) -> tuple[Tensor, Metrics]:
        loss, figures = cross_entropy(logp_T, entropy_T, batch)
        return self.loss_factor * loss.detach() + self.gradient_factor * (loss - loss.detach()), figures


# What may not happen


@pytest.mark.parametrize(
    "broken", [Broken(loss_factor=math.nan), Broken(loss_factor=math.inf), Broken(gradient_factor=math.nan)]
)
def test_a_step_that_diverges_changes_nothing_and_the_next_one_is_as_if_it_had_not_been(broken: Broken) -> None:
    batch = weighed(sequences())
    struck, spared = (learner(replace(PLAIN, micro_tokens=40)) for _ in range(2))
    for at in (struck, spared):
        at.step(SupervisedObjective().prepare(batch))
    before = copied(struck)
    with pytest.raises(DivergedError, match=r"step 1: loss .* weights of the step before stand"):
        struck.step(broken.prepare(batch))
    assert equal(copied(struck), before)
    for at in (struck, spared):
        at.step(SupervisedObjective().prepare(batch))
    assert equal(copied(struck), copied(spared))


def test_a_batch_without_a_trajectory_is_refused() -> None:
    with pytest.raises(ValueError, match="no trajectory"):
        learner().step(SupervisedObjective().prepare(weighed(sequences()).select([])))


def test_a_step_that_was_broken_off_leaves_nothing_to_the_next() -> None:
    def interrupted(logp_T: Tensor, entropy_T: Tensor, batch: TokenBatch) -> tuple[Tensor, Metrics]:
        if len(batch.ids_T) > 30:  # not the first micro-batch
            raise KeyboardInterrupt
        return cross_entropy(logp_T, entropy_T, batch)

    batch = weighed(sequences())
    struck, spared = (learner(replace(PLAIN, micro_tokens=30)) for _ in range(2))
    with pytest.raises(KeyboardInterrupt):
        struck.step(replace(SupervisedObjective().prepare(batch), loss=interrupted))
    for at in (struck, spared):
        at.step(SupervisedObjective().prepare(batch))
    assert equal(copied(struck), copied(spared))


def test_the_state_of_another_model_is_refused_and_nothing_is_changed() -> None:
    other, at = learner(mlp=40), learner()
    other.step(SupervisedObjective().prepare(weighed(sequences())))
    before = copied(at)
    with pytest.raises(CheckpointError, match="gate_proj"):
        at.restore(other.state())
    assert equal(copied(at), before)


def test_the_state_of_a_smaller_model_is_refused() -> None:
    with pytest.raises(CheckpointError, match=r"lacks model\.layers\.1"):
        learner().restore(learner(layers=1).state())


# Against the reference


@pytest.mark.parametrize("temperature", [0.7, 1.0])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_log_probabilities_are_the_references(tmp_path: Path, layout: LayoutName, temperature: float) -> None:
    tokens = sequences()
    batch = weighed(tokens)
    at = learner(replace(PLAIN, layout=layout, micro_tokens=40, logits_chunk=5))
    found = at.logprobs(batch, temperature=temperature)
    with torch.no_grad():
        expected_BL = reference(tmp_path).logprobs(pad_batch(samples(tokens)), temperature=temperature)
    assert torch.allclose(in_rows(found.logp, batch), expected_BL, atol=1e-5)
    assert (found.entropy[batch.trained_T] > 0).all()
    assert (found.entropy[~batch.trained_T] == 0).all()


Step = Callable[[Learner, TokenBatch], Metrics]
RefStep = Callable[[Reference, Any], Metrics]
STEPS: dict[str, tuple[Step, RefStep]] = {
    "supervised": (
        lambda at, batch: at.step(SupervisedObjective().prepare(batch), lr=1e-3),
        lambda at, given: at.supervised_step(given, lr=1e-3),
    ),
    "grpo": (
        lambda at, batch: at.step(ComposedObjective().prepare(batch), lr=1e-3, temperature=0.8),
        lambda at, given: at.grpo_step(given, lr=1e-3, clip=0.2, temperature=0.8, sequences=len(given)),
    ),
}


@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "shape",
    [{}, {"qk_norm": False, "qkv_bias": True}, {"tied": False, "qk_norm": False}],
    ids=["qwen3", "qwen2", "llama"],
)
def test_gradients_and_updated_weights_are_the_references(
    tmp_path: Path, kind: str, layout: LayoutName, shape: dict[str, Any]
) -> None:
    tokens = sequences()
    model = varied(tiny(**shape), deviation=DEVIATION)
    fast, plain = Learner(model, replace(PLAIN, layout=layout, micro_tokens=60)), reference(tmp_path, **shape)
    step, ref_step = STEPS[kind]
    gradients = keep_gradients(fast.optimiser, model)
    expected = keep_gradients(plain.optimiser, plain.policy.model)
    for optimiser in (fast.optimiser, plain.optimiser):
        optimiser.param_groups[0]["eps"] = 1e-3  # Adam's first step magnifies the rounding of gradients near 0
    for _ in range(3):
        metrics, ref_metrics = step(fast, weighed(tokens)), ref_step(plain, samples(tokens))
        assert metrics["loss"] == pytest.approx(ref_metrics["loss"], rel=1e-4, abs=1e-5)
        assert metrics["gradient_norm"] == pytest.approx(ref_metrics["gradient_norm"], rel=1e-4)
        assert close(gradients, expected, atol=2e-6)
    updated = {name: w.detach() for name, w in plain.policy.model.named_parameters()}
    assert close(copied(fast), updated, atol=2e-6)
    start = dict(varied(tiny(**shape), deviation=DEVIATION).named_parameters())
    assert all((weight - start[name]).abs().max() > 1e-4 for name, weight in updated.items())


# Micro-batches, chunks and layouts are nobody's business


@pytest.mark.parametrize(
    "changes",
    [
        {"micro_tokens": 1},
        {"micro_tokens": 50, "layout": "padded"},
        {"layout": "shared"},
        {"logits_chunk": 1},
        {"checkpointing": True},
        {"checkpointing": True, "micro_tokens": 50},
    ],
    ids=str,
)
def test_how_tokens_are_put_through_changes_results_by_no_more_than_rounding(changes: dict[str, Any]) -> None:
    batch = weighed(sequences())
    one, other = learner(), learner(replace(PLAIN, **changes))
    for at in (one, other):
        at.optimiser.param_groups[0]["eps"] = 1e-3
        at.step(ComposedObjective().prepare(batch))
    assert close(copied(one), copied(other), atol=2e-7)


def test_equal_steps_give_equal_weights_to_the_bit() -> None:
    one, other = learner(), learner()
    for at in (one, other):
        for _ in range(2):
            at.step(ComposedObjective().prepare(weighed(sequences())))
    assert equal(copied(one), copied(other))


# What a step does and says


def test_a_learning_rate_of_zero_changes_nothing() -> None:
    at = learner()
    before = copied(at)
    assert at.step(SupervisedObjective().prepare(weighed(sequences())), lr=0.0)["gradient_norm"] > 0
    assert equal(copied(at), before)


def test_without_a_learning_rate_the_configs_is_used() -> None:
    one, other = learner(replace(PLAIN, lr=3e-3)), learner()
    one.step(SupervisedObjective().prepare(weighed(sequences())))
    other.step(SupervisedObjective().prepare(weighed(sequences())), lr=3e-3)
    assert equal(copied(one), copied(other))


def test_the_figures_of_a_step_are_those_of_its_log_probabilities() -> None:
    whole = weighed(sequences())
    at = learner(replace(PLAIN, micro_tokens=40))
    prepared = ComposedObjective().prepare(whole)
    batch = prepared.batch
    scores = at.logprobs(batch)
    found = at.step(prepared)
    own = batch.trained_T
    log_ratio = (scores.logp - batch.logprob_T)[own].double()
    ratio = log_ratio.exp()
    clipped = ((batch.advantage_T[own] > 0) & (ratio > 1.2)) | ((batch.advantage_T[own] < 0) & (ratio < 0.8))
    expected = {
        "policy/entropy": scores.entropy[own].mean().item(),
        "policy/kl": (ratio - 1 - log_ratio).mean().item(),
        "policy/ratio_mean": ratio.mean().item(),
        "policy/ratio_max": ratio.max().item(),
        "policy/ess": (ratio.sum() ** 2 / (len(ratio) * ratio.square().sum())).item(),
        "clip_fraction": float(clipped.sum() / whole.trained_T.sum()),
        "tokens": float(own.sum()),
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-4)
    assert found["seconds"] > 0


def test_on_the_policy_that_drew_the_tokens_nothing_has_moved() -> None:
    batch = weighed(sequences())
    at = learner()
    found = at.step(ComposedObjective().prepare(replace(batch, logprob_T=at.logprobs(batch).logp)))
    assert found["policy/ratio_mean"] == pytest.approx(1, abs=1e-5)
    assert found["policy/ess"] == pytest.approx(1, abs=1e-5)
    assert found["policy/kl"] == pytest.approx(0, abs=1e-6)
    assert found["clip_fraction"] == 0


def test_demonstrations_have_no_policy_to_be_compared_with() -> None:
    batch = weighed([replace(tokens, logprobs=(0.0,) * len(tokens.ids)) for tokens in sequences()])
    found = learner().step(SupervisedObjective().prepare(batch))
    assert "policy/entropy" in found
    assert not found.keys() & {"policy/kl", "policy/ess", "policy/ratio_mean", "policy/ratio_max"}


# Saving and handing over


def test_a_learner_goes_on_from_its_state_as_if_it_had_not_been_stopped() -> None:
    batch = weighed(sequences())
    whole = learner()
    whole.step(ComposedObjective().prepare(batch))
    file = BytesIO()
    torch.save(whole.state(), file)
    whole.step(SupervisedObjective().prepare(batch))
    file.seek(0)
    resumed = Learner(varied(tiny(), seed=9), PLAIN)
    resumed.restore(torch.load(file, weights_only=True))
    resumed.step(SupervisedObjective().prepare(batch))
    assert equal(copied(whole), copied(resumed))
    assert resumed.steps == whole.steps == 2


def test_a_state_is_a_copy() -> None:
    at = learner()
    at.step(SupervisedObjective().prepare(weighed(sequences())))
    state = at.state()
    before = copied(at)
    at.step(SupervisedObjective().prepare(weighed(sequences())))
    at.restore(state)
    assert equal(copied(at), before)


@pytest.mark.parametrize("tied", [True, False])
def test_weights_have_the_names_of_the_files_and_are_the_learners_own(tied: bool) -> None:
    model = varied(tiny(tied=tied))
    at = Learner(model, PLAIN)
    names = set(model.state_dict()) - ({"lm_head.weight"} if tied else set())
    assert at.weights().keys() == names
    assert all(weight.data_ptr() == model.state_dict()[name].data_ptr() for name, weight in at.weights().items())
    assert not any(weight.requires_grad for weight in at.weights().values())


# Half precision


def test_in_half_precision_weights_stay_single_and_steps_come_near_those_of_single() -> None:
    batch = weighed(sequences())
    models = [varied(tiny(), deviation=DEVIATION) for _ in range(2)]
    half, single = Learner(models[0], replace(PLAIN, precision="bf16")), Learner(models[1], PLAIN)
    before = copied(half)
    gradients, expected = (keep_gradients(a.optimiser, m) for a, m in zip((half, single), models, strict=True))
    found, exact = half.step(ComposedObjective().prepare(batch)), single.step(ComposedObjective().prepare(batch))
    assert found["loss"] == pytest.approx(exact["loss"], rel=0.1)
    one, other = (torch.cat([g.flatten() for g in kept.values()]) for kept in (gradients, expected))
    assert torch.nn.functional.cosine_similarity(one, other, dim=0) > 0.99
    assert {weight.dtype for weight in half.weights().values()} == {torch.float32}
    assert not equal(copied(half), before)


def test_in_half_precision_too_checkpoints_change_nothing() -> None:
    batch = weighed(sequences())
    one, other = (learner(replace(PLAIN, precision="bf16", checkpointing=on)) for on in (False, True))
    for at in (one, other):
        at.step(ComposedObjective().prepare(batch))
    assert equal(copied(one), copied(other))


def test_in_half_precision_updates_that_are_smaller_than_its_steps_add_up() -> None:
    batch = weighed(sequences())
    at = learner(replace(PLAIN, precision="bf16", lr=3e-5))
    first = at.step(SupervisedObjective().prepare(batch))["loss"]
    for _ in range(20):
        at.step(SupervisedObjective().prepare(batch))
    assert at.step(SupervisedObjective().prepare(batch), lr=0.0)["loss"] < first - 0.005

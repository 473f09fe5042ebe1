"""What holds of every preset, whatever it is made of. Exceptions are named, with the reason."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from complete import Frozen, complete, on_policy, permuted, step_of
from complete.recipes import REQUIRED, of_fact, sections
from palaestra.errors import ConfigError
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives import (
    COLUMNS,
    PARTS,
    BuiltObjective,
    ComposedObjective,
    ObjectiveConfig,
    preset,
    presets,
)
from palaestra.trainers.objectives.whole.objective import WholeTrajectoryObjective

EVERY = presets()
NOT_REINFORCE: Mapping[str, str] = {
    "lad": "its gradient on policy is that of f(u) at u = exp(-A / eta)",
    "lp_reg": "protected tokens have a loss of their own",
    "luffy": "an expert's tokens have a weight of their own",
}
"""Compositions whose gradient is not REINFORCE's where all ratios are 1, beside losses of whole trajectories."""
NOT_CENTRED: Mapping[str, str] = {
    "adca": "it credits steps by a judge's labels",
    "agent_prm": "its baseline is a critic",
    "blockwise": "its blocks are paid apart from the return",
    "cm2": "it reads which criteria were met",
    "dcpo": "it remembers earlier visits",
    "gigpo": "turns are compared with those that stood at the same place",
    "hiper": "its baseline is a critic",
    "igpo": "turns are paid for information",
    "laconic": "length is paid for",
    "mig": "steps are paid for information",
    "ppo": "its baseline is a critic",
    "pyvision": "tools are paid for",
    "reinforce_pp": "its baseline is the batch",
    "remax": "its baseline is another rollout",
    "rloo": "distance from the reference is paid for",
    "sharp": "roles are paid for their part",
    "starpo_s": "its baseline is a critic",
    "otb": "it is a baseline of each position",
    "dr_mas": "agents that stand alone keep their returns, as its code has it",
    "v_trace": "its baseline is a critic",
    "vapo": "its baseline is a critic",
    "luffy": "an expert's tokens are there",
}
"""Presets in which equal returns of a group need not mean no advantage."""


def built(name: str) -> BuiltObjective:
    return ObjectiveConfig(preset=name).build()


def composed(name: str) -> bool:
    return isinstance(built(name).objective, ComposedObjective)


def near(batch: TokenBatch, *, seed: int = 5, off: float = 0.3) -> Tensor:
    """Log-probabilities of the weights that are trained: some way from those that drew the tokens."""
    draw = torch.Generator().manual_seed(seed)
    noise_T = torch.randn(len(batch.ids_T), generator=draw, dtype=torch.float64)
    return (batch.logprob_T + off * noise_T).clamp_max(-0.01).masked_fill(~batch.trained_T, 0.0)


# What every preset says of itself


@pytest.mark.parametrize("name", EVERY)
def test_a_preset_is_built_says_where_it_is_from_and_reads_columns_that_somebody_fills_in(name: str) -> None:
    said = preset(name)
    assert said.summary
    assert said.sources
    assert built(name).requires <= COLUMNS.keys()


def test_every_part_is_in_some_preset_or_is_known_to_be_an_option() -> None:
    used = {(part.plug, part.name) for name in EVERY for part in built(name).parts}
    own = {key for key, part in PARTS.items() if part.make.__module__.startswith("palaestra.trainers.")}
    assert {f"{plug}/{name}" for plug, name in own - used} == {
        "advantage/bi-level-gae", "advantage/reinforce-pp", "correction/uncorrected", "mask/anchors",
        "mask/invalid-turns", "regulariser/move",
        "reward/bounded", "reward/flipped", "reward/harm-scale", "reward/potential", "reward/soft-overlong",
        "reward/solved", "reward/unfinished", "reward/ungraded",
    }  # fmt: skip


# Gradients


@pytest.mark.parametrize("name", [name for name in EVERY if composed(name) and name not in NOT_REINFORCE])
def test_where_all_ratios_are_one_the_gradient_is_that_of_reinforce_weighed_and_masked(name: str) -> None:
    made = built(name)
    assert isinstance(made.objective, ComposedObjective)
    made = replace(made, objective=replace(made.objective, terms=()))
    step = step_of(made, on_policy(complete()))
    found_T = step.gradient(step.batch.logprob_T)
    ready = step.prepared.batch
    expected_T = torch.zeros_like(found_T)
    expected_T[ready.column("place_T")] = -ready.weight_T * ready.advantage_T
    if name == "kl_cov":  # and the pull of |d|, whose slope at 0 is 0
        assert made.requires >= {"now_T"}
    if name == "clip_cov":
        expected_T = torch.where(found_T == 0, 0.0, expected_T)
    torch.testing.assert_close(found_T, expected_T, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", sorted(NOT_REINFORCE))
def test_the_exceptions_are_exceptions(name: str) -> None:
    assert not all(part.reinforce for part in built(name).parts)


@pytest.mark.parametrize("name", EVERY)
def test_gradients_are_finite_differences_with_what_has_none_standing_still(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = step_of(built(name), complete())
    logp_T = near(step.batch) if composed(name) else step.batch.column("now_T")
    entropy_T = step.batch.column("entropy_T")
    found_T = step.gradient(logp_T)
    frozen = Frozen(monkeypatch)
    frozen.first(lambda: step.loss(logp_T, entropy_T=entropy_T))
    size = 1e-6 if composed(name) else 1e-2  # that of whole trajectories is linear, and its value large
    own = step.batch.trained_T.nonzero()[:, 0].tolist()
    for token in own[:: max(1, len(own) // 25)]:
        up_T, down_T = logp_T.clone(), logp_T.clone()
        up_T[token] += size
        down_T[token] -= size
        up = frozen.again(lambda at=up_T: step.loss(at, entropy_T=entropy_T))  # type: ignore[misc]
        down = frozen.again(lambda at=down_T: step.loss(at, entropy_T=entropy_T))  # type: ignore[misc]
        difference = float(up - down) / (2 * size)
        assert difference == pytest.approx(float(found_T[token]), rel=1e-6, abs=2e-9), token


@pytest.mark.parametrize("name", EVERY)
def test_gradients_flow_into_log_probabilities_and_entropies_alone(name: str) -> None:
    step = step_of(built(name), complete())
    ready = step.prepared.batch
    leaves = {k: v.clone().requires_grad_() for k, v in ready.arrays().items() if v.is_floating_point()}
    own: dict[str, Any] = {k: v for k, v in leaves.items() if k not in ready.columns}
    watched = replace(ready, **own).with_columns({k: v for k, v in leaves.items() if k in ready.columns})
    logp_T = ready.logprob_T.clone().requires_grad_()
    loss, _ = step.prepared.loss(logp_T, torch.ones_like(logp_T), watched)
    loss.backward()
    ours = {
        "weight_T",
        "slope_R",
        *(k for k in leaves if k.startswith("term")),
    }  # made beforehand, without gradient
    assert {k for k, leaf in leaves.items() if leaf.grad is not None} <= ours
    assert logp_T.grad is not None
    assert logp_T.grad[~ready.trained_T].abs().sum() == 0


# What no division, order or layout may change


@pytest.mark.parametrize("parts", [2, 3, 20])
@pytest.mark.parametrize("name", EVERY)
def test_micro_batches_add_up_to_the_step(name: str, parts: int) -> None:
    step = step_of(built(name), complete())
    logp_T = near(step.batch)
    entropy_T = step.batch.column("entropy_T")
    whole = step.loss(logp_T, entropy_T=entropy_T)
    torch.testing.assert_close(step.loss(logp_T, entropy_T=entropy_T, parts=parts), whole, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(step.gradient(logp_T, parts=parts), step.gradient(logp_T), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", EVERY)
def test_the_order_of_trajectories_and_the_numbers_of_groups_change_nothing(name: str) -> None:
    batch = complete().with_columns({"own_T": torch.arange(len(complete().ids_T))})
    order = torch.randperm(batch.trajectories, generator=torch.Generator().manual_seed(3)).tolist()
    logp_T = near(batch)

    def gradient(of: TokenBatch) -> Tensor:
        step = step_of(built(name), of)
        found_T = torch.zeros_like(logp_T)
        found_T[step.batch.column("own_T")] = step.gradient(logp_T[step.batch.column("own_T")])
        return found_T

    torch.testing.assert_close(gradient(permuted(batch, order)), gradient(batch), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", EVERY)
def test_a_trajectory_in_two_segments_is_the_trajectory_in_one(name: str) -> None:
    batch = complete()
    halves = replace(
        batch,
        segment_T=2 * batch.segment_T + (batch.position_T >= 4),
        trajectory_S=torch.arange(batch.trajectories).repeat_interleave(2),
    )
    one, other = step_of(built(name), batch), step_of(built(name), halves)
    logp_T = near(one.batch)
    torch.testing.assert_close(other.gradient(logp_T), one.gradient(logp_T), rtol=1e-12, atol=0)


# Degenerate and extreme batches


@pytest.mark.parametrize("groups", [(1,), (2,), (5, 5), (1, 1, 1)])
@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("name", EVERY)
def test_degenerate_groups_are_finite_and_teach_nothing_where_groups_are_the_baseline(
    name: str, groups: tuple[int, ...], equal: bool
) -> None:
    step = step_of(built(name), complete(groups=groups, equal=equal))
    if not step.batch.trajectories:
        return  # a filter has left it out
    assert step.batch.advantage_T.isfinite().all()
    logp_T = near(step.batch)
    assert step.gradient(logp_T).isfinite().all()
    assert math.isfinite(float(step.loss(logp_T)))
    alone = all(size == 1 for size in groups)
    if composed(name) and name not in NOT_CENTRED and equal and not alone:
        assert not step.batch.advantage_T.any()


@pytest.mark.parametrize("far", [60.0, -60.0])
@pytest.mark.parametrize("name", EVERY)
def test_however_far_the_weights_are_apart_everything_is_finite(name: str, far: float) -> None:
    batch = complete()
    moved_T = (batch.logprob_T + far).masked_fill(~batch.trained_T, 0.0)
    batch = batch.with_columns({"now_T": moved_T, "old_T": moved_T, "ref_T": batch.logprob_T - far})
    step = step_of(built(name), batch)
    assert step.gradient(step.batch.column("now_T")).isfinite().all()


@pytest.mark.parametrize("name", EVERY)
def test_a_token_that_the_engine_called_impossible_does_no_harm(name: str) -> None:
    batch = complete()
    token = int(batch.trained_T.nonzero()[0, 0])
    drawn_T = batch.logprob_T.clone()
    drawn_T[token] = -math.inf
    batch = batch.with_columns({"own_T": torch.arange(len(batch.ids_T))})
    step = step_of(built(name), replace(batch, logprob_T=drawn_T))
    assert step.gradient(near(batch)[step.batch.column("own_T")]).isfinite().all()


@pytest.mark.parametrize("name", EVERY)
def test_a_batch_in_which_nothing_is_trained_has_no_gradient(name: str) -> None:
    batch = complete()
    nothing = replace(batch, trained_T=torch.zeros_like(batch.trained_T))
    step = step_of(built(name), nothing)
    assert not step.gradient(torch.zeros(len(step.batch.ids_T), dtype=torch.float64)).any()


# State


@pytest.mark.parametrize("name", EVERY)
def test_what_is_saved_goes_on_as_if_it_had_not_been_interrupted(name: str) -> None:
    kept, begun = built(name), built(name)
    for seed in range(2):
        step_of(kept, complete(seed=seed))
        step_of(begun, complete(seed=seed))
    resumed = built(name)
    resumed.restore(begun.state())
    one, other = step_of(kept, complete(seed=2)), step_of(resumed, complete(seed=2))
    assert one.batch.equals(other.batch)
    assert torch.equal(one.gradient(near(one.batch)), other.gradient(near(other.batch)))
    assert kept.state() == resumed.state()


# Conflicts


DECLARED = [
    (part.plug, part.name, fact, reason)
    for part in PARTS.values()
    if part.make.__module__.startswith("palaestra.trainers.")
    for fact, reason in part.conflicts.items()
]
NEEDED = [
    (part.plug, part.name, fact, reason)
    for part in PARTS.values()
    if part.make.__module__.startswith("palaestra.trainers.")
    for fact, reason in part.needs.items()
]


@pytest.mark.parametrize(("plug", "name", "fact", "reason"), DECLARED)
def test_every_declared_conflict_is_refused_with_its_reason(plug: str, name: str, fact: str, reason: str) -> None:
    own = PARTS[plug, name]  # type: ignore[index]
    parts: dict[str, Any] = {}
    for needed in own.needs:
        parts |= of_fact(needed)
    parts |= of_fact(fact)
    mine = sections(plug, name, REQUIRED.get(name, {}))
    for section, spec in mine.items():
        there = parts.get(section)
        parts[section] = [*there, *spec] if isinstance(there, list) and isinstance(spec, list) else spec
    if fact != "ratio.anchor=rollout" and plug != "whole":  # the default, and a loss that has none
        parts["ratio"] = {"anchor": "old"} | (parts.get("ratio") or {})
    with pytest.raises(ConfigError, match="does not go with") as raised:
        ObjectiveConfig(parts=parts)
    assert reason in str(raised.value)


@pytest.mark.parametrize(("plug", "name", "fact", "reason"), NEEDED)
def test_what_lacks_something_that_it_needs_is_refused_with_the_reason(
    plug: str, name: str, fact: str, reason: str
) -> None:
    place, _, value = fact.partition("=")
    section, _, setting = place.partition(".")
    other = {"anchor": "none", "granularity": "turn" if value == "token" else "token"}[setting]
    with pytest.raises(ConfigError) as raised:
        ObjectiveConfig(parts={**sections(plug, name, REQUIRED.get(name, {})), section: {setting: other}})
    assert reason in str(raised.value)


@pytest.mark.parametrize("name", EVERY)
def test_whole_objectives_are_objectives_of_whole_trajectories(name: str) -> None:
    made = built(name)
    assert isinstance(made.objective, WholeTrajectoryObjective) == (made.recipe.whole is not None)

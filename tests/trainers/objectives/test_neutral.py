"""Every part that declares a neutral setting is there, with it, what it claims to be: nothing, or something simpler.

Axes: T tokens.
"""

import math
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor

from complete import Step, complete, on_policy, step_of
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives import PARTS, ObjectiveConfig
from palaestra.trainers.objectives.part import Plug

DECLARED = sorted(
    key
    for key, part in PARTS.items()
    if part.neutral is not None and part.make.__module__.startswith("palaestra.trainers.objectives.")
)
NOTHING: Mapping[Plug, str] = {
    "transform": "transforms",
    "mask": "masks",
    "regulariser": "regularisers",
    "reward": "rewards",
    "filter": "filters",
}
"""The sections whose parts are, when neutral, as if they were not there."""
UNCLIPPED, REINFORCE = {"trust": "unclipped"}, {"trust": "reinforce"}
SIMPLER: Mapping[tuple[Plug, str], Mapping[str, Any]] = {
    ("advantage", "group"): {"advantage": {"part": "group", "scale": "none"}},
    ("advantage", "gigpo"): {"advantage": {"part": "group", "scale": "none"}},
    ("advantage", "reinforce-pp-kl"): {"advantage": "reinforce-pp"},
    ("advantage", "vapo"): {"advantage": {"part": "gae", "lam": 1.0}},
    ("correction", "decoupled"): {"corrections": [{"part": "token-tis", "cap": math.inf}]},
    ("correction", "icepop"): {"corrections": [{"part": "token-tis", "cap": math.inf}]},
    ("trust", "cispo"): UNCLIPPED,
    ("trust", "clip"): UNCLIPPED,
    ("trust", "clip-cov"): {"trust": "clip"},
    ("trust", "dppo"): UNCLIPPED,
    ("trust", "gmpo"): {"trust": "unclipped", "ratio": {"granularity": "sequence"}},
    ("trust", "kl-cov"): UNCLIPPED,
    ("trust", "lp-reg"): {"trust": {"part": "clip", "low": 1.0, "high": 9.0}},
    ("trust", "maspo"): UNCLIPPED,
    ("trust", "reinforce"): REINFORCE,
    ("trust", "sapo"): UNCLIPPED,
    ("trust", "square"): REINFORCE,
    ("trust", "unclipped"): UNCLIPPED,
    ("trust", "vespo"): REINFORCE,
}
"""What others are when they are neutral."""
ELSEWHERE: Mapping[tuple[Plug, str], str] = {
    ("advantage", "blockwise"): "tests/trainers/objectives/advantages/test_blocks.py",
    ("advantage", "cm2"): "tests/trainers/objectives/advantages/test_checklist.py",
    ("advantage", "mt-grpo"): "tests/trainers/objectives/advantages/test_mtgrpo.py",
    ("advantage", "sharp"): "tests/trainers/objectives/advantages/test_shapley.py",
    ("advantage", "adca"): "tests/trainers/objectives/advantages/test_attribution.py",
    ("advantage", "mig"): "tests/trainers/objectives/advantages/test_information.py",
    ("trust", "lad"): "tests/trainers/objectives/trust/test_target.py",
}
"""Where the simpler thing is no recipe, and the claim is tested on the numbers themselves."""


def gradient(parts: Mapping[str, Any], batch: TokenBatch) -> tuple[Step, Tensor]:
    step = step_of(ObjectiveConfig(parts={"ratio": {"anchor": "old"}, **parts}).build(), batch)
    draw = torch.Generator().manual_seed(9)
    noise_T = torch.randn(len(step.batch.ids_T), generator=draw, dtype=torch.float64)
    logp_T = (step.batch.logprob_T + 0.3 * noise_T).clamp_max(-0.01).masked_fill(~step.batch.trained_T, 0.0)
    return step, step.gradient(logp_T)


def neutral(plug: Plug, name: str) -> dict[str, Any]:
    """Sections with the part at its neutral setting, and what it needs."""
    spec = {"part": name, **(PARTS[plug, name].neutral or {})}
    needs: dict[str, Any] = {"ratio": {"granularity": "product", "anchor": "old"}} if name == "vespo" else {}
    if plug == "correction":
        return {"corrections": [spec]}
    return {NOTHING[plug]: [spec]} if plug in NOTHING else {plug: spec, **needs}


@pytest.mark.parametrize(("plug", "name"), [key for key in DECLARED if key[0] in NOTHING])
def test_it_is_as_if_it_were_not_there_to_the_bit(plug: Plug, name: str) -> None:
    parts = neutral(plug, name)
    if name in ("laconic",):
        parts["rewards"][0] |= {"budget": 3}
    if name == "soft-overlong":
        parts["rewards"][0] |= {"longest": 8, "cache": 4}
    if name == "tool-bonus":
        parts["rewards"][0] |= {"most": 2}
    batch = complete()
    (_, with_it), (_, without) = gradient(parts, batch), gradient({}, batch)
    assert torch.equal(with_it, without)


@pytest.mark.parametrize(("plug", "name"), [key for key in DECLARED if key in SIMPLER])
def test_it_is_the_simpler_thing(plug: Plug, name: str) -> None:
    batch = complete()
    simpler = {"ratio": {"anchor": "old"}, **SIMPLER[plug, name]}
    simpler["ratio"] = {"anchor": "old", **simpler["ratio"]}
    (one, with_it), (_, other) = gradient(neutral(plug, name), batch), gradient(simpler, batch)
    assert one.batch.advantage_T.any()
    torch.testing.assert_close(with_it, other, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", sorted(name for plug, name in PARTS if plug == "correction"))
def test_a_correction_where_nothing_is_off_is_as_if_it_were_not_there_to_the_bit(name: str) -> None:
    batch = on_policy(complete())
    (_, with_it), (_, without) = gradient({"corrections": [name]}, batch), gradient({}, batch)
    assert torch.equal(with_it, without)


def test_every_declared_neutral_setting_is_tested_here_or_there() -> None:
    for key in DECLARED:
        assert key[0] in NOTHING or key in SIMPLER or key in ELSEWHERE, key

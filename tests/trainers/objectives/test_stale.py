"""Presets on rollouts that older weights drew: each corrects for them, does not need to, or is refused."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
import torch

from complete import complete, gradient
from palaestra.trainers.loops import GrpoConfig
from palaestra.trainers.objectives import ObjectiveConfig, build, corrects_stale, preset, presets, read_recipe
from palaestra.trainers.rollouts.staleness import Staleness

ON_POLICY: Mapping[str, str] = {
    "gpg": "plain REINFORCE, one update a batch",
    "opo": "strictly on policy",
    "remax": "plain REINFORCE",
    "introllm": "as DAPO and GRPO anchored at the weights that a batch begins with",
    "repo": "as DAPO and GRPO anchored at the weights that a batch begins with",
    "rloo": "plain REINFORCE",
    "seeupo": "each turn's step is held to the weights that it begins with",
}
"""Presets that correct nothing."""
PREFERENCES = ("dpo", "flowrl", "ipo", "kto", "paced", "spin", "sppo")
"""Losses of whole trajectories that regress or rank what was drawn, whoever drew it."""


@pytest.mark.parametrize("name", presets())
def test_what_corrects_for_stale_rollouts_looks_at_who_drew_them_and_the_rest_does_not(name: str) -> None:
    recipe = preset(name).recipe
    if name == "rloo":  # its price on leaving the reference is of what was drawn, and corrects nothing
        recipe = {**recipe, "rewards": []}
    read = read_recipe(recipe)
    batch = complete()
    draw = torch.Generator().manual_seed(1)
    noise_T = 0.3 * torch.randn(len(batch.ids_T), generator=draw, dtype=torch.float64)
    stale = replace(batch, logprob_T=(batch.logprob_T + noise_T).clamp_max(-0.01).masked_fill(~batch.trained_T, 0.0))
    fresh_T, stale_T = gradient(build(read), batch), gradient(build(read), stale)
    looks = bool((stale_T - fresh_T).norm() > 1e-6 * fresh_T.norm())
    assert looks == (corrects_stale(read) and name not in PREFERENCES)


@pytest.mark.parametrize("name", presets())
def test_a_run_on_stale_rollouts_refuses_what_corrects_nothing_and_says_what_to_do(name: str) -> None:
    objective = ObjectiveConfig(preset=name)
    assert corrects_stale(objective.recipe()) == (name not in ON_POLICY)
    if name not in ON_POLICY or "greedy_R" in objective.build().requires:
        return
    GrpoConfig(objective=objective)
    with pytest.raises(ValueError, match=r"up to 2 versions old, and nothing .* corrects.*token-tis.*staleness = 0"):
        GrpoConfig(objective=objective, limits=Staleness(per_step=4, staleness=2))
    parts = {"corrections": ["token-tis"], "ratio": {"anchor": "old", "granularity": "turn"}}
    if name != "seeupo":
        parts["ratio"] = {"anchor": "old"}
    way_out = ObjectiveConfig(preset=name, parts=parts)
    GrpoConfig(objective=way_out, limits=Staleness(per_step=4, staleness=2))

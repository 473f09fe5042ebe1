"""Arms with rollouts of older weights: five objectives at four stalenesses, with equal steps and tasks."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from palaestra.benchmarks.ablations.arm import AblationArm, AblationConfig, AblationTable, Stages
from palaestra.trainers import ObjectiveConfig, Staleness
from palaestra.trainers.loops.saves import SaveConfig

STALENESS = (1, 4, 16, 64)
"""Numbers of versions by which the weights that sampled the rollouts are older than the trained weights."""
_OBJECTIVES: Mapping[str, tuple[str, str]] = {
    "grpo": ("grpo", "GRPO"),
    "sapo": ("sapo", "SAPO"),
    "vespo": ("vespo", "VESPO"),
    "vcpo": ("vcpo_async", "VCPO"),
    "decoupled": ("decoupled_ppo", "decoupled PPO"),
}
"""The preset and the name in rows, by the first part of an arm's name."""
_VERSIONS = 2 * max(STALENESS)
"""Number of versions that the arms train, so that half of them use rollouts of the greatest staleness."""
_STALE_GROUPS = 3
"""Groups of each version: with so few, all versions fit into the time of a cell."""


def _versions(config: AblationConfig) -> int:
    """The number of versions of these arms; proportionally fewer where other arms get less time than usual."""
    usual = AblationConfig().cpu_seconds
    return max(1, round(_VERSIONS * config.cpu_seconds / usual))


def _describe_equal_versions(config: AblationConfig) -> str:
    return (
        "Every other arm goes on from the policy that `expert` trained with its seed, for "
        f"{_versions(config)} versions of {config.grpo.updates} optimiser steps on {_STALE_GROUPS} groups of "
        f"{config.grpo.group_size}, paid for solved tasks. Lag: how many versions older than the trained weights those "
        "were that drew the tokens, as a mean over steps and at the last; it rises by 1 a step to the staleness."
    )


def _stale(preset: str, staleness: int) -> Callable[[AblationConfig], Stages]:
    def stages(config: AblationConfig) -> Stages:
        return {
            "grpo": replace(
                config.grpo,
                steps=_versions(config),
                limits=Staleness(per_step=_STALE_GROUPS, staleness=staleness),
                in_flight="drain",
                objective=ObjectiveConfig(preset=preset, parts=config.grpo.objective.parts),
                alarms=replace(config.grpo.alarms, ess=1e-9),  # else stale rollouts would be sampled again
                save=SaveConfig(every=_VERSIONS // 4, minutes=None),  # a save holds all waiting rollouts
            )
        }

    return stages


def _stale_arm(objective: str, staleness: int) -> str:
    return f"{objective}-stale-{staleness}"


STALE_ARMS: Mapping[str, AblationArm] = MappingProxyType(
    {
        _stale_arm(objective, staleness): AblationArm(
            what=f"{what}, staleness {staleness}", stages=_stale(preset, staleness), start="expert"
        )
        for staleness in STALENESS
        for objective, (preset, what) in _OBJECTIVES.items()
    }
)
STALE_TABLE = AblationTable(
    question="Which objective tolerates stale rollouts?",
    arms=("expert", *STALE_ARMS),
    against={
        _stale_arm(objective, at): _stale_arm("grpo", at)
        for at in STALENESS
        for objective in _OBJECTIVES
        if objective != "grpo"
    },
    over="GRPO",
    budget=_describe_equal_versions,
    figures=("lag",),
)

"""Training of policies: tokens, rollouts, objectives, and the training loops.

Needs the extra `train` (torch, transformers); nothing outside this folder imports these packages. A name is loaded on
first use, so that world processes, which need neither package, do not import them.
"""

if __name__ != "palaestra.trainers":
    raise ImportError(f"this folder is palaestra.trainers, not {__name__}; write `import palaestra.trainers`")

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from palaestra.trainers.branching import BranchingConfig, GrpoBranchingConfig
    from palaestra.trainers.choice import ChoiceConfig
    from palaestra.trainers.critic import CriticConfig
    from palaestra.trainers.engines.native import NativeConfig
    from palaestra.trainers.engines.replicas import ReplicasConfig
    from palaestra.trainers.learner import LearnerConfig
    from palaestra.trainers.loops import (
        ExpertConfig,
        GroupStageConfig,
        GrpoConfig,
        GrpoLoop,
        Loop,
        ModelConfig,
        PolicyConfig,
        RecordedRun,
        RejectionConfig,
        RunPlan,
        SftConfig,
        SftLoop,
        StageConfig,
        StageProgress,
        StageResult,
        TrainConfig,
        WeightNoiseConfig,
        WorldConfig,
        demonstrations_of,
        env_id_of,
        initial_policy,
        load_config,
        plan_run,
        read_config,
        read_progress,
        recorded_batches,
        run,
        run_loop,
        tasks_of,
        worlds_of,
    )
    from palaestra.trainers.monitors import AlarmConfig
    from palaestra.trainers.objectives import ObjectiveConfig
    from palaestra.trainers.policy import Policy, load_policy
    from palaestra.trainers.progress import OpenProgressBar, ProgressBar
    from palaestra.trainers.rollouts.budget import PlayConfig
    from palaestra.trainers.rollouts.groups import GroupRule
    from palaestra.trainers.rollouts.job import RolloutJob
    from palaestra.trainers.rollouts.pool import PoolConfig, RolloutResult
    from palaestra.trainers.rollouts.session import play_jobs
    from palaestra.trainers.rollouts.staleness import Staleness
    from palaestra.trainers.rollouts.world import RolloutWorlds

__all__ = [
    "AlarmConfig",
    "BranchingConfig",
    "ChoiceConfig",
    "CriticConfig",
    "ExpertConfig",
    "GroupRule",
    "GroupStageConfig",
    "GrpoBranchingConfig",
    "GrpoConfig",
    "GrpoLoop",
    "LearnerConfig",
    "Loop",
    "ModelConfig",
    "NativeConfig",
    "ObjectiveConfig",
    "OpenProgressBar",
    "PlayConfig",
    "Policy",
    "PolicyConfig",
    "PoolConfig",
    "ProgressBar",
    "RecordedRun",
    "RejectionConfig",
    "ReplicasConfig",
    "RolloutJob",
    "RolloutResult",
    "RolloutWorlds",
    "RunPlan",
    "SftConfig",
    "SftLoop",
    "StageConfig",
    "StageProgress",
    "StageResult",
    "Staleness",
    "TrainConfig",
    "WeightNoiseConfig",
    "WorldConfig",
    "demonstrations_of",
    "env_id_of",
    "initial_policy",
    "load_config",
    "load_policy",
    "plan_run",
    "play_jobs",
    "read_config",
    "read_progress",
    "recorded_batches",
    "run",
    "run_loop",
    "tasks_of",
    "worlds_of",
]

_HOMES = {
    "branching": ("BranchingConfig", "GrpoBranchingConfig"),
    "choice": ("ChoiceConfig",),
    "critic": ("CriticConfig",),
    "engines.native": ("NativeConfig",),
    "engines.replicas": ("ReplicasConfig",),
    "learner": ("LearnerConfig",),
    "monitors": ("AlarmConfig",),
    "objectives": ("ObjectiveConfig",),
    "policy": ("Policy", "load_policy"),
    "progress": ("ProgressBar", "OpenProgressBar"),
    "rollouts.budget": ("PlayConfig",),
    "rollouts.groups": ("GroupRule",),
    "rollouts.job": ("RolloutJob",),
    "rollouts.pool": ("RolloutResult", "PoolConfig"),
    "rollouts.session": ("play_jobs",),
    "rollouts.staleness": ("Staleness",),
    "rollouts.world": ("RolloutWorlds",),
}
"""The exported names by module; names that are not listed are in `loops`."""

if not TYPE_CHECKING:  # a type checker must know every name and refuse others

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home = next((folder for folder, names in _HOMES.items() if name in names), "loops")
        value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})

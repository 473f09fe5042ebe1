"""Training from beginning to end: settings, loops over learners and rollouts, and the files of a run."""

from palaestra.trainers.loops.config import ModelConfig, PolicyConfig, StageConfig, TrainConfig, WorldConfig
from palaestra.trainers.loops.grpo import GrpoLoop
from palaestra.trainers.loops.imitation_config import ExpertConfig, KeepConfig, RejectionConfig, SftConfig
from palaestra.trainers.loops.loop import Loop
from palaestra.trainers.loops.material import demonstrations_of, env_id_of, initial_policy, tasks_of, worlds_of
from palaestra.trainers.loops.reading import load_config, read_config
from palaestra.trainers.loops.record import RecordedRun, recorded_batches
from palaestra.trainers.loops.rollout_config import GroupStageConfig, GrpoConfig
from palaestra.trainers.loops.run import RunPlan, plan_run, run
from palaestra.trainers.loops.saves import SaveConfig, StageProgress, read_progress
from palaestra.trainers.loops.self_imitation import SelfImitationLoop
from palaestra.trainers.loops.sft import SftLoop
from palaestra.trainers.loops.stage import StageResult, run_loop
from palaestra.trainers.loops.weight_noise import WeightNoiseConfig

__all__ = [
    "ExpertConfig",
    "GroupStageConfig",
    "GrpoConfig",
    "GrpoLoop",
    "KeepConfig",
    "Loop",
    "ModelConfig",
    "PolicyConfig",
    "RecordedRun",
    "RejectionConfig",
    "RunPlan",
    "SaveConfig",
    "SelfImitationLoop",
    "SftConfig",
    "SftLoop",
    "StageConfig",
    "StageProgress",
    "StageResult",
    "TrainConfig",
    "WeightNoiseConfig",
    "WorldConfig",
    "demonstrations_of",
    "env_id_of",
    "initial_policy",
    "load_config",
    "plan_run",
    "read_config",
    "read_progress",
    "recorded_batches",
    "run",
    "run_loop",
    "tasks_of",
    "worlds_of",
]

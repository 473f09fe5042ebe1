"""Training from beginning to end: settings, loops over learners and rollouts, and what a run leaves behind."""

from palaestra.trainers.loops.config import (
    GrpoConfig,
    ModelConfig,
    PolicyConfig,
    SftConfig,
    TrainConfig,
    WorldConfig,
    load_config,
    read_config,
)
from palaestra.trainers.loops.grpo import GrpoLoop
from palaestra.trainers.loops.loop import Loop, Progress, StageResult, run_loop
from palaestra.trainers.loops.material import demonstrations_of, started, tasks_of, worlds_of
from palaestra.trainers.loops.record import Recorded, batches
from palaestra.trainers.loops.run import Plan, planned, run
from palaestra.trainers.loops.sft import SftLoop

__all__ = [
    "GrpoConfig",
    "GrpoLoop",
    "Loop",
    "ModelConfig",
    "Plan",
    "PolicyConfig",
    "Progress",
    "Recorded",
    "SftConfig",
    "SftLoop",
    "StageResult",
    "TrainConfig",
    "WorldConfig",
    "batches",
    "demonstrations_of",
    "load_config",
    "planned",
    "read_config",
    "run",
    "run_loop",
    "started",
    "tasks_of",
    "worlds_of",
]

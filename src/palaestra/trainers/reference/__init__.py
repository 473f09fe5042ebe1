"""The reference trainer: short, plain, synchronous, on transformers' own model; the fast one must agree with it.

`play`, which plays jobs, is in the module of its name.
"""

from palaestra.trainers.reference.learner import Learner, OptimiserConfig
from palaestra.trainers.reference.play import Job, RolloutConfig
from palaestra.trainers.reference.policy import ModelShape, Policy, load_policy
from palaestra.trainers.reference.stage import Progress, Stage, StageResult, run_stage
from palaestra.trainers.reference.stages import Control, Grpo, GrpoConfig, WarmUp, WarmUpConfig

__all__ = [
    "Control",
    "Grpo",
    "GrpoConfig",
    "Job",
    "Learner",
    "ModelShape",
    "OptimiserConfig",
    "Policy",
    "Progress",
    "RolloutConfig",
    "Stage",
    "StageResult",
    "WarmUp",
    "WarmUpConfig",
    "load_policy",
    "run_stage",
]

"""The reference trainer: short, simple, synchronous, on transformers' own model; the fast trainer must agree with it.

The function `play`, which plays jobs, is in the module `play`.
"""

from palaestra.trainers.reference.learner import OptimiserConfig, ReferenceLearner
from palaestra.trainers.reference.play import ReferenceJob, RolloutConfig
from palaestra.trainers.reference.policy import ModelShape, ReferencePolicy, load_policy
from palaestra.trainers.reference.stage import ReferenceProgress, ReferenceStage, ReferenceStageResult, run_stage
from palaestra.trainers.reference.stages import ControlStage, GrpoStage, ReferenceGrpoConfig, WarmUpConfig, WarmUpStage

__all__ = [
    "ControlStage",
    "GrpoStage",
    "ModelShape",
    "OptimiserConfig",
    "ReferenceGrpoConfig",
    "ReferenceJob",
    "ReferenceLearner",
    "ReferencePolicy",
    "ReferenceProgress",
    "ReferenceStage",
    "ReferenceStageResult",
    "RolloutConfig",
    "WarmUpConfig",
    "WarmUpStage",
    "load_policy",
    "run_stage",
]

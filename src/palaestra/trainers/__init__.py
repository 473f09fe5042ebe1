"""How a policy learns: tokens, rollouts, objectives, and the reference trainer that joins them.

Needs the extra `train` (torch, transformers); nothing outside this folder imports either.
"""

if __name__ != "palaestra.trainers":
    raise ImportError(f"this folder is palaestra.trainers, not {__name__}; write `import palaestra.trainers`")

from palaestra.trainers.progress import Bar, OpenBar
from palaestra.trainers.reference.learner import OptimiserConfig
from palaestra.trainers.reference.play import Job, RolloutConfig, play
from palaestra.trainers.reference.policy import ModelShape, Policy, load_policy
from palaestra.trainers.reference.stage import Progress, StageResult, run_stage
from palaestra.trainers.reference.stages import Control, Grpo, GrpoConfig, WarmUp, WarmUpConfig

__all__ = [
    "Bar",
    "Control",
    "Grpo",
    "GrpoConfig",
    "Job",
    "ModelShape",
    "OpenBar",
    "OptimiserConfig",
    "Policy",
    "Progress",
    "RolloutConfig",
    "StageResult",
    "WarmUp",
    "WarmUpConfig",
    "load_policy",
    "play",
    "run_stage",
]

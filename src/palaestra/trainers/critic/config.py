"""The settings of a critic."""

import math
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from palaestra.trainers.learner.config import LearnerConfig

CriticLoss: TypeAlias = Literal["squared", "cross-entropy"]
"""Half the squared error; or the binary cross-entropy to soft labels, of values that lie between 0 and one unit
(AgentPRM, arXiv:2502.10325)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CriticConfig:
    """A critic of the policy's size, begun with its weights."""

    learner: LearnerConfig = field(default_factory=lambda: LearnerConfig(lr=2e-3, layout="shared"))
    """How it is trained: in single precision, without adapters, where the policy is unless it says a device. The rate
    is ten times the policy's default, as in the runs of HiPER's authors."""
    unit: float | None = None
    """The reward that a value of 1 of its head stands for: of the order of returns, so that its steps can be small.
    Without one it is the unit that the objective's constants assume, or 1 where they assume none."""
    clip: float | None = None
    """How far a value may move from what it was before the batch, in units, before its loss is cut off; 0.2 to 0.5 is
    common."""
    loss: CriticLoss = "squared"
    """With `cross-entropy` a value is the sigmoid of its head, in units, and begins at half a unit."""
    progress: float = 0.0
    """What the squared error of differences between a trajectory's values counts beside their own loss (AgentPRM's
    beta, arXiv:2511.08325)."""
    updates: int = 1
    """Steps on each batch, each on an equal share of it."""
    lead: int = 0
    """Batches on which it alone is trained, while the policy stands still (VAPO, arXiv:2504.05118)."""

    def __post_init__(self) -> None:
        if self.unit is not None and self.unit <= 0:
            raise ValueError(f"unit={self.unit}: values are in units of it; give a reward above 0")
        if self.updates < 1 or self.lead < 0:
            raise ValueError(
                f"updates={self.updates}, lead={self.lead}: it takes a step a batch at least, and leads by 0 or more"
            )
        if self.clip is not None and self.clip <= 0:
            raise ValueError(f"clip={self.clip}: with 0 no value could move; leave it out for none")
        if self.clip is not None and self.loss != "squared":
            raise ValueError(f"clip={self.clip}, loss={self.loss}: a clip is of squared errors; leave one of them out")
        if not 0 <= self.progress < math.inf:
            raise ValueError(f"progress={self.progress}: an error counts 0 or more; leave it out for none")
        own = self.learner
        if own.precision != "fp32" or own.keys_and_values != "states" or own.lora is not None or own.invariant:
            raise ValueError(
                "a critic is trained whole, in single precision, and no engine computes it; leave precision, "
                "keys_and_values, lora and invariant out"
            )

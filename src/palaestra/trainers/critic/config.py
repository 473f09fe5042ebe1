"""The settings of a critic."""

import math
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from palaestra.trainers.learner.config import LearnerConfig

CriticLoss: TypeAlias = Literal["squared", "cross-entropy"]
"""Half the squared error; or the binary cross-entropy with soft labels, for values between 0 and one unit (AgentPRM,
arXiv:2502.10325)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CriticConfig:
    """A critic of the policy's size, initialised with the policy's weights."""

    learner: LearnerConfig = field(default_factory=lambda: LearnerConfig(lr=2e-3, layout="shared"))
    """How the critic is trained: in single precision, without adapters, on the policy's device unless another is given.
    The learning rate is ten times the policy's default, as in the runs of HiPER's authors."""
    unit: float | None = None
    """The reward that an output of 1 of the head stands for; it should have the magnitude of returns, so that steps can
    be small. `None` means the unit that the objective's constants assume, or 1 if they assume none."""
    clip: float | None = None
    """The distance in units that a value may move from its value before the batch, before its loss is clipped; 0.2 to
    0.5 is common."""
    loss: CriticLoss = "squared"
    """With `cross-entropy`, a value is the sigmoid of its head, in units, and starts at half a unit."""
    progress: float = 0.0
    """The weight of the squared error of differences between a trajectory's values, beside the values' own loss
    (AgentPRM's beta, arXiv:2511.08325)."""
    updates: int = 1
    """The number of steps on each batch, each on an equal share of the batch."""
    lead: int = 0
    """The number of batches on which only the critic is trained, while the policy does not change (VAPO,
    arXiv:2504.05118)."""

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

"""The settings of a critic."""

from dataclasses import dataclass, field

from palaestra.trainers.learner.config import LearnerConfig


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
        if self.learner.precision != "fp32" or self.learner.lora is not None:
            raise ValueError("a critic is trained whole, in single precision; leave precision and lora out")

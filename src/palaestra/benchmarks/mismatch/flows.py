"""The pairs of flows that are measured: what the engine draws with, and what the learner computes."""

from palaestra.record import record
from palaestra.trainers.device import ResolvedPrecision
from palaestra.trainers.flow import PrecisionFlow, flow_of

_PRECISIONS: tuple[tuple[ResolvedPrecision, ResolvedPrecision], ...] = (
    ("fp32", "fp32"),
    ("bf16", "bf16"),
    ("bf16", "fp32"),
    ("fp8", "fp8"),
    ("fp8", "bf16"),
    ("fp8-block", "fp8-block"),
    ("fp8-block", "bf16"),
)


@record
class FlowPair:
    """An engine's flow and a learner's."""

    rollouts: ResolvedPrecision
    training: ResolvedPrecision
    invariant: bool

    @property
    def is_unified(self) -> bool:
        """Whether both compute in the same precision."""
        return self.rollouts == self.training

    @property
    def flows(self) -> tuple[PrecisionFlow, PrecisionFlow]:
        """Of the engine, and of the learner."""
        engine, learner = (flow_of(one, invariant=self.invariant) for one in (self.rollouts, self.training))
        return engine, learner

    @property
    def name(self) -> str:
        """Such as "bf16 rollouts, fp32 training, free"."""
        sums = "invariant" if self.invariant else "free"
        if self.is_unified:
            return f"{self.rollouts} unified, {sums}"
        return f"{self.rollouts} rollouts, {self.training} training, {sums}"


FLOW_PAIRS = tuple(
    FlowPair(rollouts=rollouts, training=training, invariant=invariant)
    for rollouts, training in _PRECISIONS
    for invariant in (False, True)
)
"""Each precision in one flow, and each lower one with training in the next higher: free and invariant."""

"""The measured pairs of flows: the engine's for sampling, and the learner's for training."""

from collections.abc import Sequence
from dataclasses import replace

from palaestra.errors import UnknownNameError
from palaestra.record import record
from palaestra.trainers.device import ResolvedPrecision
from palaestra.trainers.flow import KeyValueFormat, PrecisionFlow, flow_of


@record
class FlowSide:
    """The settings of an engine or a learner."""

    precision: ResolvedPrecision
    keys_and_values: KeyValueFormat = "states"
    adapters: bool = False
    """Whether adapters are trained: in NVFP4 they stay beside the engine's weights, otherwise they are merged into
    them."""

    @property
    def name(self) -> str:
        """A name such as "bf16 + fp8 KV"."""
        cache = "" if self.keys_and_values == "states" else f" + {self.keys_and_values} KV"
        return f"{self.precision}{cache}{' + adapters' if self.adapters else ''}"

    def flow(self, *, invariant: bool) -> PrecisionFlow:
        """The flow of these settings."""
        return flow_of(self.precision, invariant=invariant, keys_and_values=self.keys_and_values)


@record
class FlowPair:
    """The flows of an engine and a learner."""

    rollouts: FlowSide
    training: FlowSide
    invariant: bool

    @property
    def is_unified(self) -> bool:
        """Whether both sides compute the same."""
        return self.rollouts == self.training

    @property
    def flows(self) -> tuple[PrecisionFlow, PrecisionFlow]:
        """The flow of the engine, and the flow of the learner."""
        engine, learner = (one.flow(invariant=self.invariant) for one in (self.rollouts, self.training))
        return engine, learner

    @property
    def name(self) -> str:
        """A name such as "bf16 rollouts, fp32 training, free"."""
        sums = "invariant" if self.invariant else "free"
        if self.is_unified:
            return f"{self.rollouts.name} unified, {sums}"
        return f"{self.rollouts.name} rollouts, {self.training.name} training, {sums}"

    @property
    def with_keys_and_values_as_states(self) -> "FlowPair":
        """The same pair with keys and values in the format of the states."""
        sides = (replace(one, keys_and_values="states") for one in (self.rollouts, self.training))
        rollouts, training = sides
        return replace(self, rollouts=rollouts, training=training)


_FP32, _BF16, _FP8, _BLOCK = (FlowSide(precision=one) for one in ("fp32", "bf16", "fp8", "fp8-block"))
_FP32_KV, _BF16_KV, _FP8_KV = (replace(one, keys_and_values="fp8") for one in (_FP32, _BF16, _FP8))
_SIDES = (
    (_FP32, _FP32),
    (_BF16, _BF16),
    (_BF16, _FP32),
    (_FP8, _FP8),
    (_FP8, _BF16),
    (_BLOCK, _BLOCK),
    (_BLOCK, _BF16),
    (_FP32_KV, _FP32_KV),
    (_BF16_KV, _BF16_KV),
    (_BF16_KV, _BF16),
    (_FP8_KV, _FP8_KV),
)
WITH_ADAPTERS: tuple[ResolvedPrecision, ...] = ("bf16", "nvfp4")
"""The precisions that are measured with adapters."""
FLOW_PAIRS = (
    *(
        FlowPair(rollouts=rollouts, training=training, invariant=invariant)
        for rollouts, training in _SIDES
        for invariant in (False, True)
    ),
    *(
        FlowPair(rollouts=side, training=side, invariant=False)
        for side in (FlowSide(precision=precision, adapters=True) for precision in WITH_ADAPTERS)
    ),
)
"""First each precision with the same flow on both sides, and each lower precision with training in the next higher one;
then keys and values in FP8. All of these are measured free and invariant. Adapters follow, which have no invariant
mode."""


def find_flow_pairs(names: Sequence[str]) -> tuple[FlowPair, ...]:
    """The pairs with these names, in the order of `FLOW_PAIRS`; all pairs if no name is given.

    Raises:
        UnknownNameError: No pair has one of the names.
    """
    known = {pair.name: pair for pair in FLOW_PAIRS}
    for name in names:
        if name not in known:
            raise UnknownNameError.of("flow", name, known)
    return tuple(pair for name, pair in known.items() if name in names or not names)

"""The size and precision of the native engine."""

from dataclasses import dataclass

from palaestra.trainers.device import FOUR_BITS, Precision
from palaestra.trainers.flow import KeyValueFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeConfig:
    """The native engine's settings. On a CPU, memory is allocated as needed; on a GPU, when the engine is made."""

    rows: int = 64
    """Turns sampled at once; others wait."""
    capacity: int = 262_144
    """Tokens whose keys and values are held, for running turns and for trajectories that wait for their worlds. They
    are held in pages, which trajectories with a common beginning share; `palaestra train --dry-run` prints their
    memory. A turn reserves room for its context and its limit; if that does not fit, idle trajectories are dropped, the
    longest idle first."""
    context: int | None = None
    """Maximum tokens of a trajectory. Default: the model's."""
    prefill: int = 512
    """Maximum tokens of new contexts that pass through the model in one step."""
    drafts: int = 0
    """Maximum draft tokens per step, shared by the running turns: tokens that followed the turns' last tokens earlier
    in their contexts. A correct draft saves a pass; the sampled tokens stay the same. It pays if few turns are sampled
    at once; 0 for none."""
    precision: Precision = "fp32"
    """The precision of weights and states: "fp32", "bf16", or "auto" for bfloat16 if the device multiplies in it. With
    "fp8" and "fp8-block", the products of blocks multiply numbers in E4M3, with a scale for each row or for each
    128x128 weights and 128 activations; all else is as with "bf16". With "nvfp4", block weights are held in 4 bits and
    never change, new weights are those of adapters beside them, and products are as with "bf16". Sums of norms,
    attention and sampling are in single precision."""
    keys_and_values: KeyValueFormat = "states"
    """The stored format of keys and values: that of the states, or with "fp8" E4M3 with a scale for each head of a
    token, which takes one byte per number. Attention computes as before, with the rounded values."""
    invariant: bool = False
    """Whether a token's result depends only on its sequence and the weights, to the bit: not on the batch, the chunks
    of a context, shared prefixes, or threads. A learner with the same setting, precision and `keys_and_values` computes
    the same. Only on a CPU. In a run, `invariant` at the top of its settings sets it."""
    device: str | None = None
    """The engine's device: "auto" or one of torch's names. Default: the run's device, or in a program that of the
    model."""

    def __post_init__(self) -> None:
        for name in ("rows", "capacity", "prefill"):
            value = getattr(self, name)
            if value < 1:
                raise ValueError(f"{name}={value}: an engine needs at least 1")
        if self.precision == FOUR_BITS and self.invariant:
            raise ValueError(
                f"precision={self.precision!r}, invariant=True: the kernels of the mode read no weights in 4 bits; "
                'leave invariant out, or write precision = "bf16"'
            )
        if self.drafts < 0:
            raise ValueError(f"drafts={self.drafts}: give a number of tokens, or 0 for no guesses")
        if self.context is not None and not 1 <= self.context <= self.capacity:
            raise ValueError(
                f"context={self.context}, capacity={self.capacity}: a trajectory has 1 token or more and no more than "
                "the engine holds; lower the context or raise the capacity"
            )

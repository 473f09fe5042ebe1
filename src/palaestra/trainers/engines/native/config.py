"""How large the engine is, and in which precision it works."""

from dataclasses import dataclass

from palaestra.trainers.device import FOUR_BITS, Precision
from palaestra.trainers.flow import KeyValueFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeConfig:
    """The engine's size. On a processor memory is taken as it is needed, on a GPU when the engine is made."""

    rows: int = 64
    """Turns that are drawn at once; others wait."""
    capacity: int = 262_144
    """Tokens whose keys and values are held, of turns under way and of trajectories that wait for their worlds. They
    are held in pages, which trajectories that begin alike share; `palaestra train --dry-run` says what they take. A
    turn reserves its context and its limit; where that does not fit, idle trajectories give way, the longest idle
    first."""
    context: int | None = None
    """Tokens that a trajectory may have; the model's own where it is not given."""
    prefill: int = 512
    """Tokens of new contexts that go through the model in one step, at most."""
    drafts: int = 0
    """Tokens that are guessed in one step, at most, shared by the turns under way: what followed their last tokens
    earlier in their contexts. A guess that is drawn saves a pass; what is drawn stays the same. It pays where few turns
    are drawn at once; 0 for none."""
    precision: Precision = "fp32"
    """Of weights and states: "fp32", "bf16", or "auto" for bfloat16 where the device multiplies in it.
    With "fp8" and "fp8-block" the products of blocks are of numbers in E4M3, with a scale for each row or for each
    128x128 weights and 128 activations; all else is as with "bf16". With "nvfp4" the weights of blocks are held in 4
    bits and never change, new weights are those of adapters beside them, and products are as with "bf16". Sums of
    norms, of attention and of the draw are in single precision."""
    keys_and_values: KeyValueFormat = "states"
    """The format that they are held in: that of the states, or with "fp8" E4M3 with a scale for each head of a token,
    which takes one byte a number. Attention computes as before, with what they were rounded to."""
    invariant: bool = False
    """Whether what a token comes to depends on its sequence and the weights alone, to the bit: not on the batch, the
    chunks of a context, prefixes that are shared, or threads. A learner with the same setting, precision and
    `keys_and_values` computes the same. On a CPU alone. In a run, `invariant` at the top of its settings sets it."""
    device: str | None = None
    """Where it works, "auto" or in torch's words. If it is not given: the run's device, or in a program where the model
    is."""

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

"""The settings of a learner."""

from dataclasses import dataclass

from palaestra.trainers.data.layouts import LayoutName
from palaestra.trainers.device import FOUR_BITS, QUANTISED_PRECISIONS, Precision
from palaestra.trainers.flow import KeyValueFormat
from palaestra.trainers.limits import check_above_zero, check_at_least


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraConfig:
    """Low-rank adapters (Hu et al. 2021, arXiv:2106.09685), trained instead of the weights; needs the extra `lora`."""

    rank: int = 16
    alpha: int = 32
    """The output of an adapter is scaled by alpha / rank."""
    targets: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    """The modules that get an adapter, by the last part of their names."""
    seed: int = 0
    """Random seed of the adapters' initial weights."""

    def __post_init__(self) -> None:
        check_at_least(1, rank=self.rank)
        check_above_zero(alpha=self.alpha)
        if not self.targets:
            raise ValueError("targets=(): adapters need modules; name some, or leave lora out to train all weights")


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerConfig:
    """The optimiser AdamW, and how tokens pass through the model.

    Settings after `max_norm` change memory and speed, but results only by rounding, except `precision`,
    `keys_and_values` and `lora`.
    """

    lr: float
    """The default learning rate of a step."""
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = 0.01
    max_norm: float = 1.0
    """The maximum norm of the gradient; a larger one is scaled down."""
    micro_tokens: int = 16_384
    """Maximum tokens of a micro-batch, including those that its layout adds."""
    layout: LayoutName = "packed"
    """How sequences share a pass: one after another, side by side, or with common beginnings computed once."""
    logits_chunk: int = 256
    """Tokens whose logits are in memory at once."""
    checkpointing: bool = False
    """Keep only the states between blocks, and compute those inside blocks again in the backward pass."""
    precision: Precision = "fp32"
    """The precision of products: "fp32", "bf16", "fp8", "fp8-block" (see `NativeConfig`), or "auto" for bfloat16 if the
    device multiplies in it. Weights, their gradients and the optimiser are in single precision in any case. With
    "nvfp4", which needs `lora`, block weights never change and are held only in 4 bits, and the products are those of
    "bf16"."""
    keys_and_values: KeyValueFormat = "states"
    """With "fp8", attention reads keys and values rounded to E4M3, like an engine with the same setting; gradients pass
    the rounding. It saves no memory here."""
    invariant: bool = False
    """Whether the forward pass equals that of an engine with the same setting, precision and `keys_and_values`, to the
    bit; see `NativeConfig`. Gradients come from torch's ordinary functions. Only on a CPU, in one process, without
    adapters. In a run, `invariant` at the top of its settings sets it."""
    device: str | None = None
    """The device to train on: "auto" or one of torch's names. Default: the run's device, or in a program that of the
    model. With several processes, each has its own `cuda`."""
    lora: LoraConfig | None = None

    def __post_init__(self) -> None:
        check_above_zero(lr=self.lr, max_norm=self.max_norm)
        check_at_least(0, weight_decay=self.weight_decay)
        check_at_least(1, micro_tokens=self.micro_tokens, logits_chunk=self.logits_chunk)
        if self.invariant and self.lora is not None:
            raise ValueError(
                "invariant=True, lora: an engine draws with adapters worked into the weights, which is another forward "
                "pass than a learner's with adapters beside them; leave one of the two out"
            )
        if self.precision in QUANTISED_PRECISIONS and self.lora is not None:
            raise ValueError(
                f"precision={self.precision!r}, lora: an engine quantises weights with adapters worked in, which is "
                "another forward pass than a learner's with adapters beside quantised weights; leave lora out, or "
                'write precision = "bf16"'
            )
        if self.precision == FOUR_BITS and self.lora is None:
            raise ValueError(
                f"precision={self.precision!r}: weights in 4 bits are too coarse to be trained, and adapters beside "
                'them are trained in their place; give a section lora, or write precision = "bf16"'
            )
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas={list(self.betas)}: both are 0 or more and below 1, such as [0.9, 0.95]")

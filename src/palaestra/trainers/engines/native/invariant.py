"""The engine's forward pass in the invariant mode: each token is computed by itself, in a fixed order.

Axes: T tokens of a pass, C hidden, N columns of a product, H heads, G key-value heads, D head dimension.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from palaestra.errors import ConfigError
from palaestra.trainers.engines.native.attention import PassPlaces, SequenceSpan
from palaestra.trainers.engines.native.kernels import HEAD_DIMS, InvariantKernels, invariant_kernels
from palaestra.trainers.engines.native.pages import PagedMemory
from palaestra.trainers.flow import OperandFormat
from palaestra.trainers.model.arithmetic import Rotation
from palaestra.trainers.model.projection import PackedWeight
from palaestra.trainers.model.shape import DecoderShape
from palaestra.trainers.quantisation import round_to_e4m3


def kernels_for(shape: DecoderShape, device: torch.device) -> InvariantKernels:
    """The kernels of the invariant mode, if they can compute this decoder.

    Raises:
        ConfigError: they cannot compute it, or cannot be compiled.
    """
    if device.type != "cpu":
        raise ConfigError(
            f"invariant=True, device={str(device)!r}: the mode has kernels for processors alone; write "
            'device = "cpu", or leave invariant out'
        )
    if shape.head_dim not in HEAD_DIMS:
        raise ConfigError(
            f"invariant=True, head_dim={shape.head_dim}: the mode's attention has code for heads of "
            f"{', '.join(map(str, HEAD_DIMS))}; take a model of such heads, or leave invariant out"
        )
    return invariant_kernels()


class InvariantFunctions:
    """A decoder's arithmetic with the invariant kernels, without gradients; see `ForwardFunctions`.

    Operands of quantised products are rounded to E4M3 and multiplied in bfloat16, which represents them exactly.

    Args:
        kernels: The kernels of this machine.
        operands: The format of the operands of blocks' products, if they are quantised.
    """

    def __init__(self, kernels: InvariantKernels, operands: OperandFormat | None = None) -> None:
        self.kernels = kernels
        self.operands = operands

    def pack(self, weight_NC: Tensor) -> PackedWeight:
        """See `ProjectionProducts`."""
        if self.operands is not None:
            weight_NC = round_to_e4m3(weight_NC, self.operands.weight).bfloat16()
        return (self.kernels.pack(weight_NC),)

    def product(self, x_TC: Tensor, weight_NC: Tensor, packed: PackedWeight) -> Tensor:
        """See `ProjectionProducts`."""
        if self.operands is not None:
            x_TC = round_to_e4m3(x_TC, self.operands.activation)
        return self.kernels.product(x_TC, packed[0], len(weight_NC))

    def pack_head(self, weight_VC: Tensor) -> Tensor:
        """See `ForwardFunctions`."""
        return self.kernels.pack(weight_VC)

    def logits(self, x_TC: Tensor, weight_VC: Tensor, packed: Tensor) -> Tensor:
        """See `ForwardFunctions`; in single precision, regardless of the weights' type."""
        return self.kernels.product(x_TC, packed, len(weight_VC), single=True)

    def route(self, x_TC: Tensor, weight_EC: Tensor, packed: Tensor) -> Tensor:
        """See `ForwardFunctions`; in single precision, regardless of the weights' type."""
        return self.kernels.product(x_TC, packed, len(weight_EC), single=True)

    def norm(self, x: Tensor, weight_C: Tensor, epsilon: float) -> Tensor:
        """See `ForwardFunctions`."""
        return self.kernels.norm(x, weight_C, epsilon)

    def rotation(self, position_T: Tensor, frequency: Tensor) -> Rotation:
        """See `ForwardFunctions`; in single precision, regardless of the states' type."""
        return self.kernels.rotation(position_T, frequency)

    def turn(self, x_THD: Tensor, rotation: Rotation) -> Tensor:
        """See `ForwardFunctions`."""
        return self.kernels.turn(x_THD, *rotation)

    def gate(self, gate_TN: Tensor, up_TN: Tensor) -> Tensor:
        """See `ForwardFunctions`."""
        return self.kernels.gate(gate_TN, up_TN)


class InvariantPass:
    """The attention of one pass; each layer's keys and values are stored in memory.

    Args:
        kernels: The kernels of this machine.
        memory: The memory of all sequences.
        spans: The spans of the sequences, in the order of the tokens.
    """

    def __init__(self, kernels: InvariantKernels, memory: PagedMemory, spans: Sequence[SequenceSpan]) -> None:
        self._kernels = kernels
        self._memory = memory
        self._places = PassPlaces(memory, spans)
        self.place_T = self._places.place_T
        """The place of each token in its sequence."""
        self._row_T = torch.tensor([row for row, span in enumerate(spans) for _ in range(span.count)])
        self._blocks_RN = memory.table([span.pages for span in spans]) * memory.keys[0].stride(0)

    def __call__(self, layer: int, q_THD: Tensor, k_TGD: Tensor, v_TGD: Tensor, /) -> Tensor:
        """See `Attend`."""
        self._places.write(layer, k_TGD, v_TGD)
        keys_PWGD = self._memory.keys[layer]
        return self._kernels.attend(
            q_THD,
            keys_PWGD,
            self._memory.values[layer],
            groups=k_TGD.shape[1],
            group_stride=keys_PWGD.stride(2),
            place_stride=keys_PWGD.stride(1),
            blocks_RN=self._blocks_RN,
            row_T=self._row_T,
            place_T=self.place_T,
        )

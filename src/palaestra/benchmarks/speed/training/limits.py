"""The limit of the machine: the matrix products of a model alone, without any other operations.

Axes: T tokens, N rows of a weight, C its columns.
"""

from collections.abc import Callable
from statistics import median
from time import perf_counter

import torch
from torch import Tensor
from torch.nn import functional

from palaestra.trainers.model.shape import DecoderShape

_RUNS = 7


class Products:
    """The weights of a decoder as bare matrices, in as few products as the model allows.

    Queries, keys and values are one product; gate and up are another. Attention over earlier tokens is not a product
    with weights and is left out, so no implementation reaches the limit.

    Args:
        shape: The shape of the decoder.
        dtype: The type of weights and states.
        device: The device of the matrices.
    """

    def __init__(self, shape: DecoderShape, *, dtype: torch.dtype, device: torch.device) -> None:
        self._dtype = dtype
        self._device = device
        q, kv = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
        block = [
            (q + 2 * kv, shape.hidden),
            (shape.hidden, q),
            (2 * shape.mlp, shape.hidden),
            (shape.hidden, shape.mlp),
        ]
        self._blocks = [[self._matrix(n, c) for n, c in block] for _ in range(shape.layers)]
        self._output = self._matrix(shape.vocabulary, shape.hidden)

    @property
    def parameters(self) -> int:
        """Number of weights."""
        return sum(weight.numel() for block in [*self._blocks, [self._output]] for weight in block)

    def _matrix(self, n: int, c: int) -> Tensor:
        return torch.randn(n, c, device=self._device).mul_(0.02).to(self._dtype)

    @torch.inference_mode()
    def seconds(self, tokens: int, *, scored: int) -> float:
        """Median seconds of the products of `tokens` tokens, `scored` of which pass through the output layer."""
        weights = [weight for block in self._blocks for weight in block]
        states = {c: torch.randn(tokens, c, device=self._device).to(self._dtype) for c in {w.shape[1] for w in weights}}
        last_TC = states[self._output.shape[1]][:scored]

        def work() -> None:
            for weight in weights:
                functional.linear(states[weight.shape[1]], weight)
            functional.linear(last_TC, self._output)

        return time_median(work, self._device)


def time_median(work: Callable[[], object], device: torch.device) -> float:
    """Median seconds of `work`, after an untimed first call."""
    taken: list[float] = []
    for _ in range(_RUNS + 1):
        synchronise(device)
        start = perf_counter()
        work()
        synchronise(device)
        taken.append(perf_counter() - start)
    return median(taken[1:])


def synchronise(device: torch.device) -> None:
    """Wait until the device has finished its queued work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)

"""What the machine allows: the matrix products of a model alone, without anything between them.

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
    """The weights of a decoder as bare matrices, as few as the model can be done with, and nothing else of it.

    Queries, keys and values are one product, gate and up another. Attention over earlier tokens is no product with
    weights and is left out, so nobody reaches the limit.

    Args:
        shape: The decoder's.
        dtype: Of weights and states.
        device: Where they are.
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
        """How many numbers the weights are."""
        return sum(weight.numel() for block in [*self._blocks, [self._output]] for weight in block)

    def _matrix(self, n: int, c: int) -> Tensor:
        return torch.randn(n, c, device=self._device).mul_(0.02).to(self._dtype)

    @torch.inference_mode()
    def seconds(self, tokens: int, *, scored: int) -> float:
        """How long the products of `tokens` tokens take, of which `scored` go through the output layer; the median."""
        weights = [weight for block in self._blocks for weight in block]
        states = {c: torch.randn(tokens, c, device=self._device).to(self._dtype) for c in {w.shape[1] for w in weights}}
        last_TC = states[self._output.shape[1]][:scored]

        def work() -> None:
            for weight in weights:
                functional.linear(states[weight.shape[1]], weight)
            functional.linear(last_TC, self._output)

        return time_median(work, self._device)


def time_median(work: Callable[[], object], device: torch.device) -> float:
    """The median seconds of `work`, done once before."""
    taken: list[float] = []
    for _ in range(_RUNS + 1):
        synchronise(device)
        start = perf_counter()
        work()
        synchronise(device)
        taken.append(perf_counter() - start)
    return median(taken[1:])


def synchronise(device: torch.device) -> None:
    """Wait until the device has done what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)

"""Decoding as CUDA graphs: the many small kernels of a step are launched as one.

A graph is captured for each size that is met, in powers of two of rows and of the places that they see. Rows beyond
those in use write to the first place of rows that nobody has.

Our tests run where there is no GPU: they cover all of this but `captured`, in whose place they work each pass out anew.
On a GPU compare log-probabilities with those of a CPU before you rely on it.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from torch import Tensor

from palaestra.trainers.engines.native.attention import Pass, RowRun
from palaestra.trainers.engines.native.memory import RowMemory
from palaestra.trainers.model.decoder import Decoder

GraphWork: TypeAlias = Callable[[], Tensor]
"""Reads tensors that stay where they are, and gives one that does."""
_NARROWEST = 64


def captured(work: GraphWork) -> GraphWork:
    """The same work as one CUDA graph."""
    warm = torch.cuda.Stream()
    warm.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(warm):
        work()
    torch.cuda.current_stream().wait_stream(warm)
    graph = torch.cuda.CUDAGraph()
    # By default a capture fails as soon as any thread allocates, and that thread fails too.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        out = work()

    def replay() -> Tensor:
        graph.replay()
        return out

    return replay


class Graphs:
    """Steps in which every row in use puts one token through.

    Args:
        model: Its weights may change, and stay where they are.
        memory: Of the rows.
        capture: What makes work quick.
    """

    def __init__(
        self, model: Decoder, memory: RowMemory, *, capture: Callable[[GraphWork], GraphWork] = captured
    ) -> None:
        self._model = model
        self._memory = memory
        self._capture = capture
        self._keys = memory.keys
        self._decodes: dict[tuple[int, int], _Decode] = {}

    def logits(self, ids: Sequence[int], lengths: Sequence[int]) -> Tensor:
        """The logits behind one token of each of the first rows, [B, V], until the next call.

        Args:
            ids: The tokens.
            lengths: Places that each sees, itself included.
        """
        memory = self._memory
        if memory.keys is not self._keys:  # the rows were widened, and stand elsewhere
            self._keys = memory.keys
            self._decodes.clear()
        rows = min(_power_of_two(len(ids)), memory.rows)
        width = min(_power_of_two(max(*lengths, _NARROWEST)), memory.width)
        decode = self._decodes.get((rows, width))
        if decode is None:
            decode = self._decodes[rows, width] = _Decode(self._model, memory, rows, width, self._capture)
        return decode.logits(ids, lengths)


class _Decode:
    def __init__(
        self, model: Decoder, memory: RowMemory, rows: int, width: int, capture: Callable[[GraphWork], GraphWork]
    ) -> None:
        self._model = model
        self._ids_B = torch.zeros(rows, dtype=torch.long, device=memory.keys[0].device)
        self._attend = Pass(memory, [RowRun(start=0, row=0, lengths=[width] * rows)], [])
        self._capture = capture
        self._replay: GraphWork | None = None

    def logits(self, ids: Sequence[int], lengths: Sequence[int]) -> Tensor:
        unused = len(self._ids_B) - len(ids)
        self._ids_B.copy_(torch.tensor([*ids, *[0] * unused]))
        self._attend.move([*lengths, *[1] * unused])
        if self._replay is None:  # only now: capturing works it out, and so writes keys and values
            self._replay = self._capture(self._work)
        return self._replay()[: len(ids)]

    def _work(self) -> Tensor:
        return self._model.logits(self._model(self._ids_B, self._attend.place_T, self._attend))


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()

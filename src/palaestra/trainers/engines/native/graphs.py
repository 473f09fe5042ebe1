"""Sampling steps as CUDA graphs: the many small kernels of a step are launched as one.

A graph is captured for each size that occurs, in powers of two of turns and of pages. Unused rows write to a page that
belongs to no sequence.

The tests run without a GPU: they cover everything except `captured`, and compute each pass directly instead. On a GPU,
compare log-probabilities with those of a CPU before you rely on it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import torch
from torch import Tensor

from palaestra.trainers.engines.native.attention import Pass, SequenceSpan
from palaestra.trainers.engines.native.block_tables import BlockTablePass, reads_pages
from palaestra.trainers.engines.native.pages import NOWHERE, PagedMemory
from palaestra.trainers.model.decoder import Decoder

GraphWork: TypeAlias = Callable[[], Tensor]
"""Reads tensors at fixed addresses and returns a tensor at a fixed address."""


def captured(work: GraphWork, device: torch.device) -> GraphWork:
    """The same work as one CUDA graph.

    Args:
        work: The work, on the device. A capture on another device's stream would record nothing, with only a warning.
        device: The device, which need not be the current one.
    """
    with torch.cuda.device(device):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            work()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        # By default, a capture fails as soon as any thread allocates, and so does that thread. Its default stream is
        # that of the process's first capture, on whichever device that was.
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            out = work()

    def replay() -> Tensor:
        graph.replay()
        return out

    return replay


class Graphs:
    """Steps in which every turn passes one token.

    Args:
        model: The model; its weights may change, but not their addresses.
        memory: The memory of all sequences.
        turns: The maximum number of turns sampled at once.
        capture: Makes work fast; `captured` by default.
    """

    def __init__(
        self,
        model: Decoder,
        memory: PagedMemory,
        *,
        turns: int,
        capture: Callable[[GraphWork], GraphWork] | None = None,
    ) -> None:
        self._model = model
        self._memory = memory
        self._turns = turns
        self._capture = capture or partial(captured, device=memory.keys[0].device)
        self._decodes: dict[tuple[int, int], _Decode] = {}

    def logits(self, ids: Sequence[int], spans: Sequence[SequenceSpan]) -> Tensor:
        """The logits after one token of each turn, [B, V]; valid until the next call.

        Args:
            ids: The tokens.
            spans: Their spans, of one token each.
        """
        turns = min(_power_of_two(len(ids)), self._turns)
        pages = _power_of_two(max(len(span.pages) for span in spans))
        decode = self._decodes.get((turns, pages))
        if decode is None:
            decode = self._decodes[turns, pages] = _Decode(self._model, self._memory, turns, pages, self._capture)
        return decode.logits(ids, spans)


class _Decode:
    def __init__(
        self,
        model: Decoder,
        memory: PagedMemory,
        turns: int,
        pages: int,
        capture: Callable[[GraphWork], GraphWork],
    ) -> None:
        self._model = model
        self._ids_B = torch.zeros(turns, dtype=torch.long, device=memory.keys[0].device)
        widest = [SequenceSpan(pages=[NOWHERE] * pages, place=0, count=1)] * turns
        self._attend = BlockTablePass(memory, widest) if reads_pages(memory) else Pass(memory, widest)
        self._capture = capture
        self._replay: GraphWork | None = None

    def logits(self, ids: Sequence[int], spans: Sequence[SequenceSpan]) -> Tensor:
        unused = len(self._ids_B) - len(ids)
        self._ids_B.copy_(torch.tensor([*ids, *[0] * unused]))
        self._attend.move([*spans, *[SequenceSpan(pages=[NOWHERE], place=0, count=1)] * unused])
        if self._replay is None:  # only now: a capture runs the work, and so writes keys and values
            self._replay = self._capture(self._work)
        return self._replay()[: len(ids)]

    def _work(self) -> Tensor:
        return self._model.logits(self._model(self._ids_B, self._attend.place_T, self._attend))


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()

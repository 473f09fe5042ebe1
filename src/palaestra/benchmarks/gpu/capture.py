"""CUDA graphs: captured while another thread allocates, and replayed to the same tokens as without that thread."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Literal, Self, TypeAlias

import torch

from palaestra.benchmarks.gpu.figures import ContactFigure
from palaestra.benchmarks.gpu.scale import ContactScale
from palaestra.benchmarks.speed.training.drawing import EngineDraws
from palaestra.benchmarks.speed.training.limits import synchronise
from palaestra.benchmarks.speed.training.models import make_peaked_decoder
from palaestra.benchmarks.speed.training.scale import EngineScale
from palaestra.trainers.engines.native import NativeConfig, NativeEngine
from palaestra.trainers.model.decoder import Decoder

_Mode: TypeAlias = Literal["global", "thread_local", "relaxed"]
_MODES: tuple[_Mode, ...] = ("thread_local", "global")


class _Allocating:
    """A thread that allocates, computes and frees on a stream of its own until the block ends."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.count = 0
        self.errors: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._left.set()
        self._thread.join()

    def _run(self) -> None:
        stream = torch.cuda.Stream() if self._device.type == "cuda" else None
        # A capture takes the default generator: another thread that samples from it meanwhile fails in any mode.
        generator = torch.Generator(self._device)
        with torch.cuda.stream(stream):
            while not self._left.is_set():
                self.count += 1
                try:
                    # New sizes make the allocator ask the driver, which a capture forbids.
                    numbers = torch.randn(
                        1024, 1024 + 8 * (self.count % 4096), generator=generator, device=self._device
                    )
                    (numbers @ numbers.T).sum().item()
                    if self.count % 16 == 0 and self._device.type == "cuda":
                        torch.cuda.empty_cache()
                except RuntimeError as error:
                    self.errors.append(str(error).splitlines()[0])


def check_capture(device: torch.device, scale: ContactScale) -> Iterator[ContactFigure]:
    """Measure failures while another thread allocates; the engine must sample the same tokens as without that thread.

    A processor has no graphs: there the same work runs without them.
    """
    model = make_peaked_decoder(scale.shape)
    alone, _, _ = _draw(model, device, scale, busy=False)
    beside, allocated, errors = _draw(model, device, scale, busy=True)
    yield ContactFigure(name="engine: sequences equal beside an allocating thread", value=_equal(alone, beside),
                        unit="share", at_least=1.0)  # fmt: skip
    yield ContactFigure(name="engine: allocations of the other thread meanwhile", value=allocated, unit="", at_least=1)
    yield ContactFigure(name="engine: errors in the other thread", value=len(errors), unit="", at_most=0)
    if errors:
        raise RuntimeError(f"the other thread failed {len(errors)} times: {errors[0]}")
    if device.type == "cuda":
        for mode in _MODES:
            failed, broken = _captures(device, scale.captures, mode)
            bound = 0 if mode == "thread_local" else None
            yield ContactFigure(name=f"{mode}: captures that failed of {scale.captures}", value=failed, unit="",
                                at_most=bound)  # fmt: skip
            yield ContactFigure(name=f"{mode}: errors in the other thread", value=broken, unit="", at_most=bound)


def _equal(some: list[tuple[int, ...]], others: list[tuple[int, ...]]) -> float:
    return sum(one == other for one, other in zip(some, others, strict=True)) / len(some)


def _draw(
    model: Decoder, device: torch.device, scale: ContactScale, *, busy: bool
) -> tuple[list[tuple[int, ...]], int, list[str]]:
    """Sample with a fresh engine, which captures its graphs during the work."""

    async def work() -> list[tuple[int, ...]]:
        config = NativeConfig(
            rows=scale.rows,
            context=scale.places,
            capacity=scale.rows * scale.places,
            precision="bf16",
            device=str(device),
            prefill=8192,
        )
        engine = NativeEngine(model, config)
        drawing = EngineScale(shape=scale.shape, sequences=scale.rows, prompt=scale.prompt, new=scale.new)
        draws = EngineDraws(engine, drawing)
        await draws(0)
        await engine.close()
        return [completion.ids for _, completion in draws.drawn]

    if not busy:
        return asyncio.run(work()), 0, []
    with _Allocating(device) as other:
        found = asyncio.run(work())
    return found, other.count, other.errors


def _captures(device: torch.device, count: int, mode: _Mode) -> tuple[int, int]:
    """Count failed captures, and errors of the concurrent thread."""
    weight = torch.randn(512, 512, device=device)
    failed = 0
    with _Allocating(device) as other:
        for place in range(count):
            x = torch.ones(64 + place, 512, device=device)
            graph = torch.cuda.CUDAGraph()
            try:
                with torch.cuda.graph(graph, capture_error_mode=mode):
                    out = (x @ weight).relu() @ weight
                graph.replay()
                synchronise(device)
                if not torch.allclose(out, (x @ weight).relu() @ weight, rtol=1e-3, atol=1e-2):
                    failed += 1
            except RuntimeError:
                failed += 1
    return failed, len(other.errors)

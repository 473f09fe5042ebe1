"""Graphs, with a stand-in for capture: the work is done anew, and its result left where it was."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch

from decoders import tiny
from engines.plain import telling
from palaestra.trainers.engines.engine import Completion, Sampling, TurnRequest
from palaestra.trainers.engines.native.attention import SequenceSpan
from palaestra.trainers.engines.native.config import NativeConfig
from palaestra.trainers.engines.native.core import Core
from palaestra.trainers.engines.native.graphs import Graphs, GraphWork, captured
from palaestra.trainers.engines.native.pages import PagedMemory
from palaestra.trainers.engines.noise import noise_key

SHAPE = tiny(vocabulary=24, hidden=16, heads=4, kv_heads=2, head_dim=4, mlp=16, context=700)
CONFIG = NativeConfig(rows=5, capacity=2000, prefill=40)


class Anew:
    """Counts what is captured and how often it is used."""

    def __init__(self) -> None:
        self.captured = self.used = 0

    def __call__(self, work: GraphWork) -> GraphWork:
        self.captured += 1
        out = work().clone()
        place = out.data_ptr()

        def replay() -> torch.Tensor:
            self.used += 1
            out.copy_(work())
            assert out.data_ptr() == place
            return out

        return replay


def played(core: Core) -> dict[str, Completion]:
    """Turns of many lengths, one beyond the rows' first width, with new weights on the way."""
    waiting = [
        TurnRequest(
            trajectory=f"t{i}",
            context=tuple((3 * j + i) % 24 for j in range(5 + 9 * (i % 4))),
            sampling=Sampling(limit=290 if i == 2 else 10 + 7 * i, stop=(), top_p=0.9 if i % 3 else 1.0),
            noise=noise_key(i),
        )
        for i in range(9)
    ]
    done: dict[str, Completion] = {}
    step = 0
    while waiting or core.running:
        for _ in range(core.room(waiting)):
            core.admit(waiting.pop(0))
        if step == 30:
            core.update(telling(SHAPE, seed=1).state_dict(), 1, "keep")
        for one in core.step():
            assert isinstance(one.result, Completion)
            done[one.drawing.request.trajectory] = one.result
        step += 1
    return done


@pytest.mark.parametrize("config", [CONFIG, replace(CONFIG, keys_and_values="fp8")], ids=["states", "fp8"])
def test_a_run_on_graphs_is_the_run_without(config: NativeConfig) -> None:
    capture = compare_with_plain(config)
    assert capture.used > 250
    # Turns in sizes 1, 2, 4 and 5, pages of 16 places in 1, 2, 4, ... 32.
    assert 5 <= capture.captured <= 24


def test_a_share_of_one_token_of_a_context_goes_without_a_graph() -> None:
    assert compare_with_plain(replace(CONFIG, prefill=1)).used > 100


def compare_with_plain(config: NativeConfig) -> Anew:
    """Assert that a run on graphs is the run without, and return what counted them."""
    plain = Core(telling(SHAPE, seed=0), config)
    graphed = Core(telling(SHAPE, seed=0), config)
    capture = Anew()
    graphed._graphs = Graphs(graphed._model, graphed._memory, turns=CONFIG.rows, capture=capture)
    expected, found = played(plain), played(graphed)
    assert found.keys() == expected.keys()
    for name, turn in expected.items():
        assert found[name].ids == turn.ids
        assert found[name].versions == turn.versions
        torch.testing.assert_close(torch.tensor(found[name].logprobs), torch.tensor(turn.logprobs), atol=1e-5, rtol=0)
    return capture


def test_a_size_is_captured_once() -> None:
    core = Core(telling(SHAPE, seed=0), CONFIG)
    capture = Anew()
    memory = core._memory
    graphs = Graphs(core._model, memory, turns=CONFIG.rows, capture=capture)
    with torch.inference_mode():
        for lengths in ([1], [2], [16], [17], [1, 2, 20], [30] * 4):
            spans = [SequenceSpan(pages=pages_for(memory, length), place=length - 1, count=1) for length in lengths]
            assert graphs.logits([3] * len(spans), spans).shape == (len(spans), 24)
    assert capture.captured == 3


def pages_for(memory: PagedMemory, places: int) -> list[int]:
    pages: list[int] = []
    memory.extend(pages, places)
    return pages


class FakeStream:
    """A stream of the device that is current when it is made."""

    def __init__(self, cuda: "FakeCuda") -> None:
        self.device = cuda.current

    def wait_stream(self, other: "FakeStream") -> None:
        assert other.device == self.device


class FakeCuda:
    """Two devices, of which the first is current; as in torch, a capture is on a stream's device."""

    def __init__(self) -> None:
        self.current = torch.device("cuda:0")
        self.worked: list[torch.device] = []
        """The devices that were current when work was done."""

    @contextmanager
    def device(self, device: torch.device) -> Generator[None]:
        before, self.current = self.current, device
        yield
        self.current = before

    def stream(self, stream: FakeStream) -> object:
        return self.device(stream.device)

    def graph(self, graph: object, *, stream: FakeStream | None = None, capture_error_mode: str) -> object:
        assert capture_error_mode == "thread_local"
        return self.device(torch.device("cuda:0") if stream is None else stream.device)

    def work(self) -> torch.Tensor:
        self.worked.append(self.current)
        return torch.zeros(1)


def test_a_capture_is_on_the_engines_device_whichever_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = FakeCuda()
    for name in ("device", "stream", "graph"):
        monkeypatch.setattr(torch.cuda, name, getattr(cuda, name))
    for name in ("Stream", "current_stream"):
        monkeypatch.setattr(torch.cuda, name, lambda: FakeStream(cuda))
    monkeypatch.setattr(torch.cuda, "CUDAGraph", object)
    captured(cuda.work, torch.device("cuda:1"))
    assert cuda.worked == [torch.device("cuda:1")] * 2
    assert cuda.current == torch.device("cuda:0")

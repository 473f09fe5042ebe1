"""vLLM itself, on the CPU: how it dies and comes back, then what every engine must keep. It is started three times."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from engines.bench import Bench, Harness, until, weights
from engines.conformance import CLAIMS, Claim
from engines.interpreter import vllm_python
from engines.plain import telling
from engines.processes import group
from palaestra.benchmarks.speed.processes import processor_seconds
from palaestra.errors import CheckpointError, EngineError, WaitError
from palaestra.trainers.engines.engine import Sampling, TurnRequest
from palaestra.trainers.engines.vllm import VllmConfig, VllmEngine
from palaestra.trainers.model.checkpoint import save_decoder
from palaestra.trainers.model.shape import DecoderShape

pytestmark = pytest.mark.xdist_group("vllm")

SHAPE = DecoderShape(
    vocabulary=2048, hidden=256, layers=6, heads=8, kv_heads=4, head_dim=32, mlp=1024, context=512, tied=True
)
REQUEST = TurnRequest(trajectory="t", context=(1, 2, 3), sampling=Sampling(limit=2, stop=()))
TRAINER = """
import asyncio, sys
from pathlib import Path
from palaestra.trainers.engines.engine import TurnRequest, Sampling
from palaestra.trainers.engines.vllm import VllmConfig, VllmEngine

async def main():
    engine = VllmEngine(VllmConfig(model=Path(sys.argv[1]), python=Path(sys.argv[2])))
    request = TurnRequest(trajectory="t", context=(1, 2, 3), sampling=Sampling(limit=2, stop=()))
    turn = asyncio.ensure_future(engine.generate(request))
    while engine.pid is None:
        await asyncio.sleep(0.001)
    print(engine.pid, engine._scratch.name, flush=True)
    await turn

asyncio.run(main())
"""

STUCK = f"""#!{sys.executable}
import json, socket, sys
line = socket.socket(fileno=int(sys.argv[-1])).makefile("rwb")
line.read(int.from_bytes(line.read(4), "big"))
ready = json.dumps({{"ready": {{"capacity": 7}}}}).encode()
line.write(len(ready).to_bytes(4, "big") + ready)
line.flush()
line.read()
"""
"""In place of a Python with vLLM: it is ready at once, and answers nothing."""


@pytest.fixture(scope="module")
def python() -> Path:
    return vllm_python()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    save_decoder(telling(SHAPE, seed=1), folder)
    return folder


@pytest.fixture(scope="module")
def bench(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    def made(folder: Path) -> VllmEngine:
        config = VllmConfig(model=folder, python=python, cache_bytes=24 << 20, environment={"OMP_NUM_THREADS": "1"})
        return VllmEngine(config)

    harness = Harness(make=made, shape=SHAPE, tolerance=5e-4, takes_noise=False, tells_resident=False, patience=300.0)
    bench = Bench(harness, tmp_path_factory.mktemp("checkpoint"))
    yield bench
    bench.close()


def alone(test: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(120):
            await test

    asyncio.run(bounded())


async def starting(engine: VllmEngine) -> int:
    """The worker's process, once there is one."""
    await until(lambda: engine.pid is not None)
    assert engine.pid is not None
    return engine.pid


def test_a_python_without_vllm_says_so(model: Path) -> None:
    async def test() -> None:
        engine = VllmEngine(VllmConfig(model=model, python=Path(sys.executable)))
        with pytest.raises(EngineError, match="No module named 'vllm'"):
            await engine.generate(REQUEST)
        await engine.close()

    alone(test())


def test_a_folder_without_a_model_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="give a folder"):
        VllmEngine(VllmConfig(model=tmp_path))


def test_a_worker_that_is_killed_while_it_starts_fails_every_turn_that_waits(python: Path, model: Path) -> None:
    async def test() -> None:
        engine = VllmEngine(VllmConfig(model=model, python=python))
        turns = [
            asyncio.ensure_future(
                engine.generate(TurnRequest(trajectory=str(n), context=(1,), sampling=REQUEST.sampling))
            )
            for n in range(3)
        ]
        os.kill(await starting(engine), signal.SIGKILL)
        for turn in turns:
            with pytest.raises(EngineError, match="killed by SIGKILL"):
                await turn
        await engine.close()

    alone(test())


def test_a_turn_that_is_late_does_not_stop_the_start_that_others_wait_for(python: Path, model: Path) -> None:
    async def test() -> None:
        engine = VllmEngine(VllmConfig(model=model, python=python))
        waiting = asyncio.ensure_future(engine.generate(REQUEST))
        pid = await starting(engine)
        late = TurnRequest(trajectory="late", context=(1,), sampling=REQUEST.sampling, timeout=0.01)
        with pytest.raises(WaitError, match="late"):
            await engine.generate(late)
        assert group(pid)
        assert not waiting.done()
        await engine.close()
        with pytest.raises(EngineError, match="closed"):
            await waiting

    alone(test())


def test_closing_while_it_starts_leaves_nothing_behind(python: Path, model: Path) -> None:
    async def test() -> None:
        engine = VllmEngine(VllmConfig(model=model, python=python))
        turn = asyncio.ensure_future(engine.generate(REQUEST))
        pid = await starting(engine)
        await engine.close()
        with pytest.raises(EngineError, match="closed"):
            await turn
        assert not group(pid)
        assert not Path(engine._scratch.name).exists()

    alone(test())


def test_weights_that_wait_for_the_turns_of_a_stuck_worker_come_once_it_was_killed(model: Path, tmp_path: Path) -> None:
    stuck = tmp_path / "python"
    stuck.write_text(STUCK)
    stuck.chmod(0o700)

    async def test() -> None:
        given = telling(SHAPE, seed=2).state_dict()
        engine = VllmEngine(VllmConfig(model=model, python=stuck, silence=2.0))
        turn = asyncio.ensure_future(engine.generate(REQUEST))
        await until(lambda: engine._worker is not None and engine._worker.busy > 0)
        async with asyncio.timeout(30):
            await engine.update_weights(given, 1, in_flight="wait")
        with pytest.raises(EngineError, match="said nothing for 2 s, asked to draw"):
            await turn
        assert engine.stats().version == 1
        await engine.close()

    alone(test())


def test_a_start_that_takes_too_long_is_given_up(python: Path, model: Path) -> None:
    async def test() -> None:
        engine = VllmEngine(VllmConfig(model=model, python=python, start_timeout=0.1))
        with pytest.raises(EngineError, match=r"not ready within 0\.1 s"):
            await engine.generate(REQUEST)
        await engine.close()

    alone(test())


def test_a_trainer_that_is_killed_takes_its_worker_and_its_files_along(python: Path, model: Path) -> None:
    async def test() -> None:
        command = (sys.executable, "-c", TRAINER, str(model), str(python))
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as trainer:
            assert trainer.stdout is not None
            pid, scratch = trainer.stdout.readline().split()
            assert group(int(pid))
            trainer.kill()
        await until(lambda: not group(int(pid)) and not Path(scratch).exists())

    alone(test())


def test_the_death_of_its_core_fails_turns_at_once_and_the_next_turn_starts_another(bench: Bench) -> None:
    async def test(bench: Bench) -> None:
        engine = await bench.engine()
        assert isinstance(engine, VllmEngine)
        await engine.update_weights(weights(bench.second), bench.version())
        long = bench.request(bench.ids(30, "long"), Sampling(limit=400, stop=()))
        turn = asyncio.ensure_future(engine.generate(long))
        await until(lambda: engine.stats().drawn > 3)
        worker = await starting(engine)
        for child in group(worker) - {worker}:
            os.kill(child, signal.SIGKILL)
        with pytest.raises(EngineError, match="EngineDeadError"):
            await turn
        drawn = engine.stats().drawn
        soon = bench.request(bench.ids(30, "soon"), Sampling(limit=5, stop=()))
        again = await engine.generate(soon)
        bench.agrees(soon, again, bench.second)
        assert set(again.versions) == {bench.current}
        assert engine.stats().drawn == drawn + 5
        assert await starting(engine) != worker
        assert not group(worker)

    bench.check(test)


def test_a_worker_that_dies_in_an_update_comes_back_with_the_old_weights(bench: Bench) -> None:
    async def test(bench: Bench) -> None:
        engine = await bench.engine()
        assert isinstance(engine, VllmEngine)
        short = bench.request(bench.ids(30, "short"), Sampling(limit=5, stop=()))
        before = await engine.generate(short)
        turn = asyncio.ensure_future(engine.generate(short))
        worker = await starting(engine)
        os.killpg(worker, signal.SIGSTOP)
        update = asyncio.ensure_future(engine.update_weights(weights(bench.second), bench.current + 1))
        await until(lambda: engine._worker is not None and engine._worker.busy == 2)
        os.kill(worker, signal.SIGKILL)
        for waiting in (turn, update):
            with pytest.raises(EngineError, match="killed by SIGKILL"):
                await waiting
        after = await engine.generate(short)
        assert after.versions == before.versions
        bench.agrees(short, after)

    bench.check(test)


def test_the_processor_time_of_all_its_processes_is_known_by_its_worker(bench: Bench) -> None:
    async def test(bench: Bench) -> None:
        engine = await bench.engine()
        assert isinstance(engine, VllmEngine)
        request = bench.request(bench.ids(30, "long"), Sampling(limit=60, stop=()))
        await engine.generate(request)
        worker = await starting(engine)
        before = processor_seconds([worker])
        await engine.generate(request)
        assert before < processor_seconds([worker]) < before + 60

    bench.check(test)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
def test_it_keeps_what_every_engine_must(bench: Bench, claim: Claim) -> None:
    bench.check(claim)

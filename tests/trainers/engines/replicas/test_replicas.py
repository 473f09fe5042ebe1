"""Several engines in processes of their own: equal to one, given weights together, and none stays behind."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest

from decoders import tiny
from engines.bench import until
from engines.plain import telling
from engines.processes import group
from palaestra.errors import ConfigError, EngineError, ReplayError
from palaestra.trainers.engines.engine import Completion, Sampling, TurnRequest
from palaestra.trainers.engines.native import NativeConfig
from palaestra.trainers.engines.noise import noise_key
from palaestra.trainers.engines.replicas import ReplicaEngine, ReplicasConfig
from palaestra.trainers.model.decoder import Decoder
from unified import Played, draw_together, draw_turns

SHAPE = tiny(head_dim=16, context=512)
CONFIG = NativeConfig(rows=16, capacity=8_000)
INVARIANT = replace(CONFIG, invariant=True)
TWO = ReplicasConfig(count=2)
NUMBERS = range(10)


@cache
def decoder(seed: int = 0) -> Decoder:
    return telling(SHAPE, seed=seed)


def run(test: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(240):
            await test

    asyncio.run(bounded())


def request(name: str, *, limit: int = 5, of: str = "") -> TurnRequest:
    return TurnRequest(
        trajectory=name,
        context=(1, 2, 3),
        sampling=Sampling(limit=limit, stop=()),
        noise=noise_key(name),
        group=of,
    )


def pids(engine: ReplicaEngine) -> list[int]:
    return [replica._worker.pid for replica in engine._replicas if replica._worker is not None]


async def both(engine: ReplicaEngine, *, limit: int = 5) -> list[Completion]:
    """A turn of each replica."""
    turns = [asyncio.ensure_future(engine.generate(request(f"at {n}", limit=limit))) for n in range(2)]
    found = await asyncio.gather(*turns)
    for n in range(2):
        engine.release(f"at {n}")
    return found


# Equality


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_replicas_draw_what_one_engine_draws_to_the_bit_where_the_batch_makes_no_difference(precision: Any) -> None:
    config = replace(INVARIANT, precision=precision)
    wanted = draw_together(decoder(), NUMBERS, config)

    async def test() -> None:
        engine = ReplicaEngine(decoder(), config, replace(TWO, threads=2))
        drawn = await asyncio.gather(*(draw_turns(engine, number) for number in NUMBERS))
        assert [replica.counts()["drawn"] > 0 for replica in engine._replicas] == [True, True]
        assert engine.stats().drawn == sum(len(span) for one in drawn for span in turns_of(one))
        await engine.close()
        assert dict(zip(NUMBERS, drawn, strict=True)) == wanted

    run(test())


def turns_of(played: Played) -> list[range]:
    return [range(span.start, span.end) for span in played.spans]


def test_what_several_replicas_drew_is_drawn_again_from_its_record_in_any_mode() -> None:
    """In the free mode too, where last bits depend on what is drawn beside a turn and when weights came."""
    lines: list[bytes] = []

    async def play(engine: ReplicaEngine, *, pause: float) -> Mapping[int, Played]:
        drawing = [asyncio.ensure_future(draw_turns(engine, number, turns=4, limit=30)) for number in NUMBERS]
        await until(lambda: engine.stats().drawn > 40)
        await asyncio.sleep(pause)
        await engine.update_weights(decoder(1).state_dict(), 1)
        drawn = dict(zip(NUMBERS, await asyncio.gather(*drawing), strict=True))
        await engine.close()
        return drawn

    async def test() -> None:
        first = await play(ReplicaEngine(decoder(), CONFIG, TWO, sink=lines.append), pause=0.0)
        assert {orjson.loads(line)["replica"] for line in lines} == {0, 1}
        again = await play(ReplicaEngine(decoder(), CONFIG, TWO, replay=lines), pause=0.05)
        assert again == first
        with pytest.raises(ReplayError, match=r"2 processes that drew, and replicas\.count=1"):
            ReplicaEngine(decoder(), CONFIG, ReplicasConfig(count=1), replay=lines)

    run(test())


def test_a_group_shares_its_beginning_in_one_replica() -> None:
    async def test() -> None:
        engine = ReplicaEngine(decoder(), CONFIG, TWO)
        context = tuple(n % SHAPE.vocabulary for n in range(200))
        requests = [
            replace(request(f"{name}/{n}", of=name), context=(*context[: 100 + offset], n))
            for offset, name in enumerate(("one", "other"))
            for n in range(4)
        ]
        await asyncio.gather(*map(engine.generate, requests))
        stats = engine.stats()
        assert [replica.counts()["drawn"] for replica in engine._replicas] == [20, 20]
        assert stats.reused > 2 * 3 * 60, "each replica worked the beginning out for each of its trajectories"
        assert stats.prefilled + stats.reused == sum(len(one.context) for one in requests)
        await engine.close()

    run(test())


# Weights


def test_new_weights_reach_every_replica_and_those_that_take_a_place_later() -> None:
    async def test() -> None:
        said: list[str] = []
        engine = ReplicaEngine(decoder(), INVARIANT, TWO, version=4, say=said.append)
        assert {turn.versions for turn in await both(engine)} == {(4,) * 5}
        await engine.update_weights(decoder(1).state_dict(), 5)
        assert engine.stats().update_seconds > 0
        after = await both(engine)
        assert {turn.versions for turn in after} == {(5,) * 5}
        files = list(Path(engine._scratch.name).iterdir())
        assert len(files) == 1, "the old weights are gone"
        victim = pids(engine)[1]
        os.kill(victim, signal.SIGKILL)
        await until(lambda: not group(victim))
        await engine.update_weights(decoder(2).state_dict(), 6)  # one is not there to take them
        last = await both(engine)
        assert {turn.versions for turn in last} == {(6,) * 5}
        assert f"process {victim}, was killed by SIGKILL. Another takes its place" in said[0]
        await engine.close()
        fresh = ReplicaEngine(decoder(2), INVARIANT, TWO, version=6)
        assert await both(fresh) == last
        await fresh.close()

    run(test())


def test_an_update_that_is_given_up_leaves_no_replica_with_the_old_weights() -> None:
    async def test() -> None:
        engine = ReplicaEngine(decoder(), CONFIG, TWO, say=lambda _: None)
        await both(engine)
        stuck = pids(engine)[1]
        os.kill(stuck, signal.SIGSTOP)
        update = asyncio.ensure_future(engine.update_weights(decoder(1).state_dict(), 1))
        worker = engine._replicas[1]._worker
        await until(lambda: worker is not None and worker.busy > 0)
        update.cancel()
        with pytest.raises(asyncio.CancelledError):
            await update
        await until(lambda: not group(stuck))
        await engine.pause()  # of the one that is left: the other is paused as it starts
        turn = asyncio.ensure_future(both(engine))
        await until(lambda: len(pids(engine)) == 2 and stuck not in pids(engine))
        await engine.resume()
        assert {drawn.versions for drawn in await turn} == {(1,) * 5}
        await engine.close()

    run(test())


def test_an_update_that_is_given_up_while_replicas_start_leaves_none_with_the_old_weights() -> None:
    async def test() -> None:
        engine = ReplicaEngine(decoder(), CONFIG, TWO, say=lambda _: None)
        early = [asyncio.ensure_future(engine.generate(request(f"at {n}"))) for n in range(2)]
        await until(lambda: len(pids(engine)) == 2)
        update = asyncio.ensure_future(engine.update_weights(decoder(1).state_dict(), 1))
        await until(lambda: engine.stats().version == 1)
        await asyncio.sleep(0.01)  # it waits for replicas that have been told the old weights
        update.cancel()
        with pytest.raises(asyncio.CancelledError):
            await update
        ended = await asyncio.gather(*early, return_exceptions=True)
        assert [type(one) for one in ended] == [EngineError] * 2
        assert {drawn.versions for drawn in await both(engine)} == {(1,) * 5}
        await engine.close()

    run(test())


# Faults


def test_turns_of_a_replica_that_is_killed_fail_at_once_and_are_drawn_again_as_they_would_have_been() -> None:
    async def test() -> None:
        engine = ReplicaEngine(decoder(), INVARIANT, TWO, say=lambda _: None)
        whole = await both(engine, limit=400)
        drawn = engine.stats().drawn
        turns = [asyncio.ensure_future(engine.generate(request(f"at {n}", limit=400))) for n in range(2)]
        await until(lambda: engine.stats().drawn > drawn + 20)
        victim = pids(engine)[0]
        os.kill(victim, signal.SIGKILL)
        with pytest.raises(EngineError, match=rf"replica 0 of the engine, process {victim}, was killed by SIGKILL"):
            await turns[0]
        assert await turns[1] == whole[1], "the others' turns go on"
        assert engine.stats().running == 0
        assert await engine.generate(request("at 0", limit=400)) == whole[0]
        assert pids(engine)[0] != victim
        await engine.close()

    run(test())


def test_a_replica_that_is_stuck_is_killed_and_replaced() -> None:
    async def test() -> None:
        engine = ReplicaEngine(decoder(), CONFIG, replace(TWO, silence=60.0), say=lambda _: None)
        before = await both(engine)
        victim = pids(engine)[1]
        os.kill(victim, signal.SIGSTOP)
        for replica in engine._replicas:  # now that it has started, which takes longer
            replica._config = replace(TWO, silence=0.5)
        turns = [asyncio.ensure_future(engine.generate(request(f"at {n}"))) for n in range(2)]
        assert (await turns[0]).ids == before[0].ids
        with pytest.raises(EngineError, match=r"said nothing for 0\.5 s, asked to draw"):
            await turns[1]
        await until(lambda: not group(victim))
        engine._replicas[1]._config = TWO
        assert (await engine.generate(request("at 1"))).ids == before[1].ids
        await engine.close()

    run(test())


def test_a_replica_that_cannot_begin_says_why() -> None:
    async def test() -> None:
        engine = ReplicaEngine(decoder(), CONFIG, TWO, say=lambda _: None)
        engine._file.write_bytes(b"no weights")
        with pytest.raises(EngineError, match=r"(?s)ended with status 1; it said last:.*SafetensorError"):
            await engine.generate(request("at 0"))
        await engine.close()

    run(test())


def test_an_engine_whose_decisions_cannot_be_written_down_draws_no_more() -> None:
    def full(_: bytes) -> None:
        raise OSError(28, "No space left on device")

    async def test() -> None:
        engine = ReplicaEngine(decoder(), CONFIG, ReplicasConfig(count=1), sink=full)
        for _ in range(2):
            with pytest.raises(EngineError, match="No space left on device"):
                await engine.generate(request("at 0"))
        await engine.close()

    run(test())


def test_a_replay_whose_replica_dies_is_not_gone_on_with() -> None:
    async def test() -> None:
        engine = ReplicaEngine(decoder(), CONFIG, TWO, replay=[], say=lambda _: None)
        await both(engine)
        os.kill(pids(engine)[0], signal.SIGKILL)
        await until(lambda: engine._replicas[0]._worker is not None and not engine._replicas[0]._worker.alive)
        with pytest.raises(ReplayError, match="replay from the beginning"):
            await engine.generate(request("at 0"))
        await engine.close()

    run(test())


# The end

PARENT = """
import asyncio
from decoders import tiny
from engines.plain import telling
from palaestra.trainers.engines.engine import Sampling, TurnRequest
from palaestra.trainers.engines.replicas import ReplicaEngine, ReplicasConfig

async def main():
    engine = ReplicaEngine(telling(tiny(head_dim=16, context=512), seed=0), None, ReplicasConfig(count=2))
    def draw(name, limit):
        sampling = Sampling(limit=limit, stop=())
        return asyncio.ensure_future(engine.generate(TurnRequest(trajectory=name, context=(1,), sampling=sampling)))
    await asyncio.gather(draw("one", 1), draw("other", 1))
    draw("long", 500)
    await asyncio.sleep(0.01)
    print(*(replica._worker.pid for replica in engine._replicas), engine._scratch.name, flush=True)
    await asyncio.sleep(1000)

asyncio.run(main())
"""


def test_replicas_and_their_files_go_when_the_process_that_has_them_is_killed() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True, env=environment) as parent:
        assert parent.stdout is not None
        one, other, folder = parent.stdout.readline().split()
        assert group(int(one))
        assert group(int(other))
        assert Path(folder).exists()
        parent.kill()
    run(until_gone(int(one), int(other), Path(folder)))


async def until_gone(one: int, other: int, folder: Path) -> None:
    await until(lambda: not (group(one) or group(other) or folder.exists()))


@pytest.mark.parametrize("when", ["starting", "drawing"])
def test_closing_leaves_nothing_behind(when: str) -> None:
    async def test() -> None:
        engine = ReplicaEngine(decoder(), CONFIG, TWO)
        if when == "drawing":
            await both(engine)
        turn = asyncio.ensure_future(engine.generate(request("t", limit=500)))
        await until(lambda: len(pids(engine)) == 2)
        processes = pids(engine)
        await engine.close()
        with pytest.raises(EngineError, match="closed"):
            await turn
        assert not any(map(group, processes))
        assert not Path(engine._scratch.name).exists()

    run(test())


def test_an_engine_that_was_never_asked_starts_nothing() -> None:
    async def test() -> None:
        engine = ReplicaEngine(decoder(), CONFIG, TWO)
        await engine.update_weights(decoder(1).state_dict(), 1)
        await engine.pause()
        assert pids(engine) == []
        assert engine.stats().capacity == 2 * CONFIG.capacity
        await engine.close()
        await engine.close()

    run(test())


# Refusals: by the process that asked, before any other is started


@pytest.mark.parametrize(
    ("config", "head", "error", "says"),
    [
        (replace(CONFIG, capacity=100), False, ValueError, "raise the capacity"),
        (replace(CONFIG, device="meta", invariant=True), False, ConfigError, "kernels for processors alone"),
        (CONFIG, True, ValueError, "the model has none"),
    ],
)
def test_what_no_engine_can_be_made_of_is_refused_at_once(
    config: NativeConfig, head: bool, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        ReplicaEngine(decoder(), config, TWO, temperature_head=head)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"count": 0}, r"replicas\.count=0: give at least 1"),
        ({"threads": 0}, r"replicas\.threads=0: give at least 1"),
        ({"silence": 0.0}, r"replicas\.silence=0: it must be above 0"),
        ({"devices": ("cuda:0",)}, "name a device for each replica"),
        ({"devices": ("cuda:0", "cpu")}, "name devices of one kind"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        ReplicasConfig(**settings)

"""Turns that are asked for again: what is drawn in the end, how long it takes, and when it is given up."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.errors import ConfigError, EngineError, WaitError
from palaestra.trainers.engines.engine import Completion, Sampling, TurnRequest
from palaestra.trainers.rollouts.faults import Backoff, PatientEngine
from palaestra.trainers.rollouts.watch import RolloutStatus
from pooled.clock import run
from rollouts.engine import ScriptedEngine
from rollouts.library import babbling, codec, jobs

(JOB,) = jobs(1)


def _request(*, limit: int = 5, timeout: float | None = None) -> TurnRequest:
    return TurnRequest(
        trajectory=JOB.trajectory,
        context=(1, 2, 3),
        sampling=Sampling(limit=limit, stop=(codec().end_id,)),
        noise=JOB.noise,
        timeout=timeout,
    )


def _patient(engine: ScriptedEngine, backoff: Backoff, told: list[float] | None = None) -> PatientEngine:
    loop = asyncio.get_running_loop()
    turns = [] if told is None else told
    return PatientEngine(
        engine, backoff, flights={JOB.trajectory: RolloutStatus(JOB)}, told=lambda: turns.append(loop.time())
    )


@given(st.integers(0, 3))
def test_a_turn_that_failed_is_drawn_as_if_it_had_not(fails: int) -> None:
    async def drawn(fails: int) -> tuple[Completion, int, list[float]]:
        engine, told = ScriptedEngine(babbling()), list[float]()
        engine.fails = Counter({JOB.trajectory: fails})
        patient = _patient(engine, Backoff(retries=3, first=1.0), told)
        return await patient.generate(_request()), patient.faults, told

    (without, none, at_once), (with_faults, faults, later) = run(drawn(0)), run(drawn(fails))
    assert with_faults == without
    assert (none, faults) == (0, fails)
    assert (at_once, later) == ([0.0], [2.0**fails - 1])  # pauses of 1, 2 and 4 s


def test_an_engine_that_stays_dead_is_given_up_with_who_asked_how_often_and_why() -> None:
    async def main() -> str:
        engine = ScriptedEngine(babbling())
        engine.fails = Counter({JOB.trajectory: 99})
        patient = _patient(engine, Backoff(retries=3, first=1.0))
        with pytest.raises(EngineError) as raised:
            await patient.generate(_request())
        assert engine.fails[JOB.trajectory] == 99 - 4
        assert asyncio.get_running_loop().time() == 7
        return str(raised.value)

    said = run(main())
    assert said.startswith("the engine did not recover: t0 asked for a turn 4 times over at least 7 s")
    assert "fell off the bus" in said
    assert "Of 1 trajectories under way, 1 waits for" in said


def test_an_engine_that_hangs_costs_its_time_out_at_every_try_and_no_more() -> None:
    async def main() -> None:
        async def never(request: TurnRequest) -> None:
            del request
            await asyncio.sleep(10**9)

        patient = _patient(ScriptedEngine(babbling(), pace=never), Backoff(retries=2, first=1.0))
        with pytest.raises(WaitError, match="asked for a turn 3 times"):
            await patient.generate(_request(timeout=10.0))
        assert asyncio.get_running_loop().time() == 3 * 10 + 1 + 2

    run(main())


def test_a_request_that_breaks_a_rule_is_not_asked_again() -> None:
    async def main() -> None:
        patient = _patient(ScriptedEngine(babbling()), Backoff(retries=3, first=1.0))
        with pytest.raises(ValueError, match="a token at least"):
            await patient.generate(_request(limit=0))
        assert asyncio.get_running_loop().time() == 0

    run(main())


def test_everything_else_is_the_engines_own_affair() -> None:
    async def main() -> None:
        engine = ScriptedEngine(babbling(), context=77)
        patient = _patient(engine, Backoff(retries=0, first=0.0))
        assert patient.context == 77
        await patient.generate(_request())
        assert patient.stats() == engine.stats()
        assert engine.resident
        patient.release(JOB.trajectory)
        assert not engine.resident
        await patient.update_weights({}, 5)
        assert engine.version == 5
        await patient.pause()
        turn = asyncio.create_task(patient.generate(_request()))
        await asyncio.sleep(100)
        assert not turn.done()
        await patient.resume()
        await turn
        await patient.close()
        with pytest.raises(EngineError, match="the engine is closed"):
            await patient.generate(_request())

    run(main())


@given(st.integers(0, 12), st.floats(0, 100), st.floats(0, 100))
def test_pauses_double_up_to_the_longest(retries: int, first: float, longest: float) -> None:
    pauses = list(Backoff(retries=retries, first=first, longest=longest).pauses())
    assert len(pauses) == retries
    assert all(pause == min(longest, first * 2.0**number) for number, pause in enumerate(pauses))


@pytest.mark.parametrize("name", ["retries", "first", "longest"])
def test_a_negative_backoff_is_refused_by_name(name: str) -> None:
    settings = {"retries": 1, "first": 1, "longest": 1, name: -1}
    with pytest.raises(ConfigError, match=f"^{name} = -1: it must be at least 0"):
        Backoff(**settings)

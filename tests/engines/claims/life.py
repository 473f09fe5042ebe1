"""Turns given up, pauses, counts and the end."""

import asyncio
import dataclasses

import pytest

from engines.bench import Bench, weights
from engines.claims.claim import begun_turn, claim, plainly
from palaestra.errors import EngineError, WaitError


@claim
async def a_turn_that_takes_too_long_is_given_up(bench: Bench) -> None:
    engine = await bench.engine()
    await engine.pause()
    late = bench.request(bench.ids(8, "late"), plainly(40), trajectory="late", timeout=0.05)
    with pytest.raises(WaitError, match=r"late.*0\.05"):
        await engine.generate(late)
    await engine.resume()
    soon = dataclasses.replace(late, timeout=bench.harness.patience)
    bench.agrees(soon, await engine.generate(soon))
    assert (engine.stats().running, engine.stats().waiting) == (0, 0)


@claim
async def cancelling_a_turn_frees_its_place(bench: Bench) -> None:
    engine = await bench.engine()
    request, begun = await begun_turn(bench, engine)
    begun.cancel()
    with pytest.raises(asyncio.CancelledError):
        await begun
    again = dataclasses.replace(request, sampling=plainly(5))
    bench.agrees(again, await engine.generate(again))
    assert (engine.stats().running, engine.stats().waiting) == (0, 0)


@claim
async def pause_draws_nothing_and_resume_goes_on(bench: Bench) -> None:
    engine = await bench.engine()
    request, begun = await begun_turn(bench, engine)
    await engine.pause()
    drawn = engine.stats().drawn
    with pytest.raises(WaitError):
        await engine.generate(bench.request(bench.ids(4, "held up"), plainly(1), timeout=0.1))
    assert engine.stats().drawn == drawn
    assert not begun.done()
    await engine.pause()
    await engine.resume()
    bench.agrees(request, await begun)
    await engine.resume()


@claim
async def weights_can_change_while_it_is_paused(bench: Bench) -> None:
    engine = await bench.engine()
    _, begun = await begun_turn(bench, engine)
    old = bench.current
    await engine.pause()
    drawn = engine.stats().drawn
    asked = bench.request(bench.ids(30, "asked in the pause"), plainly(6))
    waiting = asyncio.ensure_future(engine.generate(asked))
    await engine.update_weights(weights(bench.second), bench.version())
    assert engine.stats().drawn == drawn
    await engine.resume()
    bench.agrees(asked, await waiting, bench.second)
    assert set((await begun).versions) == {old, bench.current}


@claim
async def stats_tell_what_went_on(bench: Bench) -> None:
    engine = await bench.engine()
    before = engine.stats()
    requests = [bench.request(bench.ids(20 + n, f"stats {n}"), plainly(9)) for n in range(5)]
    await asyncio.gather(*map(engine.generate, requests))
    after = engine.stats()
    read = sum(len(request.context) for request in requests)
    assert after.drawn - before.drawn == 45
    assert (after.prefilled - before.prefilled) + (after.reused - before.reused) == read
    assert after.busy_seconds > before.busy_seconds
    assert (after.running, after.waiting, after.version) == (0, 0, bench.current)
    assert 0 <= after.resident <= after.capacity


@claim
async def closing_ends_turns_under_way_with_an_error(bench: Bench) -> None:
    engine = await bench.engine()
    request, begun = await begun_turn(bench, engine)
    await engine.close()
    with pytest.raises(EngineError, match="closed"):
        await begun
    with pytest.raises(EngineError, match="closed"):
        await engine.generate(request)
    with pytest.raises(EngineError, match="closed"):
        await engine.update_weights(weights(bench.first), bench.version())
    await engine.close()
    await bench.discard()

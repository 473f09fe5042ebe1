"""Trajectories beside and after each other, and what of them is held."""

import asyncio
import dataclasses
import math

import pytest

from engines.bench import Bench
from engines.claims.claim import claim, plainly


@claim
async def many_trajectories_at_once_are_each_their_own(bench: Bench) -> None:
    engine = await bench.engine()
    requests = [
        bench.request(bench.ids(1 + 7 * n % 90, n), plainly(1 + 5 * n % 31, temperature=0.8 + n % 3 / 10))
        for n in range(48)
    ]
    for request, turn in zip(requests, await asyncio.gather(*map(engine.generate, requests)), strict=True):
        assert len(turn.ids) == request.sampling.limit
        bench.agrees(request, turn)


@claim
async def more_trajectories_than_fit_are_all_served(bench: Bench) -> None:
    engine = await bench.engine()
    await engine.generate(bench.request(bench.ids(4, "so that it knows its capacity"), plainly(1)))
    length = engine.context // 2
    count = max(4, math.ceil(1.5 * engine.stats().capacity / length))
    requests = [bench.request(bench.ids(length, n), plainly(6)) for n in range(count)]
    turns = await asyncio.gather(*map(engine.generate, requests))
    assert all(len(turn.ids) == 6 for turn in turns)
    for n in (0, count // 2, count - 1):
        bench.agrees(requests[n], turns[n])
    first, *_ = requests
    more = bench.request(
        (*first.context, *turns[0].ids, *bench.ids(4, "more")), plainly(6), trajectory=first.trajectory
    )
    bench.agrees(more, await engine.generate(more))


@claim
async def a_continuation_is_what_a_fresh_trajectory_would_be(bench: Bench) -> None:
    engine = await bench.engine()
    context = bench.ids(engine.context // 2, "begin")
    before = engine.stats()
    turn = await engine.generate(bench.request(context, plainly(10), trajectory="going"))
    grown = (*context, *turn.ids, *bench.ids(13, "answer"))
    continued = bench.request(grown, plainly(10), trajectory="going", noise="continued")
    turn = await engine.generate(continued)
    bench.agrees(continued, turn)
    reused = engine.stats().reused - before.reused
    assert len(context) // 2 <= reused < len(grown)
    assert engine.stats().prefilled - before.prefilled < len(context) + len(grown)
    fresh = await engine.generate(bench.request(grown, plainly(10), noise="continued"))
    assert fresh.ids == turn.ids
    assert fresh.logprobs == pytest.approx(turn.logprobs, abs=bench.harness.tolerance)


@claim
async def a_rewritten_context_is_read_anew_from_where_it_differs(bench: Bench) -> None:
    engine = await bench.engine()
    context = bench.ids(engine.context // 2, "to be rewritten")
    await engine.generate(bench.request(context, plainly(6), trajectory="rewritten"))
    for place in (0, len(context) // 2, len(context) - 1):
        other = (context[place] + 1) % bench.harness.shape.vocabulary
        changed = (*context[:place], other, *context[place + 1 :])
        request = bench.request(changed, plainly(6), trajectory="rewritten")
        bench.agrees(request, await engine.generate(request))
    shorter = bench.request(context[:40], plainly(6), trajectory="rewritten")
    bench.agrees(shorter, await engine.generate(shorter))
    await engine.generate(bench.request(context, plainly(6), trajectory="rewritten"))
    same = bench.request(context, plainly(6), trajectory="rewritten")
    bench.agrees(same, await engine.generate(same))


@claim
async def a_request_that_breaks_a_rule_draws_nothing(bench: Bench) -> None:
    engine = await bench.engine()
    good = bench.request(bench.ids(8, "good"), plainly(4))
    before = engine.stats().drawn
    for context in ((), bench.ids(engine.context, "full"), (bench.harness.shape.vocabulary,), (-1,)):
        with pytest.raises(ValueError, match=r"context|token"):
            await engine.generate(dataclasses.replace(good, context=context))
    broken = {
        "limit": (plainly(0), plainly(-1)),
        "temperature": (plainly(4, temperature=0.0), plainly(4, temperature=-1.0)),
        "top_p": (plainly(4, top_p=0.0), plainly(4, top_p=1.1)),
    }
    for field, samplings in broken.items():
        for sampling in samplings:
            with pytest.raises(ValueError, match=field):
                await engine.generate(dataclasses.replace(good, sampling=sampling))
    assert engine.stats().drawn == before
    bench.agrees(good, await engine.generate(good))


@claim
async def a_trajectory_has_one_turn_at_a_time(bench: Bench) -> None:
    engine = await bench.engine()
    request = bench.request(bench.ids(8, "one"), plainly(40), trajectory="one")
    first = asyncio.ensure_future(engine.generate(request))
    await asyncio.sleep(0)
    with pytest.raises(ValueError, match="one"):
        await engine.generate(request)
    assert len((await first).ids) == 40
    assert (await engine.generate(request)).ids == (await first).ids


@claim
async def a_released_trajectory_can_come_again(bench: Bench) -> None:
    engine = await bench.engine()
    engine.release("never heard of")
    request = bench.request(bench.ids(50, "released"), plainly(8), trajectory="released")
    turn = await engine.generate(request)
    engine.release("released")
    engine.release("released")
    assert (await engine.generate(request)).ids == turn.ids


@claim
async def what_is_held_for_a_trajectory_goes_when_it_is_released(bench: Bench) -> None:
    if not bench.harness.tells_resident:
        return
    engine = await bench.engine()
    turn = await engine.generate(bench.request(bench.ids(50, "held"), plainly(8), trajectory="held"))
    held = engine.stats().resident
    engine.release("held")
    assert held - engine.stats().resident >= 50 + len(turn.ids) - 1

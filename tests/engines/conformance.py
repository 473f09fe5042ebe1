"""What every engine must keep, a claim a function; `CLAIMS` runs over each engine in `tests/trainers/engines`."""

import asyncio
import dataclasses
import math
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import pytest
import torch

from engines.bench import Bench, until, weights
from engines.plain import expected, expected_across
from palaestra.errors import CheckpointError, EngineError, WaitError
from palaestra.trainers.engines.engine import Completion, Engine, InFlight, Request, Sampling
from palaestra.trainers.engines.noise import noise_at

Claim: TypeAlias = Callable[[Bench], Awaitable[None]]
CLAIMS: list[Claim] = []


def claim(function: Claim) -> Claim:
    """List a claim."""
    CLAIMS.append(function)
    return function


def _open(limit: int, *, temperature: float = 1.0, top_p: float = 1.0) -> Sampling:
    return Sampling(limit=limit, stop=(), temperature=temperature, top_p=top_p)


@claim
async def a_turn_is_aligned_and_within_its_limit(bench: Bench) -> None:
    engine = await bench.engine()
    turn = await engine.generate(bench.request(bench.ids(20, "context"), _open(12)))
    assert len(turn.ids) == len(turn.logprobs) == len(turn.versions) == 12
    assert turn.stop == "length"
    assert all(0 <= token < bench.harness.shape.vocabulary for token in turn.ids)
    assert all(logprob <= 0.0 and math.isfinite(logprob) for logprob in turn.logprobs)
    assert set(turn.versions) == {bench.current}


@claim
async def a_stop_token_ends_the_turn_and_is_part_of_it(bench: Bench) -> None:
    engine = await bench.engine()
    stop = tuple(range(0, bench.harness.shape.vocabulary, 4))
    requests = [bench.request(bench.ids(9, n), Sampling(limit=200, stop=stop)) for n in range(8)]
    for turn in await asyncio.gather(*map(engine.generate, requests)):
        assert turn.stop == "end"
        assert [token in stop for token in turn.ids] == [False] * (len(turn.ids) - 1) + [True]


@claim
async def a_stop_token_at_the_limit_is_an_end(bench: Bench) -> None:
    engine = await bench.engine()
    every = tuple(range(bench.harness.shape.vocabulary))
    turn = await engine.generate(bench.request(bench.ids(5, "c"), Sampling(limit=1, stop=every)))
    assert (len(turn.ids), turn.stop) == (1, "end")


@claim
async def a_turn_ends_where_the_context_does(bench: Bench) -> None:
    engine = await bench.engine()
    request = bench.request(bench.ids(engine.context - 3, "long"), _open(10))
    turn = await engine.generate(request)
    assert (len(turn.ids), turn.stop) == (3, "length")
    bench.agrees(request, turn)


@claim
async def log_probabilities_are_those_at_the_temperature(bench: Bench) -> None:
    engine = await bench.engine()
    requests = [
        bench.request(bench.ids(30, str(temperature)), _open(20, temperature=temperature))
        for temperature in (0.6, 1.0, 1.7)
    ]
    for request, turn in zip(requests, await asyncio.gather(*map(engine.generate, requests)), strict=True):
        bench.agrees(request, turn)


@claim
async def top_p_draws_from_the_nucleus_renormalised(bench: Bench) -> None:
    engine = await bench.engine()
    requests = [
        bench.request(bench.ids(30, f"{temperature} {top_p}"), _open(20, temperature=temperature, top_p=top_p))
        for temperature in (0.7, 1.3)
        for top_p in (0.3, 0.9)
    ]
    for request, turn in zip(requests, await asyncio.gather(*map(engine.generate, requests)), strict=True):
        bench.agrees(request, turn)


@claim
async def the_smallest_nucleus_is_the_likeliest_token(bench: Bench) -> None:
    engine = await bench.engine()
    request = bench.request(bench.ids(30, "greedy"), _open(20, top_p=1e-6))
    turn = await engine.generate(request)
    logp_TV = expected(bench.first, request.context, turn.ids, _open(1))
    assert torch.equal(torch.tensor(turn.ids), logp_TV.argmax(-1))
    assert turn.logprobs == pytest.approx([0.0] * 20, abs=1e-6)


@claim
async def tokens_are_drawn_as_often_as_their_probabilities_say(bench: Bench) -> None:
    engine = await bench.engine()
    context, draws = bench.ids(10, "often"), 256
    requests = [bench.request(context, _open(1)) for _ in range(draws)]
    turns = await asyncio.gather(*map(engine.generate, requests))
    logp_V = expected(bench.first, context, (0,), _open(1))[0]
    entropy = -(logp_V.exp() * logp_V).sum()
    deviation = ((logp_V.exp() * logp_V.square()).sum() - entropy.square()).sqrt()
    mean = torch.tensor([turn.logprobs[0] for turn in turns]).mean()
    assert (mean + entropy).abs() < 5 * deviation / draws**0.5
    by_half = torch.tensor([turn.ids[0] < len(logp_V) // 2 for turn in turns]).float().mean()
    half = logp_V.exp()[: len(logp_V) // 2].sum()
    assert (by_half - half).abs() < 5 * (half * (1 - half) / draws).sqrt()


@claim
async def noise_decides_what_is_drawn_whatever_is_drawn_beside_it(bench: Bench) -> None:
    engine = await bench.engine()
    context = bench.ids(17, "same")
    alone = await engine.generate(bench.request(context, _open(16), noise="n"))
    others = [bench.request(bench.ids(11 + n, n), _open(16)) for n in range(6)]
    again = bench.request(context, _open(16), noise="n")
    other_noise = bench.request(context, _open(16), noise="m")
    turns = await asyncio.gather(*map(engine.generate, (*others, again, other_noise)))
    assert turns[-2].ids == alone.ids
    assert turns[-1].ids != alone.ids


@claim
async def a_token_is_drawn_by_inversion_with_the_noise_of_its_place(bench: Bench) -> None:
    if not bench.harness.takes_noise:
        return
    engine = await bench.engine()
    for top_p in (1.0, 0.8):
        request = bench.request(bench.ids(21, "inversion"), _open(24, temperature=0.9, top_p=top_p))
        turn = await engine.generate(request)
        below_TV = expected(bench.first, request.context, turn.ids, request.sampling).exp().double().cumsum(-1)
        for place, token in enumerate(turn.ids):
            noise = noise_at(request.noise, len(request.context) + place)
            above = below_TV[place, token].item()
            below = below_TV[place, token - 1].item() if token else 0.0
            assert below - 1e-4 <= noise <= above + 1e-4


@claim
async def many_trajectories_at_once_are_each_their_own(bench: Bench) -> None:
    engine = await bench.engine()
    requests = [
        bench.request(bench.ids(1 + 7 * n % 90, n), _open(1 + 5 * n % 31, temperature=0.8 + n % 3 / 10))
        for n in range(48)
    ]
    for request, turn in zip(requests, await asyncio.gather(*map(engine.generate, requests)), strict=True):
        assert len(turn.ids) == request.sampling.limit
        bench.agrees(request, turn)


@claim
async def more_trajectories_than_fit_are_all_served(bench: Bench) -> None:
    engine = await bench.engine()
    await engine.generate(bench.request(bench.ids(4, "so that it knows its capacity"), _open(1)))
    length = engine.context // 2
    count = max(4, math.ceil(1.5 * engine.stats().capacity / length))
    requests = [bench.request(bench.ids(length, n), _open(6)) for n in range(count)]
    turns = await asyncio.gather(*map(engine.generate, requests))
    assert all(len(turn.ids) == 6 for turn in turns)
    for n in (0, count // 2, count - 1):
        bench.agrees(requests[n], turns[n])
    first, *_ = requests
    more = bench.request((*first.context, *turns[0].ids, *bench.ids(4, "more")), _open(6), trajectory=first.trajectory)
    bench.agrees(more, await engine.generate(more))


@claim
async def a_continuation_is_what_a_fresh_trajectory_would_be(bench: Bench) -> None:
    engine = await bench.engine()
    context = bench.ids(engine.context // 2, "begin")
    before = engine.stats()
    turn = await engine.generate(bench.request(context, _open(10), trajectory="going"))
    grown = (*context, *turn.ids, *bench.ids(13, "answer"))
    continued = bench.request(grown, _open(10), trajectory="going", noise="continued")
    turn = await engine.generate(continued)
    bench.agrees(continued, turn)
    reused = engine.stats().reused - before.reused
    assert len(context) // 2 <= reused < len(grown)
    assert engine.stats().prefilled - before.prefilled < len(context) + len(grown)
    fresh = await engine.generate(bench.request(grown, _open(10), noise="continued"))
    assert fresh.ids == turn.ids
    assert fresh.logprobs == pytest.approx(turn.logprobs, abs=bench.harness.tolerance)


@claim
async def a_rewritten_context_is_read_anew_from_where_it_differs(bench: Bench) -> None:
    engine = await bench.engine()
    context = bench.ids(engine.context // 2, "to be rewritten")
    await engine.generate(bench.request(context, _open(6), trajectory="rewritten"))
    for place in (0, len(context) // 2, len(context) - 1):
        other = (context[place] + 1) % bench.harness.shape.vocabulary
        changed = (*context[:place], other, *context[place + 1 :])
        request = bench.request(changed, _open(6), trajectory="rewritten")
        bench.agrees(request, await engine.generate(request))
    shorter = bench.request(context[:40], _open(6), trajectory="rewritten")
    bench.agrees(shorter, await engine.generate(shorter))
    await engine.generate(bench.request(context, _open(6), trajectory="rewritten"))
    same = bench.request(context, _open(6), trajectory="rewritten")
    bench.agrees(same, await engine.generate(same))


@claim
async def a_request_that_breaks_a_rule_draws_nothing(bench: Bench) -> None:
    engine = await bench.engine()
    good = bench.request(bench.ids(8, "good"), _open(4))
    before = engine.stats().drawn
    for context in ((), bench.ids(engine.context, "full"), (bench.harness.shape.vocabulary,), (-1,)):
        with pytest.raises(ValueError, match=r"context|token"):
            await engine.generate(dataclasses.replace(good, context=context))
    broken = {
        "limit": (_open(0), _open(-1)),
        "temperature": (_open(4, temperature=0.0), _open(4, temperature=-1.0)),
        "top_p": (_open(4, top_p=0.0), _open(4, top_p=1.1)),
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
    request = bench.request(bench.ids(8, "one"), _open(40), trajectory="one")
    first = asyncio.ensure_future(engine.generate(request))
    await asyncio.sleep(0)
    with pytest.raises(ValueError, match="one"):
        await engine.generate(request)
    assert len((await first).ids) == 40
    assert (await engine.generate(request)).ids == (await first).ids


@claim
async def a_turn_that_takes_too_long_is_given_up(bench: Bench) -> None:
    engine = await bench.engine()
    await engine.pause()
    late = bench.request(bench.ids(8, "late"), _open(40), trajectory="late", timeout=0.05)
    with pytest.raises(WaitError, match=r"late.*0\.05"):
        await engine.generate(late)
    await engine.resume()
    soon = dataclasses.replace(late, timeout=bench.harness.patience)
    bench.agrees(soon, await engine.generate(soon))
    assert (engine.stats().running, engine.stats().waiting) == (0, 0)


@claim
async def cancelling_a_turn_frees_its_place(bench: Bench) -> None:
    engine = await bench.engine()
    request, begun = await _begun(bench, engine)
    begun.cancel()
    with pytest.raises(asyncio.CancelledError):
        await begun
    again = dataclasses.replace(request, sampling=_open(5))
    bench.agrees(again, await engine.generate(again))
    assert (engine.stats().running, engine.stats().waiting) == (0, 0)


@claim
async def a_released_trajectory_can_come_again(bench: Bench) -> None:
    engine = await bench.engine()
    engine.release("never heard of")
    request = bench.request(bench.ids(50, "released"), _open(8), trajectory="released")
    turn = await engine.generate(request)
    engine.release("released")
    engine.release("released")
    assert (await engine.generate(request)).ids == turn.ids


@claim
async def what_is_held_for_a_trajectory_goes_when_it_is_released(bench: Bench) -> None:
    if not bench.harness.tells_resident:
        return
    engine = await bench.engine()
    before = engine.stats().resident
    turn = await engine.generate(bench.request(bench.ids(50, "held"), _open(8), trajectory="held"))
    assert engine.stats().resident >= before + 50 + len(turn.ids) - 1
    engine.release("held")
    assert engine.stats().resident <= before


@claim
async def new_weights_draw_what_comes_after_them(bench: Bench) -> None:
    engine = await bench.engine()
    context = bench.ids(engine.context // 2, "across")
    old = bench.request(context, _open(8), trajectory="across", noise="across")
    turn = await engine.generate(old)
    bench.agrees(old, turn)
    await engine.update_weights(weights(bench.second), bench.version())
    assert engine.stats().version == bench.current
    again = await engine.generate(old)
    assert set(again.versions) == {bench.current}
    bench.agrees(old, again, bench.second)
    grown = bench.request((*context, *turn.ids, *bench.ids(5, "more")), _open(8), trajectory="across")
    bench.agrees(grown, await engine.generate(grown), bench.second)


@claim
async def the_same_weights_again_change_nothing_but_the_version(bench: Bench) -> None:
    engine = await bench.engine()
    request = bench.request(bench.ids(40, "same weights"), _open(10))
    before = await engine.generate(request)
    await engine.update_weights(weights(bench.first), bench.version())
    after = await engine.generate(request)
    assert (after.ids, set(after.versions)) == (before.ids, {bench.current})


@claim
async def weights_are_taken_as_they_are_when_they_are_given(bench: Bench) -> None:
    engine = await bench.engine()
    given = {name: weight.clone() for name, weight in weights(bench.second).items()}
    await engine.update_weights(given, bench.version())
    for weight in given.values():
        weight.zero_()
    request = bench.request(bench.ids(20, "taken"), _open(6))
    bench.agrees(request, await engine.generate(request), bench.second)


@claim
async def a_tied_output_layer_may_be_left_out(bench: Bench) -> None:
    if not bench.harness.shape.tied:
        return
    engine = await bench.engine()
    without = {name: weight for name, weight in weights(bench.second).items() if name != "lm_head.weight"}
    await engine.update_weights(without, bench.version())
    request = bench.request(bench.ids(20, "tied"), _open(6))
    bench.agrees(request, await engine.generate(request), bench.second)


@claim
async def keep_lets_turns_under_way_go_on_over_what_stood(bench: Bench) -> None:
    request, turn, switch = await _updated_on_the_way(bench, "keep")
    logp_TV = expected_across(bench.first, bench.second, request.context, turn.ids, switch, request.sampling)
    bench.near(turn, logp_TV)


@claim
async def retract_lets_turns_under_way_go_on_over_keys_made_anew(bench: Bench) -> None:
    request, turn, switch = await _updated_on_the_way(bench, "retract")
    old = expected(bench.first, request.context, turn.ids, request.sampling)
    new = expected(bench.second, request.context, turn.ids, request.sampling)
    bench.near(turn, torch.cat((old[:switch], new[switch:])))


@claim
async def wait_finishes_turns_under_way_under_the_old_version(bench: Bench) -> None:
    engine = await bench.engine()
    request, begun = await _begun(bench, engine)
    old = bench.current
    update = asyncio.ensure_future(engine.update_weights(weights(bench.second), bench.version(), in_flight="wait"))
    turn = await begun
    await update
    assert set(turn.versions) == {old}
    bench.agrees(request, turn)
    after = bench.request(bench.ids(20, "after"), _open(6))
    bench.agrees(after, await engine.generate(after), bench.second)


@claim
async def weights_that_do_not_fit_leave_the_old_ones_in_force(bench: Bench) -> None:
    engine = await bench.engine()
    sound = dict(weights(bench.second))
    name = "model.layers.0.self_attn.q_proj.weight"
    missing = {key: weight for key, weight in sound.items() if key != name}
    extra = {**sound, "model.layers.99.mlp.up_proj.weight": torch.zeros(2, 2)}
    misshapen = {**sound, name: sound[name][:-1]}
    request = bench.request(bench.ids(20, "stays"), _open(8))
    before = await engine.generate(request)
    for wrong, named in ((missing, "q_proj"), (extra, r"layers\.99"), (misshapen, "q_proj")):
        with pytest.raises(CheckpointError, match=named):
            await engine.update_weights(wrong, bench.current + 1)
    after = await engine.generate(request)
    assert (after.ids, set(after.versions)) == (before.ids, {bench.current})
    bench.agrees(request, after)


@claim
async def pause_draws_nothing_and_resume_goes_on(bench: Bench) -> None:
    engine = await bench.engine()
    request, begun = await _begun(bench, engine)
    await engine.pause()
    drawn = engine.stats().drawn
    with pytest.raises(WaitError):
        await engine.generate(bench.request(bench.ids(4, "held up"), _open(1), timeout=0.1))
    assert engine.stats().drawn == drawn
    assert not begun.done()
    await engine.pause()
    await engine.resume()
    bench.agrees(request, await begun)
    await engine.resume()


@claim
async def weights_can_change_while_it_is_paused(bench: Bench) -> None:
    engine = await bench.engine()
    _, begun = await _begun(bench, engine)
    old = bench.current
    await engine.pause()
    drawn = engine.stats().drawn
    asked = bench.request(bench.ids(30, "asked in the pause"), _open(6))
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
    requests = [bench.request(bench.ids(20 + n, f"stats {n}"), _open(9)) for n in range(5)]
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
    request, begun = await _begun(bench, engine)
    await engine.close()
    with pytest.raises(EngineError, match="closed"):
        await begun
    with pytest.raises(EngineError, match="closed"):
        await engine.generate(request)
    with pytest.raises(EngineError, match="closed"):
        await engine.update_weights(weights(bench.first), bench.version())
    await engine.close()
    await bench.discard()


async def _begun(bench: Bench, engine: Engine) -> tuple[Request, asyncio.Future[Completion]]:
    """A long turn of which something has been drawn."""
    request = bench.request(bench.ids(40, "begun"), _open(min(240, engine.context - 60)))
    before = engine.stats().drawn
    begun = asyncio.ensure_future(engine.generate(request))
    await until(lambda: engine.stats().drawn > before + 3)
    return request, begun


async def _updated_on_the_way(bench: Bench, in_flight: InFlight) -> tuple[Request, Completion, int]:
    """A turn that the second decoder's weights reached, and the place in it from which they drew."""
    engine = await bench.engine()
    request, begun = await _begun(bench, engine)
    old = bench.current
    await engine.update_weights(weights(bench.second), bench.version(), in_flight=in_flight)
    turn = await begun
    switch = turn.versions.index(bench.current)
    assert 0 < switch < len(turn.versions)
    assert turn.versions == (old,) * switch + (bench.current,) * (len(turn.versions) - switch)
    after = bench.request(bench.ids(20, "after"), _open(6))
    bench.agrees(after, await engine.generate(after), bench.second)
    return request, turn, switch

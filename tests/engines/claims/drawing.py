"""What is drawn."""

import asyncio
import math

import pytest
import torch

from engines.bench import Bench
from engines.claims.claim import claim, plainly
from engines.plain import expected
from palaestra.trainers.engines.engine import Sampling
from palaestra.trainers.engines.noise import noise_at


@claim
async def a_turn_is_aligned_and_within_its_limit(bench: Bench) -> None:
    engine = await bench.engine()
    turn = await engine.generate(bench.request(bench.ids(20, "context"), plainly(12)))
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
    request = bench.request(bench.ids(engine.context - 3, "long"), plainly(10))
    turn = await engine.generate(request)
    assert (len(turn.ids), turn.stop) == (3, "length")
    bench.agrees(request, turn)


@claim
async def log_probabilities_are_those_at_the_temperature(bench: Bench) -> None:
    engine = await bench.engine()
    requests = [
        bench.request(bench.ids(30, str(temperature)), plainly(20, temperature=temperature))
        for temperature in (0.6, 1.0, 1.7)
    ]
    for request, turn in zip(requests, await asyncio.gather(*map(engine.generate, requests)), strict=True):
        bench.agrees(request, turn)


@claim
async def top_p_draws_from_the_nucleus_renormalised(bench: Bench) -> None:
    engine = await bench.engine()
    requests = [
        bench.request(bench.ids(30, f"{temperature} {top_p}"), plainly(20, temperature=temperature, top_p=top_p))
        for temperature in (0.7, 1.3)
        for top_p in (0.3, 0.9)
    ]
    for request, turn in zip(requests, await asyncio.gather(*map(engine.generate, requests)), strict=True):
        bench.agrees(request, turn)


@claim
async def the_smallest_nucleus_is_the_likeliest_token(bench: Bench) -> None:
    engine = await bench.engine()
    request = bench.request(bench.ids(30, "greedy"), plainly(20, top_p=1e-6))
    turn = await engine.generate(request)
    logp_TV = expected(bench.first, request.context, turn.ids, plainly(1))
    assert torch.equal(torch.tensor(turn.ids), logp_TV.argmax(-1))
    assert turn.logprobs == pytest.approx([0.0] * 20, abs=1e-6)


@claim
async def tokens_are_drawn_as_often_as_their_probabilities_say(bench: Bench) -> None:
    engine = await bench.engine()
    context, draws = bench.ids(10, "often"), 256
    requests = [bench.request(context, plainly(1)) for _ in range(draws)]
    turns = await asyncio.gather(*map(engine.generate, requests))
    logp_V = expected(bench.first, context, (0,), plainly(1))[0]
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
    alone = await engine.generate(bench.request(context, plainly(16), noise="n"))
    others = [bench.request(bench.ids(11 + n, n), plainly(16)) for n in range(6)]
    again = bench.request(context, plainly(16), noise="n")
    other_noise = bench.request(context, plainly(16), noise="m")
    turns = await asyncio.gather(*map(engine.generate, (*others, again, other_noise)))
    assert turns[-2].ids == alone.ids
    assert turns[-1].ids != alone.ids


@claim
async def a_token_is_drawn_by_inversion_with_the_noise_of_its_place(bench: Bench) -> None:
    if not bench.harness.takes_noise:
        return
    engine = await bench.engine()
    for top_p in (1.0, 0.8):
        request = bench.request(bench.ids(21, "inversion"), plainly(24, temperature=0.9, top_p=top_p))
        turn = await engine.generate(request)
        below_TV = expected(bench.first, request.context, turn.ids, request.sampling).exp().double().cumsum(-1)
        for place, token in enumerate(turn.ids):
            noise = noise_at(request.noise, len(request.context) + place)
            above = below_TV[place, token].item()
            below = below_TV[place, token - 1].item() if token else 0.0
            assert below - 1e-4 <= noise <= above + 1e-4

"""New weights."""

import asyncio

import pytest
import torch

from engines.bench import Bench, weights
from engines.claims.claim import begun_turn, claim, plainly
from engines.plain import expected, expected_across
from palaestra.errors import CheckpointError
from palaestra.trainers.engines.engine import Completion, InFlight, TurnRequest


@claim
async def new_weights_draw_what_comes_after_them(bench: Bench) -> None:
    engine = await bench.engine()
    context = bench.ids(engine.context // 2, "across")
    old = bench.request(context, plainly(8), trajectory="across", noise="across")
    turn = await engine.generate(old)
    bench.agrees(old, turn)
    await engine.update_weights(weights(bench.second), bench.version())
    assert engine.stats().version == bench.current
    again = await engine.generate(old)
    assert set(again.versions) == {bench.current}
    bench.agrees(old, again, bench.second)
    grown = bench.request((*context, *turn.ids, *bench.ids(5, "more")), plainly(8), trajectory="across")
    bench.agrees(grown, await engine.generate(grown), bench.second)


@claim
async def the_same_weights_again_change_nothing_but_the_version(bench: Bench) -> None:
    engine = await bench.engine()
    request = bench.request(bench.ids(40, "same weights"), plainly(10))
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
    request = bench.request(bench.ids(20, "taken"), plainly(6))
    bench.agrees(request, await engine.generate(request), bench.second)


@claim
async def a_tied_output_layer_may_be_left_out(bench: Bench) -> None:
    if not bench.harness.shape.tied:
        return
    engine = await bench.engine()
    without = {name: weight for name, weight in weights(bench.second).items() if name != "lm_head.weight"}
    await engine.update_weights(without, bench.version())
    request = bench.request(bench.ids(20, "tied"), plainly(6))
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
    request, begun = await begun_turn(bench, engine)
    old = bench.current
    update = asyncio.ensure_future(engine.update_weights(weights(bench.second), bench.version(), in_flight="wait"))
    turn = await begun
    await update
    assert set(turn.versions) == {old}
    bench.agrees(request, turn)
    after = bench.request(bench.ids(20, "after"), plainly(6))
    bench.agrees(after, await engine.generate(after), bench.second)


@claim
async def weights_that_do_not_fit_leave_the_old_ones_in_force(bench: Bench) -> None:
    engine = await bench.engine()
    sound = dict(weights(bench.second))
    name = "model.layers.0.self_attn.q_proj.weight"
    missing = {key: weight for key, weight in sound.items() if key != name}
    extra = {**sound, "model.layers.99.mlp.up_proj.weight": torch.zeros(2, 2)}
    misshapen = {**sound, name: sound[name][:-1]}
    request = bench.request(bench.ids(20, "stays"), plainly(8))
    before = await engine.generate(request)
    for wrong, named in ((missing, "q_proj"), (extra, r"layers\.99"), (misshapen, "q_proj")):
        with pytest.raises(CheckpointError, match=named):
            await engine.update_weights(wrong, bench.current + 1)
    after = await engine.generate(request)
    assert (after.ids, set(after.versions)) == (before.ids, {bench.current})
    bench.agrees(request, after)


async def _updated_on_the_way(bench: Bench, in_flight: InFlight) -> tuple[TurnRequest, Completion, int]:
    """A turn that the second decoder's weights reached, and the place in it from which they drew."""
    while True:
        engine = await bench.engine()
        request, begun = await begun_turn(bench, engine)
        old = bench.current
        await engine.update_weights(weights(bench.second), bench.version(), in_flight=in_flight)
        turn = await begun
        if bench.current in turn.versions:
            break
        # It had ended by the time that the weights arrived.
    switch = turn.versions.index(bench.current)
    assert turn.versions == (old,) * switch + (bench.current,) * (len(turn.versions) - switch)
    assert switch > 0
    after = bench.request(bench.ids(20, "after"), plainly(6))
    bench.agrees(after, await engine.generate(after), bench.second)
    return request, turn, switch

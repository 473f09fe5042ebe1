"""The engine in the invariant mode: what a trajectory is does not depend on what is drawn beside it, or before."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch

from decoders import tiny
from engines.plain import expected, telling
from palaestra.errors import ConfigError
from palaestra.trainers.device import Precision
from palaestra.trainers.engines.engine import Sampling, TurnRequest
from palaestra.trainers.engines.native import NativeConfig, NativeEngine
from palaestra.trainers.engines.noise import noise_key
from palaestra.trainers.flow import KeyValueFormat
from palaestra.trainers.model.decoder import Decoder
from unified import Played, draw_together, draw_turns, prompt

SHAPE = tiny(hidden=37, head_dim=16, mlp=51)
PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16", "fp8", "fp8-block")
FORMATS: tuple[KeyValueFormat, ...] = ("states", "fp8")
in_both_formats = pytest.mark.parametrize("held", FORMATS)
"""Of keys and values."""


@cache
def decoder() -> Decoder:
    return telling(SHAPE, seed=0)


def config(precision: Precision = "fp32", **changes: Any) -> NativeConfig:
    return replace(NativeConfig(rows=64, capacity=40_000, invariant=True), precision=precision, **changes)


@cache
def alone(precision: Precision, held: KeyValueFormat = "states") -> dict[int, Played]:
    """Each trajectory in an engine of its own."""
    found: dict[int, Played] = {}
    for number in range(8):
        found |= draw_together(decoder(), [number], config(precision, keys_and_values=held))
    return found


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@in_both_formats
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("together", [7, 64])
def test_a_trajectory_is_the_same_in_any_batch(precision: Precision, together: int, held: KeyValueFormat) -> None:
    drawn = draw_together(decoder(), range(together), config(precision, keys_and_values=held))
    for number in range(7):
        assert drawn[number] == alone(precision, held)[number]


@in_both_formats
@pytest.mark.parametrize("prefill", [1, 3, 16, 1000])
def test_contexts_may_be_taken_in_by_chunks_of_any_size(prefill: int, held: KeyValueFormat) -> None:
    drawn = draw_together(decoder(), range(8), config(prefill=prefill, keys_and_values=held))
    assert drawn == alone("fp32", held)


@in_both_formats
@pytest.mark.parametrize("rows", [1, 3])
def test_turns_that_wait_for_a_row_and_lose_their_memory_draw_the_same(rows: int, held: KeyValueFormat) -> None:
    """The capacity is that of one context: what is held for a trajectory goes as soon as another needs the room."""
    drawn = draw_together(decoder(), range(8), config(rows=rows, capacity=SHAPE.context, keys_and_values=held))
    assert drawn == alone("fp32", held)


@in_both_formats
def test_guesses_change_nothing(held: KeyValueFormat) -> None:
    assert draw_together(decoder(), range(8), config(drafts=16, keys_and_values=held)) == alone("fp32", held)


@in_both_formats
def test_a_prefix_of_another_trajectory_gives_what_it_would_have_given_itself(held: KeyValueFormat) -> None:
    async def play() -> tuple[list[Played], int]:
        engine = NativeEngine(decoder(), config(keys_and_values=held))
        drawn = [await draw_turns(engine, number) for number in range(8)]
        reused = engine.stats().reused
        await engine.close()
        return drawn, reused

    drawn, reused = asyncio.run(play())
    assert reused > 40, "no prefix was found"
    assert dict(enumerate(drawn)) == alone("fp32", held)


@in_both_formats
def test_a_turn_that_is_given_up_and_asked_for_again_or_worked_out_anew_draws_the_same(held: KeyValueFormat) -> None:
    request = TurnRequest(
        trajectory="t2", context=tuple(prompt(2)), sampling=Sampling(limit=30, stop=()), noise=noise_key(2)
    )

    async def whole() -> Any:
        engine = NativeEngine(decoder(), config(keys_and_values=held))
        drawn = await engine.generate(request)
        await engine.close()
        return drawn

    async def broken() -> tuple[Any, int]:
        engine = NativeEngine(decoder(), config(prefill=8, keys_and_values=held))
        others = [asyncio.ensure_future(draw_turns(engine, number)) for number in (4, 5)]
        first = asyncio.ensure_future(engine.generate(request))
        for _ in range(12):
            await asyncio.sleep(0)
        first.cancel()
        again = asyncio.ensure_future(engine.generate(request))
        for _ in range(15):
            await asyncio.sleep(0)
        # The same weights again: keys and values of turns under way are dropped and worked out anew.
        await engine.update_weights(dict(decoder().state_dict()), 1, in_flight="retract")
        under_way = engine.stats().running
        drawn = await again
        await asyncio.gather(*others)
        await engine.close()
        return drawn, under_way

    (found, under_way), wanted = asyncio.run(broken()), asyncio.run(whole())
    assert under_way
    assert 0 in found.versions
    assert 1 in found.versions, "the turn was over before the update"
    assert (found.ids, found.logprobs) == (wanted.ids, wanted.logprobs)


def test_threads_change_nothing(threads: None) -> None:
    for count in (1, 2):
        torch.set_num_threads(count)
        assert draw_together(decoder(), range(8), config()) == alone("fp32")


def test_nuclei_are_drawn_from_row_by_row() -> None:
    async def play(numbers: range) -> list[Any]:
        engine = NativeEngine(decoder(), config())
        asked = [
            engine.generate(
                TurnRequest(
                    trajectory=f"t{number}",
                    context=tuple(prompt(number)),
                    sampling=Sampling(limit=12, stop=(), temperature=1.3, top_p=0.7 + 0.1 * (number % 3)),
                    noise=noise_key(number),
                )
            )
            for number in numbers
        ]
        found = await asyncio.gather(*asked)
        await engine.close()
        return found

    assert asyncio.run(play(range(9)))[4] == asyncio.run(play(range(4, 5)))[0]


def test_log_probabilities_are_those_of_the_plain_implementation() -> None:
    for number, played in alone("fp32").items():
        context, (first, *_) = prompt(number), played.spans
        ids = played.ids[first.start : first.end]
        logp_TV = expected(decoder(), context, ids, Sampling(limit=1, stop=()))
        wanted_T = logp_TV.gather(-1, torch.tensor(ids)[:, None])[:, 0]
        assert played.logprobs[first.start : first.end] == pytest.approx(wanted_T.tolist(), abs=1e-4)


@pytest.mark.parametrize("together", [1, 8])
def test_new_weights_are_those_that_are_drawn_with(together: int) -> None:
    new = telling(SHAPE, seed=3)

    async def play() -> list[Played]:
        engine = NativeEngine(decoder(), config())
        await engine.update_weights(dict(new.state_dict()), 1)
        drawn = await asyncio.gather(*(draw_turns(engine, number) for number in range(together)))
        await engine.close()
        return list(drawn)

    assert asyncio.run(play()) == list(draw_together(new, range(together), config()).values())


@pytest.mark.parametrize(
    ("shape", "changes", "says"),
    [
        ({"head_dim": 8}, {}, r"head_dim=8: the mode's attention has code for heads of 16, 32"),
        ({"head_dim": 16}, {"device": "meta"}, r'device=.meta.: .* write device = "cpu"'),
    ],
)
def test_what_the_mode_cannot_compute_is_refused(shape: dict[str, Any], changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        NativeEngine(telling(tiny(**shape), seed=0), config(**changes))

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import torch

from decoders import tiny
from engines.plain import expected, telling
from palaestra.errors import EngineError, WaitError
from palaestra.trainers.engines.engine import Completion, Sampling, TurnRequest
from palaestra.trainers.engines.native import NativeConfig, NativeEngine
from palaestra.trainers.engines.noise import noise_key

SHAPE = tiny(vocabulary=24, hidden=16, heads=2, kv_heads=1, head_dim=8, mlp=16, context=96)
OLD, NEW = (telling(SHAPE, seed=seed) for seed in range(2))


def asked(
    trajectory: str, *, limit: int = 6, timeout: float | None = None, context: tuple[int, ...] = ()
) -> TurnRequest:
    return TurnRequest(
        trajectory=trajectory,
        context=context or (1, 2, 3, 4, 5),
        sampling=Sampling(limit=limit, stop=()),
        noise=noise_key(trajectory),
        timeout=timeout,
    )


def played(play: Callable[[NativeEngine], Awaitable[None]], **config: Any) -> None:
    async def whole() -> None:
        settings: dict[str, Any] = {"rows": 2, "capacity": 400, **config}
        engine = NativeEngine(OLD, NativeConfig(**settings))
        async with asyncio.timeout(60):
            await play(engine)
            await engine.close()

    asyncio.run(whole())


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0)


def begun(engine: NativeEngine, request: TurnRequest) -> "asyncio.Future[Completion]":
    return asyncio.ensure_future(engine.generate(request))


def break_pass(engine: NativeEngine) -> None:
    """Let the next forward pass fail as one does that runs out of memory."""

    def fail(*_: object) -> None:
        raise MemoryError("no room for 3 GiB")

    engine._core._model.model.layers[1].register_forward_pre_hook(fail)


# Faults


def test_a_pass_that_fails_is_told_to_everybody_who_waits_and_whoever_comes_later() -> None:
    async def play(engine: NativeEngine) -> None:
        turns = [begun(engine, asked(f"t{i}", limit=50)) for i in range(4)]
        await until(lambda: engine.stats().drawn > 6)
        await engine.pause()
        update: asyncio.Future[None] = asyncio.ensure_future(
            engine.update_weights(NEW.state_dict(), 1, in_flight="wait")
        )
        await asyncio.sleep(0)
        break_pass(engine)
        await engine.resume()
        faults = [
            *await asyncio.gather(*turns, return_exceptions=True),
            *await asyncio.gather(update, return_exceptions=True),
        ]
        with pytest.raises(EngineError) as late:
            await engine.generate(asked("late"))
        for fault in (*faults, late.value):
            assert isinstance(fault, EngineError)
            assert str(fault).startswith("the engine failed in step ")
            assert str(fault).endswith("(MemoryError: no room for 3 GiB); make a new one")
            assert isinstance(fault.__cause__, MemoryError)
        assert len({id(fault) for fault in faults}) == 5
        assert (engine.stats().running, engine.stats().waiting) == (0, 0)
        engine.release("t0")
        await engine.close()
        with pytest.raises(EngineError, match="MemoryError"):
            await engine.update_weights(NEW.state_dict(), 1)

    played(play)


def test_weights_that_are_no_numbers_end_turns_and_sound_ones_bring_the_engine_back() -> None:
    async def play(engine: NativeEngine) -> None:
        broken = {name: torch.full_like(weight, torch.nan) for name, weight in NEW.state_dict().items()}
        turns = [begun(engine, asked(f"t{i}", limit=60)) for i in range(4)]
        await until(lambda: engine.stats().drawn > 6)
        await engine.update_weights(broken, 3)
        for fault in await asyncio.gather(*turns, return_exceptions=True):
            assert isinstance(fault, EngineError)
            assert "version 3 of the weights" in str(fault)
        await engine.update_weights(NEW.state_dict(), 4)
        turn = await engine.generate(asked("t0"))
        logp_TV = expected(NEW, asked("t0").context, turn.ids, asked("t0").sampling)
        wanted_T = logp_TV[range(len(turn.ids)), list(turn.ids)]
        torch.testing.assert_close(torch.tensor(turn.logprobs), wanted_T, atol=1e-4, rtol=0)

    played(play)


def test_closing_tells_those_who_wait_for_weights() -> None:
    async def play(engine: NativeEngine) -> None:
        turn = begun(engine, asked("t", limit=80))
        await until(lambda: engine.stats().drawn > 2)
        await engine.pause()
        updates = [
            asyncio.ensure_future(engine.update_weights(NEW.state_dict(), 1 + i, in_flight="wait")) for i in range(2)
        ]
        await asyncio.sleep(0)
        await engine.close()
        for fault in await asyncio.gather(turn, *updates, return_exceptions=True):
            assert isinstance(fault, EngineError)
            assert "closed" in str(fault)
        assert engine.stats().resident == 0

    played(play)


def test_an_engine_that_was_never_used_can_be_closed() -> None:
    async def play(engine: NativeEngine) -> None:
        engine.release("nobody")
        await engine.close()

    played(play)


# Giving up


def test_a_turn_that_waits_for_a_row_and_is_cancelled_is_never_drawn() -> None:
    async def play(engine: NativeEngine) -> None:
        first, second = begun(engine, asked("first", limit=40)), begun(engine, asked("second", limit=7))
        await until(lambda: engine.stats().running == 1)
        assert engine.stats().waiting == 1
        second.cancel()
        await asyncio.sleep(0)
        assert engine.stats().waiting == 0
        assert len((await first).ids) == 40
        assert engine.stats().drawn == 40

    played(play, rows=1)


def test_a_cancelled_turn_leaves_its_row_to_the_next_in_line() -> None:
    async def play(engine: NativeEngine) -> None:
        first, second = begun(engine, asked("first", limit=80)), begun(engine, asked("second", limit=7))
        await until(lambda: engine.stats().drawn > 3)
        first.cancel()
        assert len((await second).ids) == 7
        assert engine.stats().drawn < 80
        assert engine.stats().resident == 11  # of the second; of the first nothing is kept

    played(play, rows=1)


def test_a_turn_that_waits_too_long_in_line_is_given_up_by_name() -> None:
    async def play(engine: NativeEngine) -> None:
        first = begun(engine, asked("first", limit=80))
        await until(lambda: engine.stats().drawn > 3)
        await engine.pause()
        with pytest.raises(WaitError, match=r"trajectory 'second' waited 0\.01 s for its turn at place 5"):
            await engine.generate(asked("second", timeout=0.01))
        await engine.resume()
        assert len((await first).ids) == 80

    played(play, rows=1)


def test_a_time_out_that_is_not_reached_changes_nothing() -> None:
    async def play(engine: NativeEngine) -> None:
        assert (await engine.generate(asked("t", timeout=50))).ids == (await engine.generate(asked("t"))).ids

    played(play)


def test_an_update_that_is_cancelled_is_not_taken() -> None:
    async def play(engine: NativeEngine) -> None:
        turn = begun(engine, asked("t", limit=60))
        await until(lambda: engine.stats().drawn > 2)
        update = asyncio.ensure_future(engine.update_weights(NEW.state_dict(), 1, in_flight="wait"))
        await until(lambda: engine.stats().drawn > 4)
        update.cancel()
        assert set((await turn).versions) == {0}
        assert set((await engine.generate(asked("u"))).versions) == {0}

    played(play)


# Order


def test_updates_are_taken_in_the_order_in_which_they_came() -> None:
    async def play(engine: NativeEngine) -> None:
        turn = begun(engine, asked("t", limit=60))
        await until(lambda: engine.stats().drawn > 2)
        await asyncio.gather(
            engine.update_weights(NEW.state_dict(), 1),
            engine.update_weights(OLD.state_dict(), 2, in_flight="wait"),
            engine.update_weights(NEW.state_dict(), 3),
        )
        assert sorted(set((await turn).versions)) == [0, 1]
        assert engine.stats().version == 3

    played(play)


def test_while_weights_wait_newcomers_wait_too() -> None:
    async def play(engine: NativeEngine) -> None:
        first = begun(engine, asked("first", limit=40))
        await until(lambda: engine.stats().drawn > 2)
        update = asyncio.ensure_future(engine.update_weights(NEW.state_dict(), 1, in_flight="wait"))
        await asyncio.sleep(0)
        second = begun(engine, asked("second"))
        assert set((await second).versions) == {1}
        assert set((await first).versions) == {0}
        await update

    played(play)


def test_a_place_that_comes_free_is_taken_in_the_next_step() -> None:
    async def play(engine: NativeEngine) -> None:
        lengths = {f"t{i}": 3 + 5 * (i % 4) for i in range(9)}
        turns = await asyncio.gather(*(engine.generate(asked(name, limit=n)) for name, n in lengths.items()))
        assert [len(turn.ids) for turn in turns] == list(lengths.values())
        # Every step but those of the last ones draws two tokens.
        assert engine._step <= sum(lengths.values()) // 2 + max(lengths.values()) // 2 + 1

    played(play)


def test_what_a_trajectory_draws_does_not_depend_on_its_neighbours() -> None:
    async def play(engine: NativeEngine) -> None:
        alone = await engine.generate(asked("t", limit=30))
        engine.release("t")
        crowd = (begun(engine, asked(f"u{i}", limit=10 + i, context=tuple(range(3 + i)))) for i in range(7))
        beside, *_ = await asyncio.gather(engine.generate(asked("t", limit=30)), *crowd)
        assert beside.ids == alone.ids

    played(play, rows=5)


def test_working_in_half_precision_draws_much_the_same_distribution() -> None:
    async def play(engine: NativeEngine) -> None:
        turn = await engine.generate(asked("t", limit=40))
        logp_TV = expected(OLD, asked("t").context, turn.ids, asked("t").sampling)
        wanted_T = logp_TV[range(len(turn.ids)), list(turn.ids)]
        difference_T = (torch.tensor(turn.logprobs) - wanted_T).abs()
        assert 1e-6 < difference_T.max() < 0.2

    played(play, precision="bf16")


@pytest.mark.parametrize("config", [{"rows": 0}, {"capacity": 0}, {"prefill": 0}])
def test_a_size_that_no_engine_has_is_refused(config: dict[str, Any]) -> None:
    ((name, value),) = config.items()
    with pytest.raises(ValueError, match=f"{name}={value}"):
        NativeConfig(**config)

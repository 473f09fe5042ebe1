"""Guesses of tokens: what is drawn with them is what is drawn without them."""

from collections.abc import Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from decoders import tiny
from engines.plain import telling
from palaestra.trainers.engines.engine import Completion, Sampling, TurnRequest
from palaestra.trainers.engines.native.config import NativeConfig
from palaestra.trainers.engines.native.core import Core
from palaestra.trainers.engines.native.drafts import Drafter
from palaestra.trainers.engines.noise import noise_key


def guess_slowly(tokens: Sequence[int], most: int) -> list[int]:
    """What followed the last three tokens when they last stood together, found by going through all places."""
    for end in range(len(tokens) - 1, 2, -1):
        if list(tokens[end - 3 : end]) == list(tokens[-3:]):
            return list(tokens[end : end + most])
    return []


@given(st.lists(st.integers(0, 2), min_size=1, max_size=60), st.integers(0, 5), st.data())
def test_a_guess_is_what_followed_the_last_tokens_the_last_time(
    tokens: list[int], most: int, data: st.DataObject
) -> None:
    drafter, end = Drafter(), 1
    while end <= len(tokens):
        assert drafter.guess(tokens[:end], most) == guess_slowly(tokens[:end], most)
        end += data.draw(st.integers(1, 9))


CASES = {
    "torch": {"head_dim": 4, "invariant": False},
    "kernels": {"head_dim": 16, "invariant": False},
    "invariant": {"head_dim": 16, "invariant": True},
}


def play(case: str, *, drafts: int, temperature: float) -> tuple[dict[str, list[Completion]], Core]:
    """Turns of several trajectories that repeat themselves, with new weights on the way."""
    shape = tiny(
        vocabulary=24, hidden=16, heads=2, kv_heads=1, head_dim=int(CASES[case]["head_dim"]), mlp=16, context=300
    )
    config = NativeConfig(rows=3, capacity=3000, prefill=40, drafts=drafts, invariant=bool(CASES[case]["invariant"]))
    core = Core(telling(shape, seed=0), config)
    contexts = {f"t{i}": [(3 * j + i) % (5 + i) for j in range(20 + 9 * i)] for i in range(5)}
    done: dict[str, list[Completion]] = {name: [] for name in contexts}
    step = 0
    for turn in range(3):
        waiting = [
            TurnRequest(
                trajectory=name,
                context=tuple(context),
                sampling=Sampling(
                    limit=30 + turn, stop=(7,) if turn else (), temperature=temperature, top_p=0.9 if turn == 2 else 1.0
                ),
                noise=noise_key(name),
            )
            for name, context in contexts.items()
        ]
        while waiting or core.running:
            for _ in range(core.room(waiting)):
                core.admit(waiting.pop(0))
            for one in core.step():
                assert isinstance(one.result, Completion)
                name = one.drawing.request.trajectory
                done[name].append(one.result)
                contexts[name] += [*one.result.ids, 1, 2]
            step += 1
        core.update(telling(shape, seed=turn + 1).state_dict(), turn + 1, "keep" if turn else "retract")
    return done, core


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("temperature", [0.02, 1.0])
@pytest.mark.parametrize("drafts", [3, 12])
def test_turns_are_the_same_with_guesses(case: str, temperature: float, drafts: int) -> None:
    plain, without = play(case, drafts=0, temperature=temperature)
    guessed, core = play(case, drafts=drafts, temperature=temperature)
    assert without.counts.guessed == without.counts.accepted == 0
    assert core.counts.drawn == without.counts.drawn
    assert 0 < core.counts.accepted < core.counts.guessed
    if temperature < 1:  # turns that repeat themselves are guessed well
        assert core.counts.accepted > core.counts.drawn / 4
    for name, turns in plain.items():
        for one, other in zip(turns, guessed[name], strict=True):
            assert (one.ids, one.versions, one.stop) == (other.ids, other.versions, other.stop)
            if case == "invariant":
                assert one.logprobs == other.logprobs
            torch.testing.assert_close(torch.tensor(one.logprobs), torch.tensor(other.logprobs), atol=1e-4, rtol=0)


def test_a_step_guesses_no_more_than_it_is_told() -> None:
    _, core = play("kernels", drafts=1, temperature=0.02)
    assert core.counts.guessed > 0
    steps: list[int] = []
    core = Core(telling(tiny(vocabulary=24, head_dim=16, context=300), seed=0), NativeConfig(rows=4, drafts=7))
    for i in range(4):
        core.admit(
            TurnRequest(
                trajectory=str(i),
                context=(1, 2, 3) * 9,
                sampling=Sampling(limit=20, stop=()),
                noise=noise_key(i),
            )
        )
    while core.running:
        before = core.counts.guessed
        core.step()
        steps.append(core.counts.guessed - before)
    assert 0 < max(steps) <= 7


@pytest.mark.parametrize("drafts", [-1, -7])
def test_fewer_guesses_than_none_are_refused(drafts: int) -> None:
    with pytest.raises(ValueError, match=f"drafts={drafts}: give a number of tokens"):
        NativeConfig(drafts=drafts)

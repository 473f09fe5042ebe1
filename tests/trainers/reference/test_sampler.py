"""Axes: B rows, Q new tokens, V vocabulary.

Where rows share a batch, their floats may differ in the last bits from what they are alone (matrix products are blocked
by shape); that the tokens are nevertheless equal holds for the seeds here, since no draw falls within those bits.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from palaestra.seeding import Stream
from palaestra.tools import CHAT_FORMATS
from palaestra.trainers.codec import Codec, train_tokenizer
from palaestra.trainers.reference.policy import ModelShape, ReferencePolicy, new_model
from palaestra.trainers.reference.sampler import Sampler, SamplerRow

SHAPE = ModelShape(hidden=32, layers=2, heads=4, kv_heads=2, head_dim=8, mlp=32, context=512)
CAPACITY = 160
NEVER = -math.inf


@pytest.fixture(scope="module")
def sharp() -> ReferencePolicy:
    """Random weights, scaled up so that what a row reads decides what it writes."""
    form = CHAT_FORMATS.get("compact")
    tokenizer = train_tokenizer([["hello world"]], form, size=300)
    model = new_model(SHAPE, vocabulary=len(tokenizer), seed=3)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() == 2:
                weight.mul_(8)
    return ReferencePolicy(model=model.eval(), codec=Codec(tokenizer, form))


class Written:
    """All of a row's tokens, and of those that it sampled the log-probabilities."""

    def __init__(self, name: str) -> None:
        self.row = SamplerRow(noise=Stream.root("noise", name))
        self._given = Stream.root("given", name)
        self.ids: list[int] = []
        self.sampled: dict[int, float] = {}

    def give(self, count: int) -> None:
        ids = [self._given.below(250) for _ in range(count)]
        self.ids += ids
        self.row.pending += ids

    def take(self) -> None:
        for number, logprob in zip(self.row.drawn, self.row.logprobs, strict=True):
            self.sampled[len(self.ids)] = logprob
            self.ids.append(number)


def lengths(name: str, turns: int) -> list[int]:
    stream = Stream.root("lengths", name)
    return [stream.between(1, 17) for _ in range(turns)]


def write(
    policy: ReferencePolicy, names: Sequence[str | None], *, turns: int = 3, limit: int = 6, temperature: float = 1.0
) -> dict[str, Written]:
    """Let rows of the given names write; `None` leaves a row empty. What a row is given follows from its name alone."""
    sampler = Sampler(policy, rows=len(names), capacity=CAPACITY, temperature=temperature)
    written = {name: Written(name) for name in names if name is not None}
    for place, name in enumerate(names):
        sampler.rows[place] = None if name is None else written[name].row
    for turn in range(turns):
        for name, row in written.items():
            row.give(lengths(name, turns)[turn])
        sampler.turn(limit)
        for row in written.values():
            row.take()
    return written


@torch.no_grad()
def plain(policy: ReferencePolicy, ids: Sequence[int], temperature: float = 1.0) -> torch.Tensor:
    """Log-probabilities of each token but the first, by one forward pass of transformers' without a cache."""
    ids_T = torch.tensor(ids)
    logits_TV: torch.Tensor = policy.model(input_ids=ids_T[None], use_cache=False).logits[0] / temperature
    return logits_TV[:-1].log_softmax(-1).gather(-1, ids_T[1:, None])[:, 0]


@dataclass(frozen=True, kw_only=True)
class Rigged(ReferencePolicy):
    """A policy that has one distribution, whatever it reads. Its token 0 is the end token."""

    row: tuple[float, ...]

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        return torch.tensor(self.row).expand(len(hidden), -1)


def rigged(row: Sequence[float]) -> ReferencePolicy:
    form = CHAT_FORMATS.get("compact")
    tokenizer = train_tokenizer([["hello world"]], form, size=300)
    model = new_model(ModelShape(hidden=8, layers=1, heads=1, head_dim=8, mlp=8), vocabulary=len(tokenizer), seed=0)
    policy = Rigged(model=model.eval(), codec=Codec(tokenizer, form), row=tuple(row))
    assert policy.codec.end_id == 0
    return policy


def drawn(logits: Sequence[float], *, rows: int = 50, each: int = 80, temperature: float = 1.0) -> list[SamplerRow]:
    sampler = Sampler(rigged(logits), rows=rows, capacity=each + 1, temperature=temperature)
    found = [SamplerRow(noise=Stream.root("draw", place), pending=[0]) for place in range(rows)]
    sampler.rows[:] = found
    sampler.turn(each)
    return found


# Log-probabilities


@pytest.mark.parametrize("temperature", [1.0, 0.7, 1.5])
def test_log_probabilities_are_those_of_a_plain_forward_pass(sharp: ReferencePolicy, temperature: float) -> None:
    names = ["a", "b", None, "c", "d", "e", "f"]
    for row in write(sharp, names, temperature=temperature).values():
        expected = plain(sharp, row.ids, temperature)
        assert row.sampled
        for place, logprob in row.sampled.items():
            assert logprob == pytest.approx(expected[place - 1].item(), abs=1e-4)


def test_rows_differ_in_what_they_write_and_when_they_stop(sharp: ReferencePolicy) -> None:
    written = write(sharp, list("abcdefgh"), limit=40).values()  # else the tests here would show little
    assert len({tuple(row.ids) for row in written}) == 8
    assert len({len(row.sampled) for row in written}) > 2


@settings(max_examples=30)
@given(names=st.lists(st.sampled_from([*"abcdef", None]), min_size=1, max_size=7, unique=True))
def test_neighbours_and_the_place_in_the_batch_do_not_matter(sharp: ReferencePolicy, names: list[str | None]) -> None:
    for name, row in write(sharp, names, turns=2, limit=3).items():
        alone = write(sharp, [name], turns=2, limit=3)[name]
        assert row.ids == alone.ids
        assert list(row.sampled.values()) == pytest.approx(list(alone.sampled.values()), abs=1e-4)


def test_a_row_that_is_used_again_knows_nothing_of_the_episode_before(sharp: ReferencePolicy) -> None:
    sampler = Sampler(sharp, rows=3, capacity=CAPACITY)
    first, other, after = Written("long"), Written("other"), Written("after")
    sampler.rows[0], sampler.rows[2] = first.row, other.row
    first.give(60)
    other.give(5)
    sampler.turn(8)
    other.take()
    sampler.rows[0] = after.row
    other.give(20)
    after.give(9)
    sampler.turn(8)
    after.take()
    alone = Sampler(sharp, rows=1, capacity=CAPACITY)
    fresh = Written("after")
    alone.rows[0] = fresh.row
    fresh.give(9)
    alone.turn(8)
    fresh.take()
    assert after.ids == fresh.ids
    assert list(after.sampled.values()) == pytest.approx(list(fresh.sampled.values()), abs=1e-4)


def test_a_row_at_rest_is_not_disturbed_by_those_that_write_on(sharp: ReferencePolicy) -> None:
    sampler = Sampler(sharp, rows=2, capacity=CAPACITY)
    resting, busy = Written("resting"), Written("busy")
    sampler.rows[:] = [resting.row, busy.row]
    resting.give(7)
    busy.give(3)
    sampler.turn(2)
    for row in (resting, busy):
        row.take()
    resting.row.pending, held = [], resting.row.pending
    for _ in range(4):
        busy.give(11)
        sampler.turn(5)
        busy.take()
        assert (resting.row.drawn, resting.row.logprobs) == ([], [])
    resting.row.pending = held
    resting.give(4)
    sampler.turn(6)
    resting.take()
    expected = plain(sharp, resting.ids)
    for place, logprob in resting.sampled.items():
        assert logprob == pytest.approx(expected[place - 1].item(), abs=1e-4)


# Limits


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_a_turn_has_no_more_tokens_than_its_limit_and_ends_with_the_end_token(
    sharp: ReferencePolicy, limit: int
) -> None:
    end = sharp.codec.end_id
    for row in write(sharp, list("abcdefgh"), turns=1, limit=limit).values():
        own = [row.ids[place] for place in row.sampled]
        assert 1 <= len(own) <= limit
        assert end not in own[:-1]
        assert len(own) == limit or own[-1] == end


def test_a_turn_stops_after_the_end_token_and_not_before() -> None:
    (row,) = drawn([-3.0, 0.0], rows=1, each=300)
    stream = Stream.root("draw", 0)
    bound = 1 / (1 + math.exp(3))
    assert row.drawn == [1] * (len(row.drawn) - 1) + [0]
    noises = [stream.word() / 2**64 for _ in row.drawn]
    assert [noise < bound for noise in noises] == [number == 0 for number in row.drawn]


@pytest.mark.parametrize("given", [1, 150, 158, 159])
def test_a_row_is_never_longer_than_the_capacity(sharp: ReferencePolicy, given: int) -> None:
    sampler = Sampler(sharp, rows=2, capacity=CAPACITY)
    full, other = Written("full"), Written("other")
    sampler.rows[:] = [full.row, other.row]
    full.give(given)
    other.give(30)
    assert sampler.room(full.row) == CAPACITY - given
    sampler.turn(10)
    full.take()
    other.take()
    assert 1 <= len(full.sampled) <= min(10, CAPACITY - given)
    assert sampler.room(full.row) == CAPACITY - len(full.ids) >= 0
    for row in (full, other):
        expected = plain(sharp, row.ids)
        for place, logprob in row.sampled.items():
            assert logprob == pytest.approx(expected[place - 1].item(), abs=1e-4)


def test_a_batch_that_has_nothing_to_write_writes_nothing(sharp: ReferencePolicy) -> None:
    sampler = Sampler(sharp, rows=2, capacity=CAPACITY)
    sampler.rows[0] = row = SamplerRow(noise=Stream.root("idle"))
    sampler.turn(5)
    assert (row.drawn, row.length) == ([], 0)
    assert row.noise.save() == Stream.root("idle").save()


# Draws


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_draws_follow_the_softmax_at_the_temperature(temperature: float) -> None:
    logits = [0.0, 1.0, -1.0, 2.0, 0.5]
    rows = drawn([NEVER, *logits], temperature=temperature)
    p_V = (torch.tensor(logits) / temperature).softmax(-1)
    counts_V = torch.bincount(torch.tensor([number - 1 for row in rows for number in row.drawn]), minlength=5)
    n = int(counts_V.sum())
    assert n == 4000
    chi_square = ((counts_V - n * p_V) ** 2 / (n * p_V)).sum().item()
    assert chi_square < 18.47  # the 99.9th percentile at 4 degrees of freedom
    for row in rows:
        assert row.logprobs == pytest.approx([math.log(p_V[number - 1]) for number in row.drawn], abs=1e-6)


def test_a_draw_is_the_first_token_whose_cumulated_probability_passes_the_noise() -> None:
    (row,) = drawn([NEVER, *(math.log(p) for p in (0.125, 0.5, 0.25, 0.125))], rows=1, each=200)
    stream = Stream.root("draw", 0)
    below = [0.0, 0.125, 0.625, 0.875, 1.0]
    noises = [stream.word() / 2**64 for _ in range(200)]
    assert row.drawn == [next(i for i, passed in enumerate(below) if noise < passed) for noise in noises]


def test_a_token_without_probability_is_never_drawn() -> None:
    for row in drawn([NEVER, 0.0, NEVER, -200.0, 1.0, NEVER], rows=10):
        assert set(row.drawn) == {1, 4}


class Extreme(Stream):
    """Draws one and the same word."""

    def __init__(self, word: int) -> None:
        super().__init__(b"0" * 32)
        self._word = word

    def word(self) -> int:
        return self._word


@pytest.mark.parametrize(
    ("word", "drawn"),
    [
        (0, 1),
        (2**63, 2),
        (2**64 - 1, 2),
    ],
)
def test_even_the_least_and_the_greatest_noise_draw_a_token_that_has_probability(word: int, drawn: int) -> None:
    sampler = Sampler(rigged([NEVER, 0.0, 1.0, -200.0]), rows=1, capacity=10)
    sampler.rows[0] = row = SamplerRow(noise=Extreme(word), pending=[1])
    sampler.turn(1)
    assert row.drawn == [drawn]

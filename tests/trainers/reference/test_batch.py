from collections.abc import Sequence
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.seeding import Stream
from palaestra.tools import Mark
from palaestra.trainers.data.demonstration import demonstration, render_episode
from palaestra.trainers.data.order import epochs
from palaestra.trainers.reference.batch import Sample, by_length, pad_batch
from palaestra.trainers.reference.policy import ReferencePolicy
from palaestra.trajectory import Episode, Tokens
from palaestra.transcript import transcript_of


def tokens(sampled: Sequence[bool], *, first: int = 1) -> Tokens:
    count = len(sampled)
    return Tokens(
        ids=tuple(range(first, first + count)),
        sampled=tuple(sampled),
        logprobs=tuple(-(i + 1) / 8 if own else 0.0 for i, own in enumerate(sampled)),
        versions=(0,) * count,
    )


samples = st.builds(
    Sample,
    tokens=st.lists(st.booleans(), min_size=1, max_size=12).map(tokens),
    advantage=st.integers(-8, 8).map(float),
)


# Batches


@given(given=st.lists(samples, min_size=1, max_size=6))
def test_each_array_says_of_each_token_what_its_sample_says(given: list[Sample]) -> None:
    batch = pad_batch(given)
    assert batch.ids_BT.shape == batch.trained_BT.shape == batch.logprob_BT.shape
    assert batch.advantage_B.tolist() == [sample.advantage for sample in given]
    for row, sample in enumerate(given):
        for place, own in enumerate(sample.tokens.sampled):
            carries = own and place > 0
            if place >= batch.ids_BT.shape[1]:
                assert not own
                continue
            assert bool(batch.trained_BT[row, place]) == carries
            assert batch.logprob_BT[row, place].item() == (sample.tokens.logprobs[place] if carries else 0.0)
            if carries:
                assert batch.ids_BT[row, : place + 1].tolist() == list(sample.tokens.ids[: place + 1])


@given(given=st.lists(samples, min_size=1, max_size=6))
def test_what_is_not_sampled_and_the_first_token_carry_no_loss(given: list[Sample]) -> None:
    batch = pad_batch(given)
    assert not batch.trained_BT[:, 0].any()
    assert int(batch.trained_BT.sum()) == sum(sum(sample.tokens.sampled[1:]) for sample in given)
    assert (batch.logprob_BT[~batch.trained_BT] == 0).all()


@given(given=st.lists(samples, min_size=1, max_size=6))
def test_padding_is_zero_and_nothing_after_the_last_trained_token_is_kept(given: list[Sample]) -> None:
    batch = pad_batch(given)
    ends = [max((i + 1 for i, own in enumerate(s.tokens.sampled) if own), default=1) for s in given]
    assert batch.ids_BT.shape == (len(given), max(ends))
    for row, end in enumerate(ends):
        assert (batch.ids_BT[row, end:] == 0).all()
        assert not batch.trained_BT[row, end:].any()


def test_a_batch_of_two_is_laid_out_as_it_says() -> None:
    batch = pad_batch(
        [
            Sample(tokens=tokens([True, False, True, True, False]), advantage=0.5),
            Sample(tokens=tokens([False, True], first=11), advantage=-2.0),
        ]
    )
    assert batch.ids_BT.tolist() == [[1, 2, 3, 4], [11, 12, 0, 0]]
    assert batch.trained_BT.tolist() == [[False, False, True, True], [False, True, False, False]]
    assert batch.logprob_BT.tolist() == [[0, 0, -0.375, -0.5], [0, -0.25, 0, 0]]
    assert batch.advantage_B.tolist() == [0.5, -2.0]


# Demonstrations


def test_the_turns_of_a_demonstration_carry_loss_and_nothing_else_does(
    policy: ReferencePolicy, episodes: Sequence[Episode]
) -> None:
    codec = policy.codec
    for episode in episodes:
        shown = demonstration(transcript_of(episode), codec)
        rendering = codec.format.rendering()
        (segment,) = episode.segments
        given, own = rendering.opening(segment.prompt, episode.tools), list[str]()
        for turn in segment.turns:
            own += rendering.write_turn(turn.calls)
            given += rendering.following(turn.observation)
        written = [number for number, mine in zip(shown.ids, shown.sampled, strict=True) if mine]
        read = [number for number, mine in zip(shown.ids, shown.sampled, strict=True) if not mine]
        assert "".join(codec.decode(written)) == "".join(own)
        assert "".join(codec.decode(read)) == "".join(given)
        assert [p for p in codec.decode(read) if isinstance(p, Mark)] == [p for p in given if isinstance(p, Mark)]


def test_what_is_trained_in_a_batch_of_demonstrations_is_what_the_oracle_wrote(
    policy: ReferencePolicy, episodes: Sequence[Episode]
) -> None:
    shown = [demonstration(transcript_of(episode), policy.codec) for episode in episodes]
    batch = pad_batch([Sample(tokens=one) for one in shown])
    for row, episode in enumerate(episodes):
        rendering = policy.codec.format.rendering()
        rendering.opening(episode.segments[0].prompt, episode.tools)
        own = list[str]()
        for turn in episode.turns:
            own += rendering.write_turn(turn.calls)
            rendering.following(turn.observation)
        assert "".join(policy.codec.decode(batch.ids_BT[row][batch.trained_BT[row]].tolist())) == "".join(own)


def test_a_demonstration_is_what_its_rendering_says_in_order(
    policy: ReferencePolicy, episodes: Sequence[Episode]
) -> None:
    for episode in episodes:
        shown = demonstration(transcript_of(episode), policy.codec)
        assert list(shown.ids) == policy.codec.encode(render_episode(transcript_of(episode), policy.codec.format))
        assert len(shown.ids) == len(shown.sampled) == len(shown.logprobs)
        assert set(shown.logprobs) == {0.0}


def test_a_turn_is_trained_up_to_its_end_mark(policy: ReferencePolicy, episodes: Sequence[Episode]) -> None:
    for episode in episodes:
        shown = demonstration(transcript_of(episode), policy.codec)
        turns = len(list(episode.turns))
        ends = [own for number, own in zip(shown.ids, shown.sampled, strict=True) if number == policy.codec.end_id]
        assert sum(ends) == turns
        last = [i for i, own in enumerate(shown.sampled) if own and not (*shown.sampled, False)[i + 1]]
        assert [shown.ids[i] for i in last] == [policy.codec.end_id] * turns


# Micro-batches


@given(given=st.lists(samples, max_size=12), budget=st.integers(1, 40))
def test_micro_batches_hold_each_sample_once_and_keep_to_the_budget(given: list[Sample], budget: int) -> None:
    groups = list(by_length(given, tokens=budget))
    assert sorted(map(id, given)) == sorted(id(sample) for group in groups for sample in group)
    for group in groups:
        assert group
        assert len(group) == 1 or pad_batch(group).ids_BT.numel() <= budget
    lengths = [len(sample.tokens.ids) for group in groups for sample in group]
    assert lengths == sorted(lengths)


@given(given=st.lists(samples, min_size=1, max_size=12), budget=st.integers(1, 40))
def test_a_micro_batch_is_closed_only_when_the_next_sample_would_not_fit(given: list[Sample], budget: int) -> None:
    groups = list(by_length(given, tokens=budget))
    for group, following in pairwise(groups):
        assert (len(group) + 1) * len(following[0].tokens.ids) > budget


def test_no_samples_make_no_micro_batch() -> None:
    assert list(by_length([], tokens=10)) == []


# Epochs


@given(count=st.integers(1, 9), size=st.integers(1, 20), seed=st.integers(0, 5))
def test_each_place_is_dealt_once_before_any_comes_again(count: int, size: int, seed: int) -> None:
    hands = list(islice(epochs(count, size=size, stream=Stream.root(seed)), 9))
    assert all(len(hand) == size for hand in hands)
    dealt = [place for hand in hands for place in hand]
    for at in range(0, len(dealt) - count + 1, count):
        assert sorted(dealt[at : at + count]) == list(range(count))


@given(count=st.integers(1, 9), size=st.integers(1, 20), seed=st.integers(0, 5))
def test_the_deal_follows_from_the_stream(count: int, size: int, seed: int) -> None:
    first, second = (islice(epochs(count, size=size, stream=Stream.root(seed)), 5) for _ in range(2))
    assert list(first) == list(second)


def test_every_epoch_is_in_an_order_of_its_own() -> None:
    hands = list(islice(epochs(12, size=12, stream=Stream.root("deal")), 4))
    assert len({tuple(hand) for hand in hands}) == 4


@pytest.mark.parametrize("advantage", [0.0, -1.5])
def test_a_samples_advantage_stays_with_it(advantage: float) -> None:
    (group,) = by_length([Sample(tokens=tokens([False, True]), advantage=advantage)], tokens=10)
    assert pad_batch(group).advantage_B.tolist() == [advantage]

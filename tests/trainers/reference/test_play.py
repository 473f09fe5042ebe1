from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Any

import gymnasium as gym
import pytest
import torch

from palaestra.envs import ToolEnv
from palaestra.errors import InfrastructureError
from palaestra.protocols import Action
from palaestra.records import EndReason
from palaestra.seeding import Stream
from palaestra.trainers.codec import Codec
from palaestra.trainers.reference.batch import Sample, by_length, pad_batch
from palaestra.trainers.reference.learner import OptimiserConfig, ReferenceLearner
from palaestra.trainers.reference.play import ReferenceJob, RolloutConfig, play
from palaestra.trainers.reference.policy import ReferencePolicy
from palaestra.trainers.reference.sampler import Sampler
from palaestra.trajectory import Episode, Tokens

CONFIG = RolloutConfig(rows=16, context=1024, turn=14)
STOREFRONT_ID = "palaestra/Storefront-v0"


def jobs(tasks: Sequence[str], count: int, name: str = "job") -> list[ReferenceJob]:
    """New each time, for playing a job uses its noise up."""
    return [ReferenceJob(task=tasks[n % len(tasks)], seed=n % 7, noise=Stream.root(name, n)) for n in range(count)]


def tokens_of(episode: Episode) -> Tokens:
    (segment,) = episode.segments
    assert segment.tokens is not None
    return segment.tokens


def sampled(tokens: Tokens) -> list[int]:
    return [number for number, own in zip(tokens.ids, tokens.sampled, strict=True) if own]


def runs(tokens: Tokens) -> Iterator[tuple[bool, list[int]]]:
    """What was read and what was written, in turn."""
    for own, run in groupby(zip(tokens.sampled, tokens.ids, strict=True), lambda pair: pair[0]):
        yield own, [number for _, number in run]


def check_same(episode: Episode, before: Episode) -> None:
    """Equal but for the last bits of log-probabilities, which other neighbours change: matrix products are blocked by
    shape. No draw of these seeds falls within those bits, so the tokens are equal.
    """
    assert tokens_of(episode).ids == tokens_of(before).ids
    assert tokens_of(episode).sampled == tokens_of(before).sampled
    assert tokens_of(episode).logprobs == pytest.approx(tokens_of(before).logprobs, abs=1e-4)
    assert (episode.digest(), episode.end, episode.score) == (before.digest(), before.end, before.score)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> dict[int, list[int]]:
    """Every token that a sampler draws, as it is drawn, by the identity of the noise that drew it."""
    seen: dict[int, list[int]] = defaultdict(list)
    draw = Sampler._draw

    def watched(self: Sampler, logits_BV: torch.Tensor, writing: Sequence[bool]) -> tuple[list[int], list[float]]:
        ids, logprobs = draw(self, logits_BV, writing)
        for row, on, number in zip(self.rows, writing, ids, strict=True):
            if row is not None and on:
                seen[id(row.noise)].append(number)
        return ids, logprobs

    monkeypatch.setattr(Sampler, "_draw", watched)
    return seen


# Faults


def test_a_fault_of_the_world_voids_its_episode_and_no_other(
    clerk: ReferencePolicy, terse_id: str, tasks: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = play(clerk, terse_id, jobs(tasks, 24), CONFIG)
    step = ToolEnv.step

    def failing(self: ToolEnv, action: Action) -> Any:
        if self.task.id == tasks[2] and self.episode.turn > 0:
            raise InfrastructureError("the disk is gone")
        return step(self, action)

    monkeypatch.setattr(ToolEnv, "step", failing)
    played = play(clerk, terse_id, jobs(tasks, 24), CONFIG)
    voided = [episode for episode in played if not episode.valid_for_baseline]
    longer = [place for place, e in enumerate(sound) if e.task.id == tasks[2] and len(list(e.turns)) > 1]
    assert longer
    assert len(voided) == len(longer)
    for place, (before, episode) in enumerate(zip(sound, played, strict=True)):
        if place in longer:
            assert episode.end is None
            assert (episode.score.points, episode.score.passed) == (0, False)
            assert len(list(episode.turns)) == 1
        else:
            check_same(episode, before)


def test_no_jobs_make_no_episodes(compact: ReferencePolicy, terse_id: str) -> None:
    assert play(compact, terse_id, [], CONFIG) == []


def test_an_opening_that_does_not_fit_the_context_is_not_sampled_from(
    clerk: ReferencePolicy, terse_id: str, tasks: Sequence[str]
) -> None:
    for episode in play(clerk, terse_id, jobs(tasks, 4), replace(CONFIG, context=20)):
        assert sampled(tokens_of(episode)) == []


# Order and sameness


def test_episodes_come_back_in_the_order_of_their_jobs(
    clerk: ReferencePolicy, terse_id: str, tasks: Sequence[str]
) -> None:
    given = jobs(tasks, 40)
    ended: list[str] = []
    played = play(clerk, terse_id, given, replace(CONFIG, rows=6), name="clerk", version=3, progress=ended.append)
    assert [(episode.task.id, episode.seed) for episode in played] == [(job.task, job.seed) for job in given]
    assert {episode.agent for episode in played} == {"clerk"}
    for episode in played:
        tokens = tokens_of(episode)
        assert all(version == 3 * own for version, own in zip(tokens.versions, tokens.sampled, strict=True))
        assert len(tokens.stops) == len(list(episode.turns))
        spans = [list(tokens.sampled[span.start : span.end]) for span in tokens.spans]
        assert all(map(all, spans))
        assert sum(map(len, spans)) == sum(tokens.sampled)
    assert {episode.env_id for episode in played} == {terse_id}
    assert sorted(ended) == sorted(job.task for job in given)
    assert ended != [job.task for job in given]  # they end in another order, or this would show nothing


def test_equal_jobs_give_equal_episodes(clerk: ReferencePolicy, terse_id: str, tasks: Sequence[str]) -> None:
    first, second = (play(clerk, terse_id, jobs(tasks, 20), CONFIG) for _ in range(2))
    assert first == second
    assert [episode.digest() for episode in first] == [episode.digest() for episode in second]


def test_other_noise_gives_other_episodes(clerk: ReferencePolicy, terse_id: str, tasks: Sequence[str]) -> None:
    given = [ReferenceJob(task=tasks[0], seed=0, noise=Stream.root("noise", n)) for n in range(8)]
    assert len({tokens_of(episode).ids for episode in play(clerk, terse_id, given, CONFIG)}) > 4


@pytest.mark.parametrize("rows", [1, 5, 99])
def test_the_size_of_the_batch_does_not_change_an_episode(
    clerk: ReferencePolicy, terse_id: str, tasks: Sequence[str], rows: int
) -> None:
    expected = play(clerk, terse_id, jobs(tasks, 24), CONFIG)
    for before, episode in zip(
        expected, play(clerk, terse_id, jobs(tasks, 24), replace(CONFIG, rows=rows)), strict=True
    ):
        check_same(episode, before)


# Ends


def test_an_episode_without_room_for_another_turn_is_truncated_with_the_score_that_it_has(
    make_clerk: Callable[[str], ReferencePolicy], terse_id: str, tasks: Sequence[str]
) -> None:
    played = play(make_clerk("compact"), terse_id, jobs(tasks, 60), replace(CONFIG, context=100))
    full = [episode for episode in played if episode.end == EndReason.TOKEN_BUDGET]
    assert 5 < len(full) < 60
    assert any(episode.score.points for episode in full)
    for episode in full:
        tokens = tokens_of(episode)
        assert len(tokens.ids) >= 100
        assert max(place for place, own in enumerate(tokens.sampled) if own) < 100
        assert not episode.score.passed
        assert episode.episode_return == episode.score.points
        assert episode.valid_for_baseline
        env: Any = gym.make(terse_id, action_format="compact").unwrapped
        env.reset(seed=episode.seed, options={"task": episode.task.id})
        for turn in episode.turns:
            env.step(turn.text)
        assert env.score(EndReason.TOKEN_BUDGET) == episode.score


def test_the_return_of_every_episode_is_its_score(clerk: ReferencePolicy, terse_id: str, tasks: Sequence[str]) -> None:
    played = play(clerk, terse_id, jobs(tasks, 60), CONFIG)
    assert len({episode.end for episode in played}) > 1
    for episode in played:
        assert episode.episode_return == episode.score.points


@pytest.mark.parametrize("turn", [1, 3])
def test_a_turn_that_is_cut_off_goes_on_with_an_end_mark_that_was_not_sampled(
    clerk: ReferencePolicy, terse_id: str, tasks: Sequence[str], turn: int
) -> None:
    end = clerk.codec.end_id
    cut = whole = 0
    for episode in play(clerk, terse_id, jobs(tasks, 40), replace(CONFIG, turn=turn)):
        parts = list(runs(tokens_of(episode)))
        assert [own for own, _ in parts] == [False, True] * len(list(episode.turns)) + [False]
        for (own, written), (_, following) in pairwise(parts):
            if not own:
                continue
            if written[-1] == end:
                whole += 1
            else:
                assert len(written) == turn
                assert following[0] == end
                cut += 1
            assert end not in written[:-1]
    assert cut
    assert whole or turn == 1


# Tokens


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_the_learner_finds_the_log_probabilities_that_the_sampler_recorded(
    clerk: ReferencePolicy, terse_id: str, tasks: Sequence[str], temperature: float
) -> None:
    played = play(clerk, terse_id, jobs(tasks, 30), replace(CONFIG, temperature=temperature))
    _check_logprobs(clerk, played, temperature)


def test_the_learner_finds_them_in_the_storefront_too(policy: ReferencePolicy, episodes: Sequence[Episode]) -> None:
    given = [ReferenceJob(task=e.task.id, seed=0, noise=Stream.root("store", n)) for n, e in enumerate(episodes[:3])]
    _check_logprobs(policy, play(policy, STOREFRONT_ID, given, RolloutConfig(rows=2, context=8192, turn=5)), 1.0)


def _check_logprobs(policy: ReferencePolicy, played: Sequence[Episode], temperature: float) -> None:
    batch = pad_batch([Sample(tokens=tokens_of(episode)) for episode in played])
    with torch.no_grad():
        found = ReferenceLearner(policy.copy(), OptimiserConfig(lr=0)).logprobs(batch, temperature=temperature)
    assert batch.trained_BT.any()
    assert torch.allclose(found, batch.logprob_BT, atol=1e-4, rtol=0)


THOUSAND = 1000


def test_the_tokens_that_are_trained_are_those_that_were_sampled_in_a_thousand_episodes(
    clerk: ReferencePolicy, terse_id: str, tasks: Sequence[str], drawn: dict[int, list[int]]
) -> None:
    given = jobs(tasks, THOUSAND, "thousand")
    context = 256 if clerk.codec.format.name == "compact" else 768
    played = play(clerk, terse_id, given, RolloutConfig(rows=64, context=context, turn=8))
    kept = [drawn[id(job.noise)] for job in given]
    assert [sampled(tokens_of(episode)) for episode in played] == kept

    # In micro-batches, as a learner takes them, each sequence told by its advantage.
    samples = [Sample(tokens=tokens_of(episode), advantage=float(n)) for n, episode in enumerate(played)]
    trained: dict[int, list[int]] = {}
    for group in by_length(samples, tokens=20_000):
        batch = pad_batch(group)
        for row, number in enumerate(batch.advantage_B.tolist()):
            trained[int(number)] = batch.ids_BT[row][batch.trained_BT[row]].tolist()
    assert [trained[n] for n in range(THOUSAND)] == kept
    assert sum(map(len, trained.values())) == sum(map(len, kept)) > 10 * THOUSAND

    ends = {episode.end for episode in played}
    assert {EndReason.MAX_TURNS, EndReason.UNPARSABLE} <= ends
    again = [clerk.codec.encode(clerk.codec.decode(ids)) for ids in kept]
    assert again != kept  # so that whoever encoded the text again would train on other tokens
    for episode in played:
        check_what_was_read(episode, clerk.codec)


def check_what_was_read(episode: Episode, codec: Codec) -> None:
    """All that was not sampled is the opening, the answers, and the end mark of a turn that was cut off."""
    (segment,) = episode.segments
    parts = list(runs(tokens_of(episode)))
    assert [own for own, _ in parts] == [False, True] * len(segment.turns) + [False]
    rendering = codec.format.rendering()
    given = rendering.opening(segment.prompt, episode.tools)
    for turn, (_, read), (_, written) in zip(segment.turns, parts[0::2], parts[1::2], strict=False):
        assert read == codec.encode(given)
        assert "".join(codec.decode(read)) == "".join(given)
        assert turn.text == rendering.read(codec.decode(written))
        cut = [] if written[-1] == codec.end_id else [codec.format.end]
        given = [*cut, *rendering.following(turn.observation)]
    assert parts[-1][1] == codec.encode(given)
    assert "".join(codec.decode(parts[-1][1])) == "".join(given)

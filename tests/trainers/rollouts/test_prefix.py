"""A trajectory that goes on from another one: it is in the same place, and is paid for its own turns alone."""

import asyncio
from dataclasses import replace

import pytest

from crash.loops import POLICY, demonstrations
from palaestra.agents.hosted import WorldSpec
from palaestra.errors import RecordError, ReplayError
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.flatten import flatten
from palaestra.trainers.data.own import own_tokens
from palaestra.trainers.data.prefix import prefix_of
from palaestra.trainers.engines.native import NativeConfig, NativeEngine
from palaestra.trainers.engines.noise import noise_key
from palaestra.trainers.loops.material import initial_policy
from palaestra.trainers.rollouts.budget import PlayConfig
from palaestra.trainers.rollouts.job import RolloutJob
from palaestra.trainers.rollouts.play_all import play_all
from palaestra.trainers.rollouts.player import Player
from palaestra.trainers.rollouts.pool import PoolConfig, RolloutPool
from palaestra.trainers.rollouts.script import PartialRollout
from palaestra.trainers.rollouts.worlds import LocalWorlds
from palaestra.trajectory import Episode, Tokens
from pooled.clock import run
from pooled.field import playing
from rollouts.engine import ScriptedEngine, Writer
from rollouts.library import babbling, codec, jobs, library, shown, solving

CONFIG = PlayConfig(context=4096, turn=60, turns=6)


def tokens_of(episode: Episode) -> Tokens:
    tokens = episode.segments[0].tokens
    assert tokens is not None
    return tokens


def continuation(whole: Episode, job: RolloutJob, turns: int) -> RolloutJob:
    """The job with the draws of `job` from behind so many of its turns."""
    prefix = prefix_of(whole.id, tokens_of(whole), turns=turns)
    return replace(job, trajectory=f"{job.trajectory}/{turns}", group="branch", prefix=prefix)


def played(
    job: RolloutJob,
    writer: Writer,
    form: str = "compact",
    *,
    begun: PartialRollout | None = None,
    spec: WorldSpec | None = None,
) -> tuple[Episode, ScriptedEngine]:
    engine = ScriptedEngine(writer)

    async def main() -> Episode:
        world = await LocalWorlds(spec or library(form)).open()
        return await Player(job, world, engine, codec(form), CONFIG, begun=begun).play()

    return run(main()), engine


@pytest.mark.parametrize("form", ["compact", "qwen"])
@pytest.mark.parametrize("writer", ["solving", "babbling"])
def test_with_the_same_draws_it_is_the_original_from_every_turn_on(form: str, writer: str) -> None:
    """Observations, rewards, hashes and draws; only who drew the beginning is another."""
    write = solving(form) if writer == "solving" else babbling(form)
    forks = 0
    for job in jobs(len(shown())):
        whole, _ = played(job, write, form)
        tokens = tokens_of(whole)
        starts = [span.start for span in tokens.spans if span.kind == "turn"]
        for turns in range(1, len(starts)):
            branch, engine = played(continuation(whole, job, turns), write, form)
            forks += 1
            own, fork = tokens_of(branch), starts[turns]
            assert branch.segments[0].turns == whole.segments[0].turns
            assert (branch.score, branch.end, branch.digest()) == (whole.score, whole.end, whole.digest())
            assert (own.ids, own.spans, own.stops) == (tokens.ids, tokens.spans, tokens.stops)
            assert own.sampled == (False,) * fork + tokens.sampled[fork:]
            assert own.logprobs == (0.0,) * fork + tokens.logprobs[fork:]
            assert own.shared_turns == turns
            assert [request.context for request in engine.requests] == [tokens.ids[:at] for at in starts[turns:]]
    assert forks > 5


def test_other_draws_go_elsewhere_from_the_fork_on() -> None:
    job = jobs(1)[0]
    whole, _ = played(job, babbling())
    other = replace(continuation(whole, job, 1), noise=noise_key("another"))
    branch, _ = played(other, babbling())
    assert branch.segments[0].turns[:1] == whole.segments[0].turns[:1]
    assert branch.segments[0].turns[1].text != whole.segments[0].turns[1].text


def test_a_continuation_is_paid_for_its_own_turns_alone() -> None:
    for job in jobs(len(shown())):
        whole, _ = played(job, solving())
        count = len(list(whole.turns))
        for turns in range(1, count):
            branch, _ = played(continuation(whole, job, turns), solving())
            batch: TokenBatch = flatten([branch])
            rewards = [turn.reward for turn in whole.turns]
            assert batch.reward_U.tolist() == [0.0] * turns + rewards[turns:]
            assert batch.return_R.tolist() == [sum(rewards[turns:])]
            own = [place for place, mine in enumerate(batch.trained_T.tolist()) if mine]
            spans = [span for span in tokens_of(branch).spans if span.kind == "turn"]
            assert own
            assert own[0] == spans[turns].start


def test_imitation_shows_the_whole_of_a_solution_that_was_found_from_a_fork() -> None:
    job = jobs(1)[0]
    whole, _ = played(job, solving())
    branch, _ = played(continuation(whole, job, 1), solving())
    assert branch.score.passed
    assert own_tokens(branch) == own_tokens(whole)


def test_a_continuation_that_was_saved_half_way_goes_on() -> None:
    job = jobs(1)[0]
    whole, _ = played(job, solving())
    assert len(list(whole.turns)) > 2
    branch = continuation(whole, job, 1)
    straight, _ = played(branch, solving())
    tokens = tokens_of(straight)
    end = [span.start for span in tokens.spans if span.kind == "turn"][2]
    half = Tokens(
        ids=tokens.ids[:end],
        sampled=tokens.sampled[:end],
        logprobs=tokens.logprobs[:end],
        versions=tokens.versions[:end],
        spans=tuple(span for span in tokens.spans if span.end <= end),
        stops=tokens.stops[:2],
        shared_turns=1,
    )
    again, engine = played(branch, solving(), begun=PartialRollout(job=branch, tokens=half, seconds=1.0))
    assert again == straight
    assert len(engine.requests) == len(tokens.stops) - 2


# what cannot be gone on from


@pytest.mark.parametrize("turns", [0, 3, 9])
def test_only_turns_before_the_last_can_be_gone_on_from(turns: int) -> None:
    whole, _ = played(jobs(1)[0], solving())
    tokens = tokens_of(whole)
    assert len(tokens.stops) == 3
    with pytest.raises(RecordError, match=rf"t has 3 turns, so {turns} of them .* give 1 to 2"):
        prefix_of("t", tokens, turns=turns)


def test_a_world_that_answers_otherwise_is_refused() -> None:
    job = jobs(1)[0]
    whole, _ = played(job, solving())
    other = replace(continuation(whole, job, 2), task=jobs(2)[1].task)
    with pytest.raises(ReplayError, match="after turn 0 the world's answer is another than the recorded one"):
        played(other, solving())


def test_a_world_that_ends_before_the_fork_is_refused() -> None:
    job = jobs(1)[0]
    whole, _ = played(job, solving())
    with pytest.raises(ReplayError, match="the episode is over after turn 1, and was not when it was recorded"):
        played(continuation(whole, job, 1), solving(), spec=library(max_turns=1))


def test_a_continuation_that_no_world_can_play_has_no_reward_and_says_why() -> None:
    job = jobs(1)[0]
    whole, _ = played(job, solving())
    other = replace(continuation(whole, job, 2), task=jobs(2)[1].task)

    async def main() -> None:
        async with playing(engine=lambda: ScriptedEngine(solving()), play=CONFIG) as field:
            good = continuation(whole, job, 1)
            failed, fine = await play_all(field.pool, [other, good], patience=100.0)
            assert failed.episode is None
            assert len(failed.faults) == 3
            assert all("is another than the recorded one" in fault for fault in failed.faults)
            assert fine.episode is not None
            assert fine.job == good
            assert fine.episode.digest() == whole.digest()

    run(main())


# our own engine


def test_our_engine_reads_the_shared_turns_once_and_draws_what_it_drew() -> None:
    seen = list(demonstrations())
    policy = initial_policy(POLICY, seen, seed=0)
    job = replace(jobs(1)[0], noise=noise_key("native"))
    config = PlayConfig(context=400, turn=24)

    async def main() -> None:
        engine = NativeEngine(policy.model, NativeConfig())
        worlds = LocalWorlds(library())
        pool = RolloutPool(engine, worlds, policy.codec, config, PoolConfig(agents=8))
        whole = (await pool.play(job)).episode
        assert whole is not None
        turns = len(tokens_of(whole).stops) - 1
        assert turns > 1
        same = continuation(whole, job, turns)
        assert same.prefix is not None
        others = [replace(same, trajectory=f"other/{n}", noise=noise_key(n)) for n in range(3)]
        before = engine.stats()
        found = [result.episode for result in await play_all(pool, [same, *others], patience=60.0)]
        after = engine.stats()
        await pool.close()
        await engine.close()
        await worlds.close()
        assert found[0] is not None
        assert tokens_of(found[0]).ids == tokens_of(whole).ids
        assert found[0].segments[0].turns == whole.segments[0].turns
        shared = len(same.prefix.tokens.ids)
        assert after.reused - before.reused >= 3 * (shared - 8), "blocks of eight tokens are shared"
        assert after.prefilled - before.prefilled < 2 * shared

    asyncio.run(main())

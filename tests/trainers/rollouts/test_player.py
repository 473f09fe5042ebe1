"""One trajectory: how it ends, what is kept of it, and how it goes on after a fault or in another process."""

import asyncio
import itertools
import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from palaestra.agents.hosted import WorldSpec
from palaestra.errors import EngineError, InfrastructureError, ReplayError, WaitError
from palaestra.records import EndReason
from palaestra.rubrics.rubric import UNFINISHED
from palaestra.seeding import Stream
from palaestra.tools import read_plan
from palaestra.trainers.engines.engine import TurnRequest
from palaestra.trainers.reference import play as reference
from palaestra.trainers.reference.policy import ReferencePolicy
from palaestra.trainers.rollouts.budget import PlayConfig
from palaestra.trainers.rollouts.job import RolloutJob
from palaestra.trainers.rollouts.player import Player
from palaestra.trainers.rollouts.script import PartialRollout
from palaestra.trainers.rollouts.world import Method, RolloutWorld
from palaestra.trainers.rollouts.worlds import DelayedWorlds, Latency, LocalWorlds
from palaestra.trajectory import Episode, Tokens, dump_episode
from pooled.clock import run
from rollouts.engine import ScriptedEngine, Scripts, Writer
from rollouts.faulty import faulty
from rollouts.library import babbling, codec, jobs, library, scripts, solving, tasks

CONFIG = PlayConfig(context=4096, turn=60)


def tokens_of(episode: Episode) -> Tokens:
    (segment,) = episode.segments
    assert segment.tokens is not None
    return segment.tokens


async def world_of(spec: WorldSpec | None = None) -> RolloutWorld:
    return await LocalWorlds(spec or library()).open()


def played(job: RolloutJob, writer: Writer, config: PlayConfig = CONFIG, *, form: str = "compact") -> Episode:
    async def main() -> Episode:
        engine = ScriptedEngine(writer)
        return await Player(job, await world_of(library(form)), engine, codec(form), config).play()

    return run(main())


def saying(*texts: str) -> Writer:
    """Writes `texts`, a turn each; ends each with the end mark but not one that ends in `...`."""
    turns = itertools.cycle(texts)

    def write(request: TurnRequest) -> Sequence[int]:
        del request
        text = next(turns)
        return [*codec().encode([text.removesuffix("...")]), *([] if text.endswith("...") else [codec().end_id])]

    return write


class Watched(RolloutWorld):
    """Tells before and after everything that a world does."""

    def __init__(self, world: RolloutWorld, tell: Callable[[str], None]) -> None:
        self._world = world
        self._tell = tell

    async def ask(self, method: Method, *arguments: Any) -> Any:
        self._tell(f"before {method}")
        answer = await self._world.ask(method, *arguments)
        if method == "step":
            self._tell("after step")
        return answer

    async def close(self) -> None:
        await self._world.close()


# Faults


@pytest.mark.parametrize("deed", ["!crash", "!fault"])
def test_a_fault_of_the_world_is_passed_on_and_the_engine_let_go(deed: str) -> None:
    async def main() -> None:
        engine = ScriptedEngine(saying("> hello", deed))
        player = Player(jobs(1)[0], await world_of(faulty()), engine, codec(), CONFIG)
        with pytest.raises(InfrastructureError, match=r"shelf 9|the disk is gone"):
            await player.play()
        assert engine.released == ["t0"]
        assert engine.resident == ()
        assert len(player.partial_rollout().tokens.spans) == 2

    run(main())


def test_a_fault_of_the_engine_is_passed_on_and_the_engine_let_go() -> None:
    async def main() -> None:
        engine = ScriptedEngine(solving())
        engine.fails["t0"] = 1
        player = Player(jobs(1)[0], await world_of(), engine, codec(), CONFIG)
        with pytest.raises(EngineError, match="fell off the bus"):
            await player.play()
        assert engine.released == ["t0"]

    run(main())


async def never(request: TurnRequest) -> None:
    await asyncio.Event().wait()


def test_an_engine_that_takes_too_long_has_failed() -> None:
    async def main() -> None:
        engine = ScriptedEngine(solving(), pace=never)
        config = replace(CONFIG, turn_timeout=30.0, seconds=1000.0)
        with pytest.raises(WaitError, match=r"t0 waited 30\.0 s for a turn of 60 tokens"):
            await Player(jobs(1)[0], await world_of(), engine, codec(), config).play()
        assert asyncio.get_running_loop().time() == 30
        assert engine.released == ["t0"]

    run(main())


def test_a_player_that_is_cancelled_lets_the_engine_go() -> None:
    async def main() -> None:
        engine = ScriptedEngine(solving(), pace=never)
        task = asyncio.create_task(Player(jobs(1)[0], await world_of(), engine, codec(), CONFIG).play())
        await asyncio.sleep(1)
        assert engine.running == ("t0",)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert engine.released == ["t0"]
        assert engine.stats().running == 0

    run(main())


def test_what_cannot_be_played_is_refused_before_anything_is_drawn() -> None:
    async def main() -> None:
        first, second = jobs(2)
        world, engine = await world_of(), ScriptedEngine(solving(), context=1000)
        with pytest.raises(ValueError, match="context=4096: the engine's trajectories have 1000 tokens at most"):
            Player(first, world, engine, codec(), CONFIG)
        fits = replace(CONFIG, context=1000)
        begun = Player(first, world, engine, codec(), fits).partial_rollout()
        with pytest.raises(ValueError, match=r"begun: it is of RolloutJob.*'t0'.*, not of RolloutJob.*'t1'"):
            Player(second, world, engine, codec(), fits, begun=begun)
        assert engine.requests == []

    run(main())


# The record


@pytest.mark.parametrize("form", ["compact", "qwen", "planner", "planner-qwen"])
def test_what_the_oracle_writes_solves_every_task_and_reads_as_its_demonstration(form: str) -> None:
    for job in jobs(len(tasks())):
        episode = played(job, solving(form), form=form)
        assert (episode.id, episode.group, episode.agent) == (job.trajectory, job.group, "policy")
        assert (episode.task.id, episode.seed) == (job.task, job.seed)
        assert episode.score.passed
        assert episode.score.points == episode.score.total
        tokens = tokens_of(episode)
        assert (tokens.ids, tokens.spans) in {(script.ids, script.spans) for script in scripts(form)}
        assert set(tokens.stops) == {"end"}


@pytest.mark.parametrize("form", ["planner", "planner-qwen"])
def test_each_turn_of_a_planner_is_marked_with_its_parts(form: str) -> None:
    episode = played(jobs(1)[0], solving(form), form=form)
    tokens = tokens_of(episode)
    turns = list(episode.turns)
    assert len(tokens.spans) == 4 * len(turns)
    assert len(tokens.stops) == len(turns)
    for number, turn in enumerate(turns):
        whole, *parts = tokens.spans[4 * number : 4 * number + 4]
        assert [span.kind for span in (whole, *parts)] == ["turn", "switch", "plan", "action"]
        assert [part.start for part in parts] == [whole.start, parts[0].end, parts[1].end]
        assert parts[-1].end == whole.end
        said = ["".join(codec(form).decode(tokens.ids[part.start : part.end])) for part in parts]
        plan = read_plan(turn.text or "")
        assert said[0] == f"<switch>{'SWITCH' if plan.switches else 'KEEP'}</switch>"
        assert said[1] == f"<subgoal>{plan.subgoal}</subgoal>"
        assert said[2].endswith(f"</action>{codec(form).format.end}")


def test_a_turn_of_a_planner_that_is_cut_off_is_all_action() -> None:
    tokens = tokens_of(played(jobs(1)[0], solving("planner"), replace(CONFIG, turn=6, turns=1), form="planner"))
    assert tokens.stops == ("length",)
    assert [span.kind for span in tokens.spans] == ["turn"]


@pytest.mark.parametrize(("context", "turn"), [(1024, 14), (100, 14), (20, 14), (1024, 1)])
def test_the_same_turns_make_the_record_that_the_reference_makes(
    clerk: ReferencePolicy, terse_id: str, tasks: Sequence[str], context: int, turn: int
) -> None:
    names = [(f"t{n}", tasks[n % len(tasks)], n % 7) for n in range(24)]
    expected = reference.play(
        clerk,
        terse_id,
        [reference.ReferenceJob(task=task, seed=seed, noise=Stream.root(name)) for name, task, seed in names],
        reference.RolloutConfig(rows=24, context=context, turn=turn),
    )

    async def main() -> list[Episode]:
        spec = WorldSpec(env_id=terse_id, action_format=clerk.codec.format.name, imports=())
        world = await world_of(spec)
        episodes: list[Episode] = []
        for (name, task, seed), before in zip(names, expected, strict=True):
            engine = ScriptedEngine(Scripts([tokens_of(before)]))
            job = RolloutJob(trajectory=name, group="", task=task, seed=seed, noise=b"")
            config = PlayConfig(context=context, turn=turn)
            episodes.append(await Player(job, world, engine, clerk.codec, config).play())
        return episodes

    ends = set[EndReason | None]()
    for before, episode in zip(expected, run(main()), strict=True):
        then, now = tokens_of(before), tokens_of(episode)
        assert (now.ids, now.sampled, now.spans, now.stops) == (then.ids, then.sampled, then.spans, then.stops)
        assert replace(episode, id="", segments=()) == replace(before, segments=())
        assert replace(episode.segments[0], tokens=None) == replace(before.segments[0], tokens=None)
        ends.add(episode.end)
    assert len(ends) > 1 or context < 1024


@pytest.mark.parametrize("form", ["compact", "qwen"])
def test_tokens_are_aligned_and_those_that_were_sampled_are_the_engines(form: str) -> None:
    async def main() -> None:
        engine = ScriptedEngine(babbling(form), version=4)
        world = await world_of(library(form))
        for job in jobs(6):
            engine.requests.clear()
            episode = await Player(job, world, engine, codec(form), replace(CONFIG, turn=9)).play()
            tokens = tokens_of(episode)
            assert len(tokens.ids) == len(tokens.sampled) == len(tokens.logprobs) == len(tokens.versions)
            assert len(tokens.spans) == len(tokens.stops) == len(list(episode.turns)) == len(engine.requests)
            own = [place for span in tokens.spans for place in range(span.start, span.end)]
            assert own == [place for place, sampled in enumerate(tokens.sampled) if sampled]
            for place in range(len(tokens.ids)):
                assert tokens.versions[place] == (4 if tokens.sampled[place] else 0)
                assert (tokens.logprobs[place] < 0) == tokens.sampled[place]
            for span, request in zip(tokens.spans, engine.requests, strict=True):
                assert request.context == tokens.ids[: span.start]
                assert (request.trajectory, request.noise) == (job.trajectory, job.noise)

    run(main())


def test_a_turn_keeps_the_version_of_each_of_its_tokens() -> None:
    async def main() -> None:
        drawn = itertools.count(1)

        async def pace(request: TurnRequest) -> None:
            if next(drawn) == 4:
                await engine.update_weights({}, 2)

        engine = ScriptedEngine(solving(), pace=pace, version=1)
        episode = await Player(jobs(1)[0], await world_of(), engine, codec(), CONFIG).play()
        versions = [v for v, own in zip(tokens_of(episode).versions, tokens_of(episode).sampled, strict=True) if own]
        assert versions == [1] * 3 + [2] * (len(versions) - 3)
        first = tokens_of(episode).spans[0]
        assert set(tokens_of(episode).versions[first.start : first.end]) == {1, 2}

    run(main())


def test_a_turn_that_is_cut_off_goes_on_with_an_end_mark_that_was_not_sampled() -> None:
    tokens = tokens_of(played(jobs(1)[0], saying("> hello...", "> hello"), replace(CONFIG, turns=2)))
    cut, whole = tokens.spans
    assert tokens.stops == ("length", "end")
    assert (tokens.ids[cut.end], tokens.sampled[cut.end]) == (codec().end_id, False)
    assert (tokens.ids[whole.end - 1], tokens.sampled[whole.end - 1]) == (codec().end_id, True)
    assert tokens.ids[whole.end] != codec().end_id


def test_a_player_knows_how_long_it_has_played() -> None:
    async def main() -> None:
        async def pace(request: TurnRequest) -> None:
            del request
            await asyncio.sleep(0.25)

        worlds = DelayedWorlds(LocalWorlds(library()), Latency(low=3.0, high=3.0))
        player = Player(jobs(1)[0], await worlds.open(), ScriptedEngine(solving(), pace=pace), codec(), CONFIG)
        assert player.partial_rollout().seconds == 0
        tokens = tokens_of(await player.play())
        expected = 0.25 * sum(tokens.sampled) + 3 * len(tokens.spans)
        assert player.partial_rollout().seconds == asyncio.get_running_loop().time() == expected
        await asyncio.sleep(5)
        assert player.partial_rollout().seconds == expected

    run(main())


# Ends


def test_a_turn_budget_ends_the_episode_and_its_last_reward_pays_for_that() -> None:
    whole = played(jobs(1)[0], solving())
    assert len(list(whole.turns)) == 3
    cut = played(jobs(1)[0], solving(), replace(CONFIG, turns=2))
    assert (cut.end, cut.valid_for_baseline, cut.score.passed) == (EndReason.MAX_TURNS, True, False)
    *before, last = cut.turns
    same, full = list(whole.turns)[:2]
    assert before == [same]
    assert last == replace(full, reward=last.reward, components=last.components)
    assert last.reward < full.reward
    assert cut.episode_return == cut.score.points == UNFINISHED == sum(cut.score.components.values())
    assert sum(sum(turn.components.values()) for turn in cut.turns) == UNFINISHED
    assert played(jobs(1)[0], solving(), replace(CONFIG, turns=3)).end is EndReason.FINISHED


@pytest.mark.parametrize("missing", [0, 1])
def test_a_context_without_room_for_another_turn_ends_the_episode(missing: int) -> None:
    second = tokens_of(played(jobs(1)[0], solving())).spans[1]
    episode = played(jobs(1)[0], solving(), replace(CONFIG, context=second.start + 1 - missing))
    tokens = tokens_of(episode)
    assert episode.end is EndReason.TOKEN_BUDGET
    assert len(tokens.spans) == len(list(episode.turns)) == 2 - missing
    if not missing:
        assert (tokens.spans[1].end - tokens.spans[1].start, tokens.stops[1]) == (1, "length")


def test_an_opening_that_does_not_fit_is_not_drawn_from() -> None:
    async def main() -> None:
        engine = ScriptedEngine(solving())
        episode = await Player(jobs(1)[0], await world_of(), engine, codec(), replace(CONFIG, context=20)).play()
        assert (episode.end, engine.requests, list(episode.turns)) == (EndReason.TOKEN_BUDGET, [], [])
        assert len(tokens_of(episode).ids) > 20
        assert not any(tokens_of(episode).sampled)

    run(main())


def test_a_time_budget_drops_the_turn_that_is_being_drawn() -> None:
    async def main() -> None:
        async def pace(request: TurnRequest) -> None:
            if len(engine.requests) == 2:
                await asyncio.sleep(1)

        engine = ScriptedEngine(solving(), pace=pace)
        config = replace(CONFIG, seconds=2.5, turn_timeout=60.0)
        episode = await Player(jobs(1)[0], await world_of(), engine, codec(), config).play()
        assert asyncio.get_running_loop().time() == 2.5
        assert (episode.end, episode.valid_for_baseline) == (EndReason.TIME_BUDGET, True)
        assert len(tokens_of(episode).spans) == len(list(episode.turns)) == 1
        assert not tokens_of(episode).sampled[-1]
        assert engine.running == ()

    run(main())


def test_a_time_budget_hears_a_world_out_that_is_answering() -> None:
    async def main() -> None:
        worlds = DelayedWorlds(LocalWorlds(library()), Latency(low=2.0, high=2.0))
        config = replace(CONFIG, seconds=3.0)
        episode = await Player(jobs(1)[0], await worlds.open(), ScriptedEngine(solving()), codec(), config).play()
        assert asyncio.get_running_loop().time() == 4
        assert episode.end is EndReason.TIME_BUDGET
        assert len(tokens_of(episode).spans) == len(list(episode.turns)) == 2

    run(main())


def test_an_episode_that_its_world_ends_with_the_last_of_a_budget_is_the_worlds() -> None:
    whole = played(jobs(1)[0], solving())
    spans = tokens_of(whole).spans
    episode = played(jobs(1)[0], solving(), replace(CONFIG, turns=3, context=spans[-1].end))
    assert episode.end is EndReason.FINISHED
    assert episode == whole


# Going on


def moments(job: RolloutJob, writer: Writer, form: str) -> tuple[Episode, list[tuple[str, PartialRollout]]]:
    """An episode, and how far it was at every moment at which somebody else could have asked."""
    seen: list[tuple[str, PartialRollout]] = []

    async def main() -> Episode:
        def tell(when: str) -> None:
            seen.append((when, player.partial_rollout()))

        async def pace(request: TurnRequest) -> None:
            tell("in a turn")

        world = Watched(await world_of(library(form)), tell)
        player = Player(job, world, ScriptedEngine(writer, pace=pace), codec(form), CONFIG)
        tell("before")
        episode = await player.play()
        tell("after")
        return episode

    return run(main()), seen


@pytest.mark.parametrize("form", ["compact", "qwen", "planner"])
@pytest.mark.parametrize("writing", [solving, babbling])
def test_a_trajectory_goes_on_from_any_moment_as_if_it_had_never_stopped(
    form: str, writing: Callable[[str], Writer]
) -> None:
    for job in jobs(3):
        whole, seen = moments(job, writing(form), form)
        assert {when for when, _ in seen} >= {
            "before",
            "before reset",
            "in a turn",
            "before step",
            "after step",
            "after",
        }
        for when, begun in dict.fromkeys(seen):
            turns = len(begun.tokens.stops)

            async def main(begun: PartialRollout = begun, turns: int = turns, job: RolloutJob = job) -> Episode:
                engine = ScriptedEngine(writing(form))
                saved = pickle.loads(pickle.dumps(begun))
                player = Player(job, await world_of(library(form)), engine, codec(form), CONFIG, begun=saved)
                assert player.partial_rollout() == begun
                episode = await player.play()
                assert len(engine.requests) == len(tokens_of(episode).stops) - turns
                return episode

            assert dump_episode(run(main())) == dump_episode(whole), when


def test_a_trajectory_that_is_being_gone_through_again_is_saved_as_far_as_it_was_before() -> None:
    _, seen = moments(jobs(1)[0], solving(), "compact")
    begun = next(begun for when, begun in reversed(seen) if when == "before step")
    again: list[PartialRollout] = []

    async def main() -> None:
        def tell(when: str) -> None:
            del when
            again.append(player.partial_rollout())

        world = Watched(await world_of(), tell)
        player = Player(jobs(1)[0], world, ScriptedEngine(solving()), codec(), CONFIG, begun=begun)
        await player.play()

    run(main())
    assert len(begun.tokens.spans) == 3
    assert len(again) > 4
    assert [moment.tokens for moment in again[:4]] == [begun.tokens] * 4


def test_after_a_fault_of_its_world_a_trajectory_goes_on_in_another_without_drawing_again() -> None:
    async def main() -> Episode:
        engine = ScriptedEngine(solving())
        steps = itertools.count()

        def tell(when: str) -> None:
            if when == "before step" and next(steps) == 1:
                raise InfrastructureError("the disk is gone")

        player = Player(jobs(1)[0], Watched(await world_of(), tell), engine, codec(), CONFIG)
        with pytest.raises(InfrastructureError):
            await player.play()
        assert len(engine.requests) == 2
        again = Player(jobs(1)[0], await world_of(), engine, codec(), CONFIG, begun=player.partial_rollout())
        episode = await again.play()
        assert len(engine.requests) == 3
        return episode

    assert run(main()) == played(jobs(1)[0], solving())


def test_the_time_that_a_trajectory_took_before_counts() -> None:
    _, seen = moments(jobs(1)[0], solving(), "compact")
    begun = replace(seen[0][1], seconds=4.0)

    async def main() -> None:
        worlds = DelayedWorlds(LocalWorlds(library()), Latency(low=2.0, high=2.0))
        engine = ScriptedEngine(solving())
        config = replace(CONFIG, seconds=5.0)
        player = Player(jobs(1)[0], await worlds.open(), engine, codec(), config, begun=begun)
        episode = await player.play()
        assert (episode.end, len(engine.requests)) == (EndReason.TIME_BUDGET, 1)
        assert player.partial_rollout().seconds == 6

    run(main())


# A record that does not fit


def saved(turns: int) -> PartialRollout:
    """How far the first job was before its turn number `turns` was drawn."""
    _, seen = moments(jobs(1)[0], solving(), "compact")
    return next(b for when, b in seen if when == "in a turn" and len(b.tokens.spans) == turns)


def refused(begun: PartialRollout, spec: WorldSpec | None = None) -> str:
    async def main() -> str:
        engine = ScriptedEngine(solving())
        player = Player(begun.job, await world_of(spec), engine, codec(), CONFIG, begun=begun)
        with pytest.raises(ReplayError) as raised:
            await player.play()
        assert engine.released == ["t0"]
        assert engine.requests == []
        return str(raised.value)

    return run(main())


def test_every_token_that_a_world_answers_otherwise_is_named() -> None:
    begun = saved(2)
    tokens = begun.tokens
    for place in [p for p, own in enumerate(tokens.sampled) if not own][::7]:
        changed = (*tokens.ids[:place], tokens.ids[place] + 1, *tokens.ids[place + 1 :])
        turn = sum(span.end <= place for span in tokens.spans)
        says = refused(replace(begun, tokens=replace(tokens, ids=changed)))
        assert f"trajectory t0: after turn {turn} the world's answer is another than the recorded one" in says
        assert f"from token {place} on ({tokens.ids[place]} in place of {tokens.ids[place] + 1})" in says


def test_an_answer_that_is_longer_or_shorter_than_the_recorded_one_is_another() -> None:
    begun = saved(1)
    end = len(begun.tokens.ids)
    shorter = replace(begun, tokens=cut(begun.tokens, end - 1))
    assert f"from token {end - 1} on ({begun.tokens.ids[-1]} in place of the end)" in refused(shorter)
    longer = replace(begun, tokens=extended(begun.tokens))
    assert f"from token {end} on (the end in place of 7)" in refused(longer)


def cut(tokens: Tokens, end: int) -> Tokens:
    return replace(
        tokens,
        ids=tokens.ids[:end],
        sampled=tokens.sampled[:end],
        logprobs=tokens.logprobs[:end],
        versions=tokens.versions[:end],
    )


def extended(tokens: Tokens) -> Tokens:
    return replace(
        tokens,
        ids=(*tokens.ids, 7),
        sampled=(*tokens.sampled, False),
        logprobs=(*tokens.logprobs, 0.0),
        versions=(*tokens.versions, 0),
    )


def test_a_world_of_other_tasks_is_refused() -> None:
    begun = saved(2)
    other = replace_job(begun, task=tasks()[1])
    assert "after turn 0 the world's answer is another" in refused(other)


def replace_job(begun: PartialRollout, *, task: str) -> PartialRollout:
    job = begun.job
    other = RolloutJob(trajectory=job.trajectory, group=job.group, task=task, seed=job.seed, noise=job.noise)
    return PartialRollout(job=other, tokens=begun.tokens, seconds=begun.seconds)


def test_an_episode_that_is_over_before_its_record_is_refused() -> None:
    assert "the episode is over after turn 1, and was not when it was recorded" in refused(
        saved(2), library(max_turns=1)
    )

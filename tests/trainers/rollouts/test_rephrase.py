"""A solution in the policy's own words: what its prompt shows, and what is recorded of it."""

from dataclasses import replace

import gymnasium as gym
import pytest

from palaestra.agents import oracle, rollout
from palaestra.envs import ToolEnv
from palaestra.errors import ConfigError
from palaestra.records import EndReason, Message
from palaestra.tools import CHAT_FORMATS, Mark
from palaestra.trainers.engines.engine import TurnRequest
from palaestra.trainers.rollouts.budget import PlayConfig
from palaestra.trainers.rollouts.job import RolloutJob
from palaestra.trainers.rollouts.player import Player
from palaestra.trainers.rollouts.rephrase import HEADING, check_room, opening_with_solution
from palaestra.trainers.rollouts.script import PartialRollout
from palaestra.trainers.rollouts.worlds import LocalWorlds
from palaestra.trajectory import Episode, Tokens
from palaestra.transcript import AgentTranscript, transcript_of
from pooled.clock import run
from rollouts.engine import ScriptedEngine, Writer
from rollouts.library import codec, jobs, library, scripts, shown, solving

CONFIG = PlayConfig(context=2048, turn=60)
FORMS = ["compact", "qwen", "planner"]


def rephrasing() -> RolloutJob:
    return replace(jobs(1)[0], purpose="rephrase")


def solution() -> AgentTranscript:
    return transcript_of(shown()[0])


def added(form: str = "compact") -> int:
    """Tokens by which the prompt is longer."""
    opening = codec(form).format.rendering().opening(solution().prompt, solution().tools)
    longer = opening_with_solution(solution().prompt, solution().tools, solution(), codec(form).format)
    return len(codec(form).encode(longer)) - len(codec(form).encode(opening))


def following(form: str = "compact", *, longer: int) -> Writer:
    """Writes what the oracle does, behind a prompt that is so much longer than the oracle's."""
    script = next(one for one in scripts(form) if one.ids == demonstrated(form).ids)
    after = {span.start: script.ids[span.start : span.end] for span in script.spans if span.kind == "turn"}

    def write(request: TurnRequest) -> tuple[int, ...]:
        return after[len(request.context) - longer]

    return write


def demonstrated(form: str) -> Tokens:
    return scripts(form)[0]


def played(
    job: RolloutJob,
    engine: ScriptedEngine,
    *,
    form: str = "compact",
    config: PlayConfig = CONFIG,
    begun: PartialRollout | None = None,
) -> Episode:
    async def main() -> Episode:
        world = await LocalWorlds(library(form)).open()
        return await Player(job, world, engine, codec(form), config, solution=solution(), begun=begun).play()

    return run(main())


def tokens_of(episode: Episode) -> Tokens:
    (segment,) = episode.segments
    assert segment.tokens is not None
    return segment.tokens


@pytest.mark.parametrize("form", FORMS)
def test_the_solution_stands_at_the_end_of_the_system_message(form: str) -> None:
    chat = CHAT_FORMATS.get(form)
    messages: list[Message] = [{"role": "system", "content": "Rules."}, {"role": "user", "content": "Lend me BK-1000."}]
    text = "".join(opening_with_solution(messages, solution().tools, solution(), chat))
    assert text.index("Rules.") < text.index(HEADING) < text.index("Lend me")
    plain = chat.rendering().opening(messages, solution().tools)
    own = sum(len(turn.calls) for turn in solution().turns)
    for name in {call.tool for turn in solution().turns for call in turn.calls}:
        assert text.count(name) > "".join(plain).count(name)
    assert own > 0
    without = "".join(opening_with_solution(messages[1:], solution().tools, solution(), chat))
    assert without.index(HEADING) < without.index("Lend me")


def test_handles_in_the_solution_are_those_of_an_episode_that_goes_the_same_way() -> None:
    """In the compact format an id is a mark, numbered by where it first came up: in an answer, mostly."""
    form = CHAT_FORMATS.get("compact")
    env = gym.make("palaestra/Storefront-v0", task="storefront/cancel-order/0000").unwrapped
    assert isinstance(env, ToolEnv)
    shown_order = transcript_of(rollout(env, oracle(env.oracle), name="oracle", seed=0))
    rendering = form.rendering()
    rendering.opening(shown_order.prompt, shown_order.tools)
    written: list[str] = []
    for turn in shown_order.turns:
        written += [piece for piece in rendering.write_turn(turn.calls) if isinstance(piece, Mark)]
        rendering.following(turn.observation)
    handles = [piece for piece in written if piece != form.end]
    assert len(handles) >= 3
    pieces = opening_with_solution(shown_order.prompt, shown_order.tools, shown_order, form)
    start = next(place for place, piece in enumerate(pieces) if HEADING in piece)
    assert [piece for piece in pieces[start:] if isinstance(piece, Mark)][: len(handles)] == handles


def test_the_engine_reads_the_solution_and_the_record_does_not_hold_it() -> None:
    engine = ScriptedEngine(following(longer=added()))
    episode = played(rephrasing(), engine)
    assert episode.score.passed
    plain = played(jobs(1)[0], ScriptedEngine(solving()))
    assert tokens_of(episode).ids == tokens_of(plain).ids
    assert tokens_of(episode).spans == tokens_of(plain).spans
    assert [turn.calls for turn in episode.turns] == [turn.calls for turn in plain.turns]
    starts = [span.start for span in tokens_of(plain).spans if span.kind == "turn"]
    longer = codec().encode(opening_with_solution(solution().prompt, solution().tools, solution(), codec().format))
    for request, start in zip(engine.requests, starts, strict=True):
        assert request.context[: len(longer)] == tuple(longer)
        assert request.context[len(longer) :] == tokens_of(plain).ids[starts[0] : start]
    assert engine.requests[0].context[: starts[0]] != tokens_of(plain).ids[: starts[0]]


def test_a_rephrased_solution_that_was_saved_half_way_goes_on_with_the_solution_in_sight() -> None:
    job = rephrasing()
    whole = tokens_of(played(job, ScriptedEngine(following(longer=added()))))
    first = next(span for span in whole.spans if span.kind == "turn")
    half = Tokens(
        ids=whole.ids[: first.end],
        sampled=whole.sampled[: first.end],
        logprobs=whole.logprobs[: first.end],
        versions=whole.versions[: first.end],
        spans=tuple(span for span in whole.spans if span.end <= first.end),
        stops=whole.stops[:1],
    )
    engine = ScriptedEngine(following(longer=added()))
    assert tokens_of(played(job, engine, begun=PartialRollout(job=job, tokens=half, seconds=0.0))) == whole
    assert len(engine.requests) == len(whole.stops) - 1


def test_where_the_engine_has_no_room_behind_the_longer_prompt_the_trajectory_ends() -> None:
    first = next(span.start for span in demonstrated("compact").spans)
    context = first + added()
    engine = ScriptedEngine(following(longer=added()), context=context)
    episode = played(rephrasing(), engine, config=replace(CONFIG, context=context))
    assert episode.end is EndReason.TOKEN_BUDGET
    assert engine.requests == []


def test_a_job_that_rephrases_needs_a_solution() -> None:
    async def main() -> None:
        world = await LocalWorlds(library()).open()
        with pytest.raises(ValueError, match=r"solution: t0 rephrases one of library/.*; give it"):
            Player(rephrasing(), world, ScriptedEngine(solving()), codec(), CONFIG)

    run(main())


def test_solutions_without_room_in_the_engines_context_are_refused() -> None:
    check_room({}, codec(), play=CONFIG, context=CONFIG.context)
    check_room({"a": solution()}, codec(), play=CONFIG, context=CONFIG.context + added())
    with pytest.raises(ConfigError, match=rf"play.context=2048: .* {added()} tokens for a, .* {2047 + added()} tokens"):
        check_room({"a": solution()}, codec(), play=CONFIG, context=CONFIG.context + added() - 1)

from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palaestra.errors import RecordError
from palaestra.records import (
    LAYERS,
    CriterionSpec,
    EndReason,
    Features,
    Message,
    Score,
    TaskSpec,
    ToolCall,
    ToolEvent,
    Verdict,
)
from palaestra.trajectory import Episode, Segment, Turn, dump_episode, read_episodes, write_episodes

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
words = st.tuples() | st.tuples(texts)
numbers = st.integers(-100, 100)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | numbers | st.floats(-1e6, 1e6) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
objects = st.dictionaries(texts, values, max_size=2)
layers = st.dictionaries(st.sampled_from(LAYERS), numbers, max_size=4)
messages = st.builds(Message, role=st.sampled_from(["system", "user", "assistant", "tool"]), content=texts) | st.builds(
    Message, role=st.just("tool"), content=texts, name=texts, tool_call_id=texts
)
calls = st.builds(ToolCall, tool=texts, arguments=objects)
events = st.builds(
    ToolEvent,
    call_id=texts, tool=texts, arguments=objects, schema_ok=st.booleans(), semantic_ok=st.booleans(),
    executed=st.booleans(), result_digest=texts, error=st.none() | texts, cost=numbers, latency=numbers,
    duplicate_of=st.none() | texts, named=words, written=numbers,
    shown=st.tuples() | st.tuples(st.tuples(texts, texts)),
    mentioned=st.frozensets(texts, max_size=3),
)  # fmt: skip
turns = st.builds(
    Turn,
    text=st.none() | texts, calls=st.lists(calls, max_size=2).map(tuple),
    events=st.lists(events, max_size=2).map(tuple),
    changes=st.lists(objects, max_size=1).map(tuple), observation=st.lists(messages, max_size=2).map(tuple),
    reward=st.floats(-100, 100), components=layers, met=words, violated=words, state_hash=texts, anchor=texts,
)  # fmt: skip
verdicts = st.builds(Verdict, met=st.booleans(), reason=texts)
specs = st.builds(
    CriterionSpec,
    id=texts, text=texts, kind=st.sampled_from(["expect", "forbid"]), points=numbers, layer=st.sampled_from(LAYERS),
    after=words,
)  # fmt: skip
tasks = st.builds(
    TaskSpec,
    id=texts, family=texts, split=texts, level=numbers, traits=words, world_seed=numbers, max_turns=numbers,
    unseen=st.booleans(),
    oracle_calls=numbers,
    features=st.builds(
        Features, hops=numbers, entities=numbers, exceptions=numbers, writes=numbers, messages=numbers
    ),
)  # fmt: skip
episodes = st.builds(
    Episode,
    env_id=texts, task=tasks, agent=texts, seed=numbers, tools=st.lists(objects, max_size=1).map(tuple),
    rubric=st.lists(specs, max_size=2).map(tuple),
    segments=st.lists(
        st.builds(
            Segment,
            prompt=st.lists(messages, max_size=1).map(tuple), turns=st.lists(turns, max_size=2).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
    end=st.none() | st.sampled_from(EndReason),
    score=st.builds(
        Score,
        points=numbers, total=numbers, passed=st.booleans(), verdicts=st.dictionaries(texts, verdicts, max_size=2),
        components=layers,
    ),
    valid_for_baseline=st.booleans(),
)  # fmt: skip

EPISODE = Episode(
    env_id="test/Library-v0",
    task=TaskSpec(
        id="library/x/0000", family="library/x", split="train", level=1, traits=(), world_seed=1, max_turns=3,
        unseen=False,
        oracle_calls=1,
        features=Features(hops=1, entities=2, exceptions=0, writes=1, messages=1),
    ),
    agent="hand", seed=0, tools=(), rubric=(),
    segments=(
        Segment(
            prompt=(Message(role="user", content="Go."),),
            turns=tuple(
                Turn(
                    text=None, calls=(), events=(), changes=(), observation=(), reward=reward, components={}, met=(),
                    violated=(), state_hash="", anchor="",
                )
                for reward in (40.0, -10.0)
            ),
        ),
    )
    * 2,
    end=None,
    score=Score(points=60, total=100, passed=False, verdicts={}, components={}),
    valid_for_baseline=True,
)  # fmt: skip


@settings(max_examples=50, deadline=None)
@given(written=st.lists(episodes, max_size=3))
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, written: list[Episode]) -> None:
    path = tmp_path_factory.mktemp("episodes") / "episodes.jsonl"
    assert write_episodes(path, written) == len(written)
    assert list(read_episodes(path)) == written


@settings(max_examples=30, deadline=None)
@given(episode=episodes)
def test_an_episode_is_one_line_and_the_same_bytes_each_time(episode: Episode) -> None:
    line = dump_episode(episode)
    assert b"\n" not in line
    assert dump_episode(episode) == line


def test_turns_run_over_segments_and_rewards_sum_to_the_return() -> None:
    assert [turn.reward for turn in EPISODE.turns] == [40.0, -10.0, 40.0, -10.0]
    assert EPISODE.episode_return == EPISODE.score.points == 60


def test_a_digest_names_states_actions_observations_and_rewards() -> None:
    other = orjson.loads(dump_episode(EPISODE))
    assert EPISODE.digest() == EPISODE.digest()
    changed: list[tuple[str, Any]] = [
        ("reward", 41.0),
        ("text", "x"),
        ("state_hash", "0"),
        ("observation", [{"role": "tool", "content": "x"}]),
        ("calls", [{"tool": "x", "arguments": {}}]),
    ]
    digests = {EPISODE.digest()}
    for field, value in changed:
        altered = orjson.loads(orjson.dumps(other))
        altered["segments"][0]["turns"][1][field] = value
        digests.add(parse(altered).digest())
    assert len(digests) == len(changed) + 1


def parse(value: Any) -> Episode:
    from pydantic import TypeAdapter

    return TypeAdapter(Episode).validate_json(orjson.dumps(value))


def test_a_line_that_cannot_be_read_is_named_with_its_field(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    spoilt = orjson.loads(dump_episode(EPISODE))
    spoilt["segments"][1]["turns"][0]["reward"] = "much"
    path.write_bytes(dump_episode(EPISODE) + b"\n" + orjson.dumps(spoilt) + b"\n")
    read = read_episodes(path)
    assert next(read) == EPISODE
    with pytest.raises(RecordError) as raised:
        next(read)
    assert f"{path}, line 2: segments.1.turns.0.reward: Input should be a valid number" in str(raised.value)


def test_a_line_that_is_no_json_is_named(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    path.write_bytes(dump_episode(EPISODE)[:-5] + b"\n")
    with pytest.raises(RecordError, match="line 1: the line: Invalid JSON"):
        list(read_episodes(path))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"cannot be read .*; give a file of trajectories"):
        list(read_episodes(tmp_path / "none.jsonl"))

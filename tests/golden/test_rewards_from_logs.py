"""Rewards can be worked out again from the file of a trajectory and the task's id: every task, every setting."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import orjson
import pytest
from pydantic import TypeAdapter

from golden.walks import LISTED, SETTINGS, listed, make
from palaestra.agents import LegalRandom, ScriptedAgent, as_action, rollout
from palaestra.envs import ToolEnv
from palaestra.envs.worlds.storefront.schema import SCHEMA
from palaestra.protocols import Action, Agent
from palaestra.records import JsonObject, Row, RowChange
from palaestra.rubrics import TurnLog, rescore
from palaestra.seeding import Stream
from palaestra.trajectory import Episode, read_episodes, write_episodes
from property.budget import REWARDS_EVERY

ROWS = {info.name: TypeAdapter[Row](info.kind) for info in SCHEMA}


def agents(env: ToolEnv, stream: Stream) -> Iterator[tuple[str, Agent]]:
    """Who plays, task by task: the oracle, one who strays from its way, and chance."""

    def straying() -> list[Action]:
        # The oracle's own calls, some left out and some legal ones put between them.
        kept = [as_action(call) for call in env.oracle() if stream.chance(85)]
        return [action for call in kept for action in (*env.legal_actions(stream.below(2)), call)]

    oracle = ScriptedAgent(lambda: [as_action(call) for call in env.oracle()])
    yield from itertools.cycle(
        (("oracle", oracle), ("straying", ScriptedAgent(straying)), ("legal", LegalRandom(env.legal_actions)))
    )


def row_of(table: str, row: JsonObject | None) -> Row | None:
    return None if row is None else ROWS[table].validate_json(_json(row))


def _json(row: JsonObject) -> bytes:
    return orjson.dumps(row)


def change_of(change: Any) -> RowChange:
    table = change["table"]
    before, after = (row_of(table, change[side]) for side in ("before", "after"))
    return RowChange(table=table, key=change["key"], before=before, after=after)


def log_of(episode: Episode) -> list[TurnLog]:
    """The episode as `rescore` reads it; what was answered stands in the call that finished."""
    turns = list(episode.turns)
    logs: list[TurnLog] = []
    for number, turn in enumerate(turns, 1):
        last = turn.events[-1] if turn.events else None
        answer = last.arguments.get("answer") if last is not None and last.tool == "finish" and last.executed else None
        logs.append(
            TurnLog(
                events=turn.events,
                changes=tuple(map(change_of, turn.changes)),
                answer=cast("JsonObject", answer or {}),
                end=episode.end if number == len(turns) else None,
                heard=tuple(message["content"] for message in turn.observation),
            )
        )
    return logs


def check_rewards(setting: str, tasks: list[str], path: Path) -> None:
    env, stream = make(setting), Stream.root("rewards", setting, *tasks[:1])
    played = zip(tasks, agents(env, stream), strict=False)
    write_episodes(path, (rollout(env, who, name=name, seed=n, task=t) for n, (t, (name, who)) in enumerate(played)))
    fresh, episodes = make(setting), list(read_episodes(path))
    assert len(episodes) == len(tasks) > 0
    for episode in episodes:
        fresh.reset(seed=episode.seed, options={"task": episode.task.id})
        instance = fresh.instance
        state = instance.initial_state.fork()
        scores = list(rescore(instance.rubric, instance.evidence(state), state, log_of(episode)))
        sums = list(itertools.accumulate(turn.reward for turn in episode.turns))
        assert [score.points for score in scores] == sums, episode.task.id
        assert scores[-1] == episode.score, episode.task.id
        assert [turn.state_hash for turn in episode.turns][-1] == state.state_hash()


@pytest.mark.parametrize("family", listed())
def test_every_task_s_rewards_follow_from_its_log(family: str, tmp_path: Path) -> None:
    ids = make("plain").task_set.ids
    check_rewards("plain", [t for s in LISTED for t in ids(s) if t.startswith(f"{family}/")], tmp_path / "log.jsonl")


@pytest.mark.parametrize("setting", [setting for setting in SETTINGS if setting != "plain"])
def test_under_every_setting_rewards_follow_from_the_log(setting: str, tmp_path: Path) -> None:
    ids = make("plain").task_set.ids
    every = [task for split in LISTED for task in ids(split)]
    step = REWARDS_EVERY * (4 if setting == "handbook" else 1)  # each task is made in a world of its own there
    check_rewards(setting, every[::step], tmp_path / "log.jsonl")

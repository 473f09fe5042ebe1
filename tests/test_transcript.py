"""What an agent may see of an episode: all that it read and wrote, and no word about what judges it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import cache

import gymnasium as gym
import orjson
import pytest

from palaestra.agents import oracle, rollout
from palaestra.envs import ToolEnv
from palaestra.records import Json
from palaestra.tools import CHAT_FORMATS
from palaestra.trainers.data.demonstration import render_episode
from palaestra.trajectory import Episode
from palaestra.transcript import AgentTranscript, TranscriptTurn, transcript_of

ORDINARY = {"address", "answer", "cancelled", "declined", "escalated", "lost", "recall", "remedy", "resolved"}
"""Names of criteria and of a family that agents read as ordinary words: columns, states of rows, arguments."""


@cache
def env() -> ToolEnv:
    made = gym.make("palaestra/Storefront-v0").unwrapped
    assert isinstance(made, ToolEnv)
    return made


def tasks_of_every_family() -> list[str]:
    """The first task of each family in `train` and in `heldout`."""
    first: dict[tuple[str, str], str] = {}
    for split in ("train", "heldout"):
        for task in env().task_set.ids(split):
            first.setdefault((split, task.rpartition("/")[0]), task)
    return list(first.values())


@cache
def played(task: str) -> Episode:
    return rollout(env(), oracle(env().oracle), name="oracle", seed=7, task=task)


def strings(value: Json) -> Iterator[str]:
    """Every string of a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from strings(key)
            yield from strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)


def names_that_judge(episode: Episode) -> list[str]:
    """The names of a task, its family and its criteria, and the sentences of its rubric."""
    family = episode.task.family
    criteria = [text for criterion in episode.rubric for text in (criterion.id, criterion.text)]
    return [episode.task.id, family, family.partition("/")[2], *criteria]


def leaks(seen: Sequence[str], names: Sequence[str]) -> list[str]:
    """The names that occur in `seen`. One plain word, such as "lost", counts only where it is a whole string."""
    whole = frozenset(text.strip() for text in seen)
    text = "\n".join(seen)
    return [
        name
        for name in names
        if name in whole or (not name.isalpha() and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text))
    ]


def seen_strings(episode: Episode) -> list[str]:
    """Every string of the episode's transcript."""
    return list(strings(orjson.loads(orjson.dumps(transcript_of(episode)))))


def test_no_transcript_names_what_judges_it() -> None:
    tasks = tasks_of_every_family()
    assert len({task.split("/")[1] for task in tasks}) == len(env().task_set.families)
    plain: set[str] = set()
    for task in tasks:
        episode = played(task)
        found = leaks(seen_strings(episode), names_that_judge(episode))
        assert all(name.isalpha() for name in found), task
        plain |= set(found)
    assert plain <= ORDINARY


def test_the_check_finds_a_name_that_was_put_in() -> None:
    episode = played("storefront/recall/0000")
    for name in names_that_judge(episode):
        assert leaks([f"Hello {name}.", name], [name]) == [name]


def test_a_transcript_has_no_place_for_a_rubric_a_task_or_a_seed() -> None:
    assert {one.name for one in fields(AgentTranscript)} == {"tools", "prompt", "turns"}
    assert {one.name for one in fields(TranscriptTurn)} == {"text", "calls", "observation"}


def test_a_transcript_holds_all_that_the_agent_read_and_did() -> None:
    episode = played("storefront/talk-fee-told/0000")
    transcript = transcript_of(episode)
    assert transcript.prompt == episode.segments[0].prompt
    assert transcript.tools == episode.tools
    assert [turn.calls for turn in transcript.turns] == [turn.calls for turn in episode.turns]
    assert [turn.observation for turn in transcript.turns] == [turn.observation for turn in episode.turns]


def test_a_transcript_does_not_depend_on_what_an_agent_may_not_see() -> None:
    task = "storefront/cancel-order/0000"
    other = rollout(env(), oracle(env().oracle), name="somebody", seed=8, task=task)
    assert other.seed != played(task).seed
    assert transcript_of(other) == transcript_of(played(task))


def test_a_segment_that_is_not_there_is_an_error() -> None:
    with pytest.raises(IndexError):
        transcript_of(played("storefront/cancel-order/0000"), segment=1)


def test_a_demonstration_holds_the_transcript_and_nothing_else() -> None:
    episode = played("storefront/refund-damaged-item/0000")
    text = "".join(map(str, render_episode(transcript_of(episode), CHAT_FORMATS.get("qwen"))))
    assert not leaks([text], [name for name in names_that_judge(episode) if not name.isalpha()])

"""The compact rendering of the solutions of every family of every world: what is written follows from what is shown."""

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import palaestra
from palaestra.agents import oracle, rollout
from palaestra.digest import digest
from palaestra.records import Json, ToolCall
from palaestra.tools import CompactFormat, Mark
from palaestra.transcript import AgentTranscript, transcript_of

# One process makes the transcripts once; `tests/tools/test_compact.py` covers the format.
pytestmark = [pytest.mark.unmeasured, pytest.mark.xdist_group("compact-demonstrations")]

COMPACT = CompactFormat()
ROOT = Path(__file__).parents[2]
WORLDS = ("storefront", "human-resources", "storefront-pages", "human-resources-pages")
_LONG_NUMBER = re.compile(r"(?<![\w.-])\d{3,}(?![\w.-])")
_ID = re.compile(r"\b[A-Z]{2,5}-\d{2,}\b")
_WORD = re.compile(r"[\w.@'-]*\w")
_HANDLE = re.compile(r"<\w+\.\d+>")
_TOPIC = re.compile(r"[a-z_]+")
"""A word that names what a message is about; it names no value of the world."""
_SMALL = 10
"""Numbers below it may be a way of speaking, or follow from what was counted."""


def environment(world: str) -> Any:
    pages: dict[str, Any] = {"surface": "pages", "surface_settings": {"dialect": "compact", "changes": True}}
    switches = pages if world.endswith("-pages") else {}
    if world.startswith("storefront"):
        return gym.make("palaestra/Storefront-v0", **switches)
    return gym.make(palaestra.register_world(ROOT / "examples" / "worlds" / "human_resources"), **switches)


@cache
def transcripts(world: str) -> dict[str, AgentTranscript]:
    """By task: the solution of the first task of each family of `train`, and of those that other splits add."""
    env = environment(world)
    task_set = env.unwrapped.task_set
    first: dict[str, str] = {}
    for split in ("train", "dev", "heldout"):
        for task in task_set.ids(split):
            first.setdefault(task.split("/")[1], task)
    expert = oracle(env.unwrapped.oracle)
    return {t: transcript_of(rollout(env, expert, name="oracle", seed=0, task=t)) for t in sorted(first.values())}


def turns(transcript: AgentTranscript) -> Iterator[tuple[list[str], list[str], tuple[ToolCall, ...], str]]:
    """Each turn: all pieces that were read before it, its own, its calls, and the text that is read from it."""
    rendering = COMPACT.rendering()
    read = rendering.opening(transcript.prompt, transcript.tools)
    for turn in transcript.turns:
        written = rendering.write_turn(turn.calls)
        yield read, written, turn.calls, rendering.read(written)
        read = [*read, *written, *rendering.following(turn.observation)]


@pytest.mark.parametrize("world", WORLDS)
def test_a_call_written_with_handles_is_read_as_the_same_call(world: str) -> None:
    for task, transcript in transcripts(world).items():
        for _, _, calls, text in turns(transcript):
            assert COMPACT.parse(text).calls == calls, task


@pytest.mark.parametrize("world", WORLDS)
def test_no_handle_is_written_before_it_was_shown(world: str) -> None:
    for task, transcript in transcripts(world).items():
        for read, written, _, _ in turns(transcript):
            shown = {piece for piece in read if isinstance(piece, Mark)} | {COMPACT.end}
            assert {piece for piece in written if isinstance(piece, Mark)} <= shown, task


@pytest.mark.parametrize("world", WORLDS)
def test_no_id_or_long_number_is_written_but_as_a_handle_or_as_a_word_that_was_shown(world: str) -> None:
    for task, transcript in transcripts(world).items():
        for read, written, _, _ in turns(transcript):
            shown = " ".join(piece for piece in read if not isinstance(piece, Mark))
            for piece in written:
                if not isinstance(piece, Mark):
                    for found in (*_LONG_NUMBER.findall(piece), *_ID.findall(piece)):
                        assert re.search(rf"(?<!\w){found}(?!\w)", shown), f"{task}: {found} in {piece!r}"


@pytest.mark.parametrize("world", [world for world in WORLDS if world != "storefront-pages"])  # addresses name columns
def test_every_written_value_can_be_derived_from_what_is_shown(world: str) -> None:
    for task, transcript in transcripts(world).items():
        choices = _choices(transcript)
        for read, written, calls, _ in turns(transcript):
            shown = " ".join(piece for piece in read if not isinstance(piece, Mark)).casefold()
            for name, value in _plain_values("".join(written[:-1]), calls):
                known = value in choices or bool(_TOPIC.fullmatch(value)) or (value.isdigit() and int(value) < _SMALL)
                words = [word.casefold() for word in _WORD.findall(_HANDLE.sub("", value))]
                assert known or all(word in shown for word in words), f"{task}: {name}={value}"


def _choices(transcript: AgentTranscript) -> set[str]:
    """The values that some tool lists for an argument, and true and false."""
    found = {"true", "false"}

    def walk(schema: Json) -> None:
        if isinstance(schema, dict):
            listed = schema.get("enum")
            found.update(map(str, listed if isinstance(listed, list) else ()))
            for part in schema.values():
                walk(part)
        elif isinstance(schema, list):
            for part in schema:
                walk(part)

    walk(list(transcript.tools))
    return found


def _plain_values(line: str, calls: tuple[ToolCall, ...]) -> Iterator[tuple[str, str]]:
    """The values of a turn that are no handles and no prose, with their arguments."""
    prose = {name for call in calls for name in call.arguments if name in ("message", "body", "query")}
    for name, value in re.findall(r' (\w+)=("(?:[^"\\]|\\.)*"|\S+)', line):
        if name not in prose:
            for part in re.findall(r"[^\[\]{},\"]+", value):
                if not re.fullmatch(r"<\w+\.\d+>|", part.strip(":")):
                    yield name, part.strip(":")


def test_a_rendering_is_the_same_in_another_process() -> None:
    task = "storefront/least-approver/0000"
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_compact_demonstrations as t;"
        f"print(t.digest_of({task!r}))"
    )
    other = subprocess.run(
        [sys.executable, "-c", program, str(Path(__file__).parent)],
        capture_output=True, text=True, check=True, env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "7"},
    )  # fmt: skip
    assert other.stdout.strip() == digest_of(task)


def digest_of(task: str) -> str:
    """A digest of the rendered solution of a task of the Storefront."""
    env = environment("storefront")
    transcript = transcript_of(rollout(env, oracle(env.unwrapped.oracle), name="oracle", seed=0, task=task))
    return digest([[*read, *written] for read, written, _, _ in turns(transcript)])

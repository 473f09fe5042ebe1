"""Does the rendering show what decides? An imitator of half of a family's demonstrations plays the other half.

The tasks of even index are demonstrated and those of odd index are played, or the reverse. A family and its twin share
an imitator, so it must tell from the records which of the two it has before it: requests and first calls are equal.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from palaestra.agents import oracle, rollout
from palaestra.benchmarks.learnability.demonstrations import Demonstration
from palaestra.benchmarks.learnability.imitator import Imitator
from palaestra.envs import ToolEnv
from palaestra.steps import StepRecord
from palaestra.table import Table
from palaestra.tools import CHAT_FORMATS, ChatFormat
from palaestra.transcript import AgentTranscript, transcript_of

_TWIN = "-twin"
_MOST_TURNS = 80
"""Turns after which an imitator that goes round in a circle is stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyLearnability:
    """What an imitator of a family did."""

    family: str
    demonstrations: int
    played: tuple[str, ...]
    """The tasks that it played."""
    failed: tuple[str, ...]
    """Those of them that it did not solve."""

    @property
    def solved(self) -> int:
        """How many it solved."""
        return len(self.played) - len(self.failed)


def measure_learnability(
    env_id: str,
    *,
    form: str = "compact",
    families: Sequence[str] | None = None,
    twins: bool = True,
    odd: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> list[FamilyLearnability]:
    """Build an imitator for each family of `train` and let it play what it has not seen.

    Args:
        env_id: The world.
        form: The chat format whose rendering is measured.
        families: The families, without their twins; all if not said.
        twins: Whether a family and its twin share an imitator; else each has its own.
        odd: Whether the tasks of odd index are demonstrated and those of even index played, in place of the reverse.
        progress: Told of each family that is done.

    Raises:
        UnknownNameError: there is no such chat format.
        ConfigError: the world does not know the format.
    """
    chat = CHAT_FORMATS.get(form)
    env: gym.Env[Any, Any] = gym.make(env_id, action_format=form)
    world = env.unwrapped
    assert isinstance(world, ToolEnv), f"{env_id} is Palaestra's own"
    groups: dict[str, list[str]] = defaultdict(list)
    for task in world.task_set.ids("train"):
        family = task.split("/")[1]
        groups[family.removesuffix(_TWIN) if twins else family].append(task)
    found: list[FamilyLearnability] = []
    for family in sorted(groups):
        if families is None or family.removesuffix(_TWIN) in families:
            found.append(_measure(env, world, chat, family, groups[family], odd=odd))
            progress(family)
    return found


def _measure(
    env: gym.Env[Any, Any], world: ToolEnv, form: ChatFormat, family: str, tasks: Sequence[str], *, odd: bool
) -> FamilyLearnability:
    shown = [task for task in tasks if _index(task) % 2 == odd]
    played = [task for task in tasks if _index(task) % 2 != odd]
    expert = oracle(world.oracle)
    transcripts = [transcript_of(rollout(env, expert, name="oracle", seed=0, task=task)) for task in shown]
    imitator = Imitator([demonstrate(transcript, form) for transcript in transcripts])
    return FamilyLearnability(
        family=family,
        demonstrations=len(shown),
        played=tuple(played),
        failed=tuple(task for task in played if not play_imitator(imitator, env, form, task)),
    )


def _index(task: str) -> int:
    return int(task.rpartition("/")[2])


def demonstrate(transcript: AgentTranscript, form: ChatFormat) -> Demonstration:
    """An episode as its policy would have read and written it.

    Args:
        transcript: The episode; each of its turns holds calls.
        form: The chat format.
    """
    rendering = form.rendering()
    read = [tuple(rendering.opening(transcript.prompt, transcript.tools))]
    written: list[tuple[str, ...]] = []
    for turn in transcript.turns:
        written.append(tuple(rendering.write_turn(turn.calls)[:-1]))
        read.append(tuple(rendering.following(turn.observation)))
    return Demonstration(read=tuple(read[:-1]), written=tuple(written))


def play_imitator(imitator: Imitator, env: gym.Env[Any, Any], form: ChatFormat, task: str) -> bool:
    """Whether an imitator solves a task; one that comes to a place without a demonstration does not.

    Args:
        imitator: Who plays.
        env: The world, with the format's action format.
        form: The chat format.
        task: The task's id.
    """
    messages, info = env.reset(seed=0, options={"task": task})
    rendering = form.rendering()
    case = imitator.begin()
    case.read(rendering.opening(messages, list(info["tools"])))
    for _ in range(_MOST_TURNS):
        turn = imitator.next_turn(case)
        if turn is None:
            return False
        messages, _, terminated, truncated, info = env.step(rendering.read([*turn, form.end]))
        if terminated or truncated:
            record: StepRecord = info["record"]
            return record.score is not None and record.score.passed
        case.read(rendering.following(messages))
    return False


def learnability_table(found: Iterable[FamilyLearnability], *, form: str) -> Table:
    """What was solved, by family and in all."""
    every = list(found)
    rows = [(one.family, str(one.demonstrations), str(len(one.played)), *_format_solved([one])) for one in every]
    total = ("all", str(sum(one.demonstrations for one in every)), str(sum(len(one.played) for one in every)))
    return Table(
        title=f"Tasks that an imitator of demonstrations in the format {form} solves",
        columns=("family", "demonstrations", "played", "solved", "%"),
        rows=(*rows, (*total, *_format_solved(every))),
        note=(
            "Decision trees over the rendered text, one imitator a family and its twin, built from half of the tasks "
            "of `train`, by even or odd index; it plays the other half."
        ),
    )


def _format_solved(found: Sequence[FamilyLearnability]) -> tuple[str, str]:
    solved, played = sum(one.solved for one in found), sum(len(one.played) for one in found)
    return str(solved), f"{100 * solved / played:.1f}" if played else "-"

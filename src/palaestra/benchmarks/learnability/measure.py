"""Measures whether the rendering shows what decides: an imitator of half of a family's demonstrations plays the rest.

Tasks with an even index are demonstrated and those with an odd index are played, or the reverse. A family and its twin
share an imitator, which must distinguish them by the records: their requests and first calls are equal.
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
"""Number of turns after which an imitator in a loop is stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyLearnability:
    """The results of a family's imitator."""

    family: str
    demonstrations: int
    played: tuple[str, ...]
    """The tasks that it played."""
    failed: tuple[str, ...]
    """The played tasks that it did not solve."""

    @property
    def solved(self) -> int:
        """Number of solved tasks."""
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
    """Build an imitator for each family of `train` and let it play tasks that it has not seen.

    Args:
        env_id: The world.
        form: The chat format whose rendering is measured.
        families: The families, without their twins; by default all.
        twins: Whether a family and its twin share an imitator; otherwise each has its own.
        odd: Whether tasks with an odd index are demonstrated and those with an even index played, instead of the
            reverse.
        progress: Receives each finished family.

    Raises:
        UnknownNameError: there is no such chat format.
        ConfigError: the world does not support the format.
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
    """Render an episode as its policy would have read and written it.

    Args:
        transcript: The episode; each of its turns contains calls.
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
    """Play a task with an imitator; return whether it was solved. A situation without a demonstration ends it unsolved.

    Args:
        imitator: The imitator.
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
    """The table of solved tasks, by family and in total."""
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

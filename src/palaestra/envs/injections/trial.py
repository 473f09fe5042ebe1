"""Trials: a task's calls played with the world's own tools, to know what its honest solutions touch and reach."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from palaestra.envs.episode import LiveEpisode
from palaestra.envs.world import Surface
from palaestra.ids import words, words_in
from palaestra.records import ToolCall

if TYPE_CHECKING:
    from palaestra.envs.instance import Instance


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTrials:
    """What a task's own solutions do."""

    shown: tuple[tuple[str, str], ...]
    """(table, key) of the rows that they are shown, in order of table and key."""
    touched: frozenset[str]
    """The ids that they name, and those that the request and the rubric name: what the task is about."""


def play_turns(
    instance: "Instance", calls: Sequence[ToolCall], surface: Surface | None = None
) -> Iterator[LiveEpisode]:
    """The episode before the first and after each of these calls of the world's own tools, one a turn.

    Args:
        instance: The task.
        calls: The calls, which are translated for a surface.
        surface: The surface; `None` for the world's own tools.
    """
    surface = surface or Surface(toolbox=instance.world.toolbox)
    calls = surface.translate(calls, instance.initial_state)
    limit = len(calls) + instance.spec.max_turns * surface.turns
    episode = LiveEpisode(instance, seed=0, max_turns=limit, toolbox=surface.toolbox, begin=surface.begin)
    yield episode
    for call in calls:
        if episode.evidence.end is not None:
            return
        episode.begin_turn()
        messages = episode.run((call,))
        episode.close_turn(tuple(messages), readable=True)
        yield episode


def play_calls(instance: "Instance", calls: Sequence[ToolCall], surface: Surface | None = None) -> LiveEpisode:
    """The episode after these calls; as `play_turns`."""
    *_, last = play_turns(instance, calls, surface)
    return last


@lru_cache(maxsize=512)
def task_trials(instance: "Instance") -> TaskTrials:
    """What the solutions of a task do."""
    touched = set(instance.given)
    shown: set[tuple[str, str]] = set()
    for number, calls in enumerate((instance.oracle, *instance.alternatives)):
        for event in play_calls(instance, calls).evidence.events:
            touched.update(event.named, words_in(event.arguments))
            shown.update(event.shown if number == 0 else ())
            touched.update(key for table, key in event.shown if table != "handbook")
    for criterion in instance.rubric.criteria:
        touched.update(words(criterion.text), (a.key for a in criterion.allows if a.key))
    touched.update(allowance.key for allowance in instance.permitted if allowance.key)
    existing = frozenset(id_ for id_ in touched if instance.initial_state.has_row(id_))
    return TaskTrials(shown=tuple(sorted(shown)), touched=existing)

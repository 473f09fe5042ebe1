"""What is recorded of a task: how it was played, and how likely the policy holds the oracle's turns."""

from palaestra.benchmarks.evaluation.tally import unreadable
from palaestra.benchmarks.learning.evaluation import TaskResult
from palaestra.benchmarks.transfer.likelihood import TurnLikelihood
from palaestra.record import record
from palaestra.trajectory import Episode, Turn


@record
class TaskFigures:
    """One task under one policy."""

    solved: tuple[int, ...]
    """Of each sample 1 where it solved the task, and 0 where not."""
    points: tuple[int, ...]
    """Of each sample."""
    legal: float
    """Percent of the first sample's turns that could be read and whose calls the world took."""
    lookups: float
    """Percent of the checklist's look-ups that the first sample made."""
    nats: float | None = None
    """Of the oracle's turns, a token; `None` where its solution is longer than the policy reads, or for an agent that
    is no policy."""


def figures_of(result: TaskResult, episode: Episode, likelihood: TurnLikelihood | None) -> TaskFigures:
    """The figures of a task.

    Args:
        result: Of all samples.
        episode: The first sample.
        likelihood: Of the oracle's turns.
    """
    return TaskFigures(
        solved=tuple(map(int, result.solved)),
        points=result.points,
        legal=legal_share(episode),
        lookups=lookup_share(episode),
        nats=None if likelihood is None else round(likelihood.nats, 4),
    )


def legal_share(episode: Episode) -> float:
    """Percent of turns that could be read and whose calls the world took; 0 where there was no turn."""
    legal = [_is_legal(turn) for turn in episode.turns]
    return round(100 * sum(legal) / max(1, len(legal)), 1)


def _is_legal(turn: Turn) -> bool:
    return not unreadable(turn) and all(event.schema_ok and event.error is None for event in turn.events)


def lookup_share(episode: Episode) -> float:
    """Percent of the look-ups that the rubric expects and the episode made; 100 where it expects none."""
    wanted = [one.id for one in episode.rubric if one.kind == "expect" and one.layer == "selection"]
    made = [name for name in wanted if episode.score.verdicts[name].met]
    return round(100 * len(made) / len(wanted), 1) if wanted else 100.0

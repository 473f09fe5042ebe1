"""The figures of a task: how a policy played it, and the policy's likelihood of the oracle's turns."""

from palaestra.benchmarks.evaluation.tally import unreadable
from palaestra.benchmarks.learning.evaluation import TaskResult
from palaestra.benchmarks.transfer.likelihood import TurnLikelihood
from palaestra.record import record
from palaestra.trajectory import Episode, Turn


@record
class TaskFigures:
    """The figures of one task under one policy."""

    solved: tuple[int, ...]
    """For each sample, 1 where it solved the task, otherwise 0."""
    points: tuple[int, ...]
    """The points of each sample."""
    legal: float
    """Percentage of the first sample's turns that were readable and whose calls the world accepted."""
    lookups: float
    """Percentage of the checklist's look-ups that the first sample made."""
    nats: float | None = None
    """Nats per token of the oracle's turns; `None` where its solution is longer than the policy reads, or for an agent
    that is not a policy."""


def figures_of(result: TaskResult, episode: Episode, likelihood: TurnLikelihood | None) -> TaskFigures:
    """Compute the figures of a task.

    Args:
        result: The results of all samples.
        episode: The first sample.
        likelihood: The likelihood of the oracle's turns.
    """
    return TaskFigures(
        solved=tuple(map(int, result.solved)),
        points=result.points,
        legal=legal_share(episode),
        lookups=lookup_share(episode),
        nats=None if likelihood is None else round(likelihood.nats, 4),
    )


def legal_share(episode: Episode) -> float:
    """Percentage of turns that were readable and whose calls the world accepted; 0 without turns."""
    legal = [_is_legal(turn) for turn in episode.turns]
    return round(100 * sum(legal) / max(1, len(legal)), 1)


def _is_legal(turn: Turn) -> bool:
    return not unreadable(turn) and all(event.schema_ok and event.error is None for event in turn.events)


def lookup_share(episode: Episode) -> float:
    """Percentage of the rubric's expected look-ups that the episode made; 100 where the rubric expects none."""
    wanted = [one.id for one in episode.rubric if one.kind == "expect" and one.layer == "selection"]
    made = [name for name in wanted if episode.score.verdicts[name].met]
    return round(100 * len(made) / len(wanted), 1) if wanted else 100.0

"""Parses a line of a file into the rows of a record's index. The same bytes give the same rows."""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from math import isfinite
from typing import Any, cast

import orjson
from pydantic import TypeAdapter, ValidationError

from palaestra.benchmarks.evaluation.agents.agent import Attempt, EpisodeCost
from palaestra.benchmarks.evaluation.episode_key import EpisodeKey
from palaestra.benchmarks.evaluation.outcome import EpisodeFault, EpisodeOutcome
from palaestra.benchmarks.evaluation.results import Block, episode_id
from palaestra.benchmarks.evaluation.tally import outcome_of
from palaestra.benchmarks.record.sources import FileRole
from palaestra.record import record
from palaestra.records import INT_RANGE, JsonObject
from palaestra.trajectory import Episode
from palaestra.validation import plain_rule

_EPISODE, _OUTCOME, _BLOCK = TypeAdapter(Episode), TypeAdapter(EpisodeOutcome), TypeAdapter(Block)
_NOTHING = EpisodeCost(prompt_tokens=None, completion_tokens=None)


class LineFault(ValueError):  # noqa: N818  the line is at fault
    """A line does not have the format of its file; the message locates the error."""


@record
class IndexedEpisode:
    """The content of a line about an episode."""

    key: str
    stage: str = ""
    step: int | None = None
    episode: Episode | None = None
    """`None` where the line holds only the outcome."""
    outcome: EpisodeOutcome | None = None
    """`None` where another file decides the outcome."""
    place: int = 0
    """The position among the episodes of the line."""


@record
class IndexedEvent:
    """A message of a training run."""

    step: int
    name: str
    text: str


@record
class IndexedProof:
    """The result of a proof."""

    is_proved: bool
    tasks: int
    faults: int
    sentence: str


@record
class LineIndex:
    """Everything that was parsed from a line."""

    episodes: tuple[IndexedEpisode, ...] = ()
    figures: tuple[tuple[int, str, float], ...] = ()
    """Step, name and value of each figure."""
    events: tuple[IndexedEvent, ...] = ()
    proof: IndexedProof | None = None
    settings: JsonObject = field(default_factory=dict[str, Any])
    """The content of a document of settings."""


def read_line(content: bytes, role: FileRole, *, stage: str, number: int) -> LineIndex:
    """Parse a line.

    Args:
        content: The line, without its line end.
        role: The role of the file.
        stage: The training stage that the file belongs to.
        number: The number of the line; it names episodes that have no other name.

    Raises:
        LineFault: the line cannot be read.
    """
    try:
        found = _READERS[role](content, stage, number)
    except ValidationError as error:
        first = error.errors()[0]
        raise LineFault(f"{'.'.join(map(str, first['loc'])) or 'the line'}: {plain_rule(first['msg'])}") from error
    except orjson.JSONDecodeError as error:
        raise LineFault(f"no JSON: {error}") from error
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise LineFault(f"not what the file holds: {type(error).__name__} {error}") from error
    _check_numbers(found)
    return found


def _check_numbers(found: LineIndex) -> None:
    """Check that all integers fit into a database column; JSON holds integers of any size."""
    for one in found.episodes:
        own = one.outcome
        numbers = [one.step] + ([] if own is None else [own.points, own.turns, own.sample])
        if any(number is not None and number not in INT_RANGE for number in numbers):
            raise LineFault(f"episode {one.key!r}: a number has more than 64 bits")
    if any(step not in INT_RANGE for step, _, _ in found.figures) or any(e.step not in INT_RANGE for e in found.events):
        raise LineFault("step: a number has more than 64 bits")


def episode_at(content: bytes, role: FileRole, place: int) -> Episode:
    """Parse one episode of a line, with its turns."""
    if role is FileRole.JOURNAL:
        return _BLOCK.validate_json(content).episodes[place]
    if role is FileRole.BATCHES:
        return _EPISODE.validate_python(_recorded_episodes(orjson.loads(content))[place])
    return _EPISODE.validate_json(content)


def _outcome(content: bytes, stage: str, number: int) -> LineIndex:
    del stage, number
    return LineIndex(episodes=(_of_outcome(_OUTCOME.validate_json(content)),))


def _of_outcome(outcome: EpisodeOutcome) -> IndexedEpisode:
    return IndexedEpisode(key=episode_id(outcome.cell, outcome.task, outcome.sample), outcome=outcome)


def _block(content: bytes, stage: str, number: int) -> LineIndex:
    del stage, number
    block = _BLOCK.validate_json(content)
    transcripts = (
        IndexedEpisode(key=episode.id, episode=episode, place=place) for place, episode in enumerate(block.episodes)
    )
    return LineIndex(episodes=(*map(_of_outcome, block.outcomes), *transcripts))


def _transcript(content: bytes, stage: str, number: int) -> LineIndex:
    del stage
    episode = _EPISODE.validate_json(content)
    return LineIndex(episodes=(IndexedEpisode(key=episode.id or f"line {number}", episode=episode),))


def _episode(content: bytes, stage: str, number: int) -> LineIndex:
    episode = _EPISODE.validate_json(content)
    return LineIndex(episodes=(_index_episode(episode, f"line {number}", stage, None, 0),))


def _index_episode(episode: Episode, key: str, stage: str, step: int | None, place: int) -> IndexedEpisode:
    """Index an episode without an evaluation: its outcome is computed as an evaluation would compute it."""
    where = EpisodeKey(cell="", task=episode.task.id, sample=0, seed=0)
    outcome = outcome_of(Attempt(episode_key=where, came=episode, spent=_NOTHING, begun=True))
    if not episode.valid_for_baseline:
        outcome = replace(outcome, fault=EpisodeFault(kind="world", said="the world failed"))
    return IndexedEpisode(key=key, stage=stage, step=step, episode=episode, outcome=outcome, place=place)


def _batch(content: bytes, stage: str, number: int) -> LineIndex:
    batch = orjson.loads(content)
    step = _integer(batch["step"]) + 1
    episodes = (_EPISODE.validate_python(one) for one in _recorded_episodes(batch))
    return LineIndex(
        episodes=tuple(
            # A step may be recorded twice, because its batch was quarantined; both records are kept.
            _index_episode(episode, f"{stage}/line {number}/{place}", stage, step, place)
            for place, episode in enumerate(episodes)
        )
    )


def _recorded_episodes(batch: Any) -> list[Any]:  # Any: JSON that the trainer wrote
    """The episodes of a batch: first those of whole groups, then continuations."""
    groups: list[Any] = [*batch["groups"], *(batch.get("branches") or [])]
    return [episode for group in groups for episode in group["episodes"]]


def _metric(content: bytes, stage: str, number: int) -> LineIndex:
    del stage, number
    row = _object(content)
    step = _integer(row["step"])
    if "event" in row:
        event = IndexedEvent(step=step, name=str(row["event"]), text=str(row.get("text", "")))
        return LineIndex(events=(event,))
    return LineIndex(figures=tuple(_figures(step, row)))


def _progress(content: bytes, stage: str, number: int) -> LineIndex:
    del stage, number
    history = cast("list[Mapping[str, Any]]", _object(content).get("history", []))
    rows = ((_integer(row.get("step", place)), row) for place, row in enumerate(history, 1))
    return LineIndex(figures=tuple(figure for step, row in rows for figure in _figures(step, row)))


def _figures(step: int, row: Mapping[str, Any]) -> Iterator[tuple[int, str, float]]:
    for name, value in row.items():
        if name != "step" and isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
            yield step, name, float(value)


def _proof(content: bytes, stage: str, number: int) -> LineIndex:
    del stage, number
    row: Any = _object(content)  # Any: a document of `proof_document`
    verdict = row["verdict"]
    return LineIndex(
        proof=IndexedProof(
            is_proved=verdict["proved"] is True,
            tasks=_integer(verdict["tasks"]),
            faults=_integer(verdict["faults"]),
            sentence=str(verdict["sentence"]),
        )
    )


def _settings(content: bytes, stage: str, number: int) -> LineIndex:
    del stage, number
    return LineIndex(settings=_object(content))


def _object(content: bytes) -> JsonObject:
    read: object = orjson.loads(content)
    if not isinstance(read, dict):
        raise LineFault("the line: no JSON object")
    return cast("JsonObject", read)


def _integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise LineFault(f"a whole number is needed, and {value!r} stands there")
    return value


_READERS = {
    FileRole.SETTINGS: _settings,
    FileRole.OUTCOMES: _outcome,
    FileRole.JOURNAL: _block,
    FileRole.TRAJECTORIES: _transcript,
    FileRole.CONFIG: _settings,
    FileRole.METRICS: _metric,
    FileRole.PROGRESS: _progress,
    FileRole.BATCHES: _batch,
    FileRole.EPISODES: _episode,
    FileRole.PROOF: _proof,
}

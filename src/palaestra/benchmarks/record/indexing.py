"""Writes the index of lines: rows of episodes, scores, verdicts, transcripts, figures, events and proofs.

The caller holds the lock of the run, so that no other writer changes its rows meanwhile.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import delete, exists, insert, select, update
from sqlalchemy.orm import Session

from palaestra.benchmarks.evaluation.metrics import family
from palaestra.benchmarks.record.models import (
    EpisodeRow,
    FigureRow,
    FileRow,
    LineRow,
    ProofRow,
    RunRow,
    ScoreRow,
    TrainingEventRow,
    TranscriptRow,
    VerdictRow,
)
from palaestra.benchmarks.record.reading import IndexedEpisode, LineIndex

_AT_ONCE = 500
"""Number of values in one condition: SQLite allows up to 32,766, PostgreSQL 65,535."""
T = TypeVar("T")
Rows: TypeAlias = list[dict[str, Any]]  # Any: values of columns


def index_lines(session: Session, run: RunRow, stage: str, lines: Iterable[tuple[int, LineIndex]]) -> None:
    """Write the index rows of lines.

    Args:
        session: The session whose transaction is used.
        run: The run that the lines belong to.
        stage: The training stage whose file holds the lines.
        lines: Line ids, each with the parsed content of its line.
    """
    episodes: list[tuple[int, IndexedEpisode]] = []
    figures: Rows = []
    events: Rows = []
    for line, found in lines:
        where = {"run_id": run.id, "line_id": line}
        episodes += [(line, one) for one in found.episodes]
        of_step = {**where, "stage": stage}
        figures += [{**of_step, "step": step, "name": name, "value": value} for step, name, value in found.figures]
        events += [{**of_step, "step": one.step, "name": one.name, "text": one.text} for one in found.events]
        if (proof := found.proof) is not None:
            own = {"is_proved": proof.is_proved, "tasks": proof.tasks, "faults": proof.faults}
            session.execute(insert(ProofRow), [{**where, **own, "sentence": proof.sentence}])
    _insert(session, FigureRow, figures)
    _insert(session, TrainingEventRow, events)
    if episodes:
        _write_episodes(session, run, episodes)


def _insert(session: Session, table: type[Any], rows: Rows) -> None:
    for some in _parts(rows):
        session.execute(insert(table), some)


def _parts(values: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(values)
    while part := [*islice(rest, _AT_ONCE)]:
        yield part


def _digest(key: str) -> str:
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _write_episodes(session: Session, run: RunRow, episodes: Sequence[tuple[int, IndexedEpisode]]) -> None:
    digests = {one.key: _digest(one.key) for _, one in episodes}
    ids = _ids(session, run, digests.values())
    described: dict[str, dict[str, Any]] = {}
    for _, one in episodes:
        described.setdefault(digests[one.key], {}).update(_description(one, run))
    missing = [digest for digest in described if digest not in ids]
    first: dict[str, IndexedEpisode] = {}
    for _, one in episodes:
        first.setdefault(digests[one.key], one)
    _insert(
        session,
        EpisodeRow,
        [
            {**_UNKNOWN, "run_id": run.id, "digest": digest, "key": first[digest].key, **described[digest]}
            for digest in missing
        ],
    )
    known = [{"id": ids[digest], **own} for digest, own in described.items() if digest in ids]
    if known:  # each row has only the columns that its line gives
        for row in known:
            session.execute(update(EpisodeRow).where(EpisodeRow.id == row.pop("id")).values(**row))
    ids |= _ids(session, run, missing)
    scored = {ids[digests[one.key]]: (line, one) for line, one in episodes if one.outcome is not None}
    _replace(session, ScoreRow, {id_: [_score(id_, line, one)] for id_, (line, one) in scored.items()})
    _replace(session, VerdictRow, {id_: _verdicts(id_, line, one) for id_, (line, one) in scored.items()})
    read = {ids[digests[one.key]]: (line, one) for line, one in episodes if one.episode is not None}
    places = {id_: [{"episode_id": id_, "line_id": line, "place": one.place}] for id_, (line, one) in read.items()}
    _replace(session, TranscriptRow, places)


_UNKNOWN: dict[str, Any] = {
    "stage": "", "step": None, "cell": "", "task": "", "family": "", "split": "", "agent": "", "sample": None,
}  # fmt: skip


def _ids(session: Session, run: RunRow, digests: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for some in _parts(dict.fromkeys(digests)):
        rows = select(EpisodeRow.digest, EpisodeRow.id).where(EpisodeRow.run_id == run.id, EpisodeRow.digest.in_(some))
        found |= {digest: id_ for digest, id_ in session.execute(rows)}  # noqa: C416  pyright reads it so
    return found


def _description(one: IndexedEpisode, run: RunRow) -> dict[str, Any]:
    """The columns of an episode that a line gives. An outcome has fewer than a transcript and must not erase any."""
    known: dict[str, Any] = {"stage": one.stage, "step": one.step}
    if one.episode is not None:
        task = one.episode.task
        known |= {"task": task.id, "family": task.family, "split": task.split, "agent": one.episode.agent}
    elif one.outcome is not None:
        own = one.outcome
        known |= {"task": own.task, "agent": run.agent}
        known |= {"family": own.family or family(own.task)}
    if one.outcome is not None and one.outcome.cell:
        known |= {"cell": one.outcome.cell, "sample": one.outcome.sample}
    return known


def _score(episode: int, line: int, one: IndexedEpisode) -> dict[str, Any]:
    own = one.outcome
    assert own is not None, "only outcomes are scored"
    return {
        "episode_id": episode,
        "line_id": line,
        "points": own.points,
        "solved": own.solved and own.fault is None,
        "harmed": own.harmed and own.fault is None,
        "fault": None if own.fault is None else own.fault.kind,
        "end": own.end,
        "turns": own.turns,
    }


def _verdicts(episode: int, line: int, one: IndexedEpisode) -> Rows:
    criteria: Mapping[str, bool] = {} if one.outcome is None else one.outcome.criteria
    return [
        {"episode_id": episode, "line_id": line, "place": place, "criterion": name, "counts": counts}
        for place, (name, counts) in enumerate(criteria.items())
    ]


def _replace(session: Session, table: type[ScoreRow | VerdictRow | TranscriptRow], rows: dict[int, Rows]) -> None:
    """Replace the rows of these episodes, including rows from other lines."""
    for some in _parts(rows):
        session.execute(delete(table).where(table.episode_id.in_(some)))
    _insert(session, table, [row for own in rows.values() for row in own])


def drop_index(session: Session, file: FileRow) -> None:
    """Remove all rows that were read from a file."""
    lines = select(LineRow.id).where(LineRow.file_id == file.id).scalar_subquery()
    for table in (ScoreRow, VerdictRow, TranscriptRow, FigureRow, TrainingEventRow, ProofRow):
        session.execute(delete(table).where(table.line_id.in_(lines)))


def drop_orphans(session: Session, run: RunRow) -> None:
    """Remove the episodes that no line describes any more."""
    scored = exists().where(ScoreRow.episode_id == EpisodeRow.id)
    read = exists().where(TranscriptRow.episode_id == EpisodeRow.id)
    session.execute(delete(EpisodeRow).where(EpisodeRow.run_id == run.id, ~scored, ~read))

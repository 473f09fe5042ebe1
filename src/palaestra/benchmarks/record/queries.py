"""Queries of a record: runs with counts, episodes by filters, curves, and results of evaluations."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import orjson
from pydantic import ValidationError
from sqlalchemy import ColumnElement, case, exists, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from palaestra.benchmarks.evaluation.results import Results, parse_results
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
from palaestra.benchmarks.record.reading import episode_at
from palaestra.benchmarks.record.sources import FileRole, RunKind
from palaestra.errors import RecordError, UnknownNameError
from palaestra.record import record
from palaestra.records import JsonObject
from palaestra.trainers.stage_kinds import stage_names
from palaestra.trajectory import Episode

_MOST_NAMES = 500
"""Maximum number of names in a list of suggestions."""


@record
class RunSummary:
    """A run with its counts."""

    id: int
    name: str
    kind: str
    agent: str
    suite: str
    episodes: int
    expected: int | None
    scored: int
    """Number of episodes with a score."""
    solved: int
    harmed: int
    points: float | None
    """Mean points of the episodes with a score."""
    steps: int | None
    """The last step of a training run."""
    faults: int
    """Number of lines that cannot be read."""
    updated: float


@record
class EpisodeSummary:
    """An episode as one row of a list."""

    id: int
    run: str
    run_id: int
    key: str
    stage: str
    step: int | None
    cell: str
    task: str
    family: str
    split: str
    agent: str
    sample: int | None
    points: int | None
    solved: bool
    harmed: bool
    fault: str | None
    end: str | None
    turns: int
    has_transcript: bool


VerdictChoice: TypeAlias = Literal["", "counts", "not"]
OutcomeChoice: TypeAlias = Literal["", "solved", "failed", "harmed", "fault"]


@record
class EpisodeFilter:
    """A filter of episodes; empty fields do not restrict."""

    run: int | None = None
    task: str = ""
    """Part of a task's id."""
    family: str = ""
    """Part of a family's name."""
    criterion: str = ""
    """The id of a criterion."""
    verdict: VerdictChoice = ""
    """Whether the criterion counts: is met, or violated if it is a prohibition. Without `criterion`, any criterion."""
    outcome: OutcomeChoice = ""


@record
class CriterionCount:
    """Number of episodes in which a criterion counts: is met, or violated if it is a prohibition."""

    criterion: str
    episodes: int
    counts: int


@record
class TrainingEvent:
    """A message of a training run."""

    stage: str
    step: int
    name: str
    text: str


def run_named(session: Session, name: str) -> RunRow:
    """The run of this name.

    Raises:
        UnknownNameError: there is no such run.
    """
    run = session.scalars(select(RunRow).where(RunRow.name == name)).one_or_none()
    if run is None:
        names = session.scalars(select(RunRow.name)).all()
        raise UnknownNameError.of("run", name, names, "`palaestra record list` lists them")
    return run


def run_summaries(session: Session, *, run: int | None = None) -> list[RunSummary]:
    """All runs, the most recently changed first; or the run with this number."""
    rows = select(RunRow).order_by(RunRow.updated.desc(), RunRow.name)
    counts = {row.run_id: row for row in session.execute(_of_run(_COUNTS, EpisodeRow.run_id, run))}
    last_step = select(FigureRow.run_id, func.max(FigureRow.step)).group_by(FigureRow.run_id)
    steps = _by_run(session, _of_run(last_step, FigureRow.run_id, run))
    faulty = select(FileRow.run_id, func.count()).join(LineRow, LineRow.file_id == FileRow.id)
    faulty = faulty.where(LineRow.fault.is_not(None)).group_by(FileRow.run_id)
    faults = _by_run(session, _of_run(faulty, FileRow.run_id, run))
    summaries: list[RunSummary] = []
    for row in session.scalars(_of_run(rows, RunRow.id, run)):
        own = counts.get(row.id)
        summaries.append(
            RunSummary(
                id=row.id,
                name=row.name,
                kind=row.kind,
                agent=row.agent,
                suite=row.suite,
                expected=row.expected,
                episodes=own.episodes if own else 0,
                scored=own.scored if own else 0,
                solved=int(own.solved or 0) if own else 0,
                harmed=int(own.harmed or 0) if own else 0,
                points=float(own.points) if own and own.points is not None else None,
                steps=steps.get(row.id),
                faults=faults.get(row.id, 0),
                updated=row.updated,
            )
        )
    return summaries


def is_unfinished(session: Session, run: RunSummary) -> bool:
    """Whether the settings of a run ask for more than the record has; episode files and proofs ask for nothing."""
    if run.kind == RunKind.EVALUATION:
        return run.expected is not None and run.episodes < run.expected
    content = document_of(session, run.id, FileRole.CONFIG) if run.kind == RunKind.TRAINING else None
    if content is None:
        return False
    settings: JsonObject = orjson.loads(content)
    stage = next(reversed(stage_names(settings)), "")
    own = settings.get(stage)
    steps = own.get("steps") if isinstance(own, dict) else None
    if not isinstance(steps, int):
        return True  # the number of steps is unknown
    last = select(func.max(FigureRow.step)).where(FigureRow.run_id == run.id, FigureRow.stage == stage)
    return (session.scalar(last) or 0) < steps


def _by_run(session: Session, rows: Any) -> dict[int, int]:
    found: Any = session.execute(rows).all()  # Any: pairs; the select does not state their type
    return dict(found)


def _count_if(condition: ColumnElement[bool]) -> ColumnElement[Any]:  # Any: types of sums differ by database
    return func.sum(case((condition, 1), else_=0))


_HAS_SCORE = ScoreRow.fault.is_(None) & ScoreRow.episode_id.is_not(None)
_COUNTS = (
    select(
        EpisodeRow.run_id,
        func.count().label("episodes"),
        _count_if(_HAS_SCORE).label("scored"),
        _count_if(_HAS_SCORE & ScoreRow.solved).label("solved"),
        _count_if(_HAS_SCORE & ScoreRow.harmed).label("harmed"),
        func.avg(case((_HAS_SCORE, ScoreRow.points))).label("points"),
    )
    .join(ScoreRow, ScoreRow.episode_id == EpisodeRow.id, isouter=True)
    .group_by(EpisodeRow.run_id)
)


def _of_run(rows: Any, column: InstrumentedAttribute[int], run: int | None) -> Any:
    # Any: a select of arbitrary columns.
    return rows if run is None else rows.where(column == run)


def find_episodes(
    session: Session, wanted: EpisodeFilter, *, limit: int, offset: int = 0
) -> tuple[list[EpisodeSummary], int]:
    """Find the episodes that match a filter, in the order of their import, and count all matches.

    Args:
        session: A session of the record.
        wanted: The filter.
        limit: Maximum number of episodes that are returned.
        offset: Number of episodes that are skipped.
    """
    total = session.scalar(_matching(select(func.count()).select_from(EpisodeRow), wanted)) or 0
    rows = _matching(_EPISODES, wanted).order_by(EpisodeRow.run_id.desc(), EpisodeRow.id).limit(limit).offset(offset)
    return [_summary(row) for row in session.execute(rows)], total


_EPISODES = (
    select(EpisodeRow, ScoreRow, RunRow.name, TranscriptRow.line_id)
    .join(RunRow, RunRow.id == EpisodeRow.run_id)
    .join(TranscriptRow, TranscriptRow.episode_id == EpisodeRow.id, isouter=True)
)


def _matching(rows: Any, wanted: EpisodeFilter) -> Any:  # Any: a select of arbitrary columns
    rows = rows.join(ScoreRow, ScoreRow.episode_id == EpisodeRow.id, isouter=True)
    if wanted.run is not None:
        rows = rows.where(EpisodeRow.run_id == wanted.run)
    if wanted.task:
        rows = rows.where(EpisodeRow.task.contains(wanted.task, autoescape=True))
    if wanted.family:
        rows = rows.where(EpisodeRow.family.contains(wanted.family, autoescape=True))
    if wanted.criterion or wanted.verdict:
        verdict = exists().where(VerdictRow.episode_id == EpisodeRow.id)
        if wanted.criterion:
            verdict = verdict.where(VerdictRow.criterion == wanted.criterion)
        if wanted.verdict:
            verdict = verdict.where(VerdictRow.counts.is_(wanted.verdict == "counts"))
        rows = rows.where(verdict)
    return rows.where(_OUTCOMES[wanted.outcome]) if wanted.outcome else rows


_OUTCOMES: Mapping[str, ColumnElement[bool]] = {
    "solved": _HAS_SCORE & ScoreRow.solved,
    "failed": _HAS_SCORE & ~ScoreRow.solved,
    "harmed": _HAS_SCORE & ScoreRow.harmed,
    "fault": ScoreRow.fault.is_not(None),
}


def _summary(row: Any) -> EpisodeSummary:  # Any: a row of `_EPISODES`
    episode, score, run, transcript = row
    return EpisodeSummary(
        id=episode.id,
        run=run,
        run_id=episode.run_id,
        key=episode.key,
        stage=episode.stage,
        step=episode.step,
        cell=episode.cell,
        task=episode.task,
        family=episode.family,
        split=episode.split,
        agent=episode.agent,
        sample=episode.sample,
        points=None if score is None or score.fault is not None else score.points,
        solved=score is not None and score.solved,
        harmed=score is not None and score.harmed,
        fault=None if score is None else score.fault,
        end=None if score is None else score.end,
        turns=0 if score is None else score.turns,
        has_transcript=transcript is not None,
    )


def episode_summary(session: Session, episode: int) -> EpisodeSummary:
    """The episode with this number.

    Raises:
        UnknownNameError: there is no episode with this number.
    """
    rows = _EPISODES.join(ScoreRow, ScoreRow.episode_id == EpisodeRow.id, isouter=True)
    row = session.execute(rows.where(EpisodeRow.id == episode)).first()
    if row is None:
        raise UnknownNameError(f"there is no episode {episode} in this record; search for it by its task")
    return _summary(row)


def read_transcript(session: Session, episode: int) -> Episode | None:
    """Read an episode with its turns; `None` where only its outcome was kept."""
    row = session.execute(
        select(LineRow.content, FileRow.role, TranscriptRow.place)
        .join(LineRow, LineRow.id == TranscriptRow.line_id)
        .join(FileRow, FileRow.id == LineRow.file_id)
        .where(TranscriptRow.episode_id == episode)
    ).first()
    if row is None:
        return None
    return episode_at(row.content, FileRole(row.role), row.place)


def episode_names(session: Session, column: InstrumentedAttribute[str], run: int | None = None) -> list[str]:
    """The distinct values of a column of episodes, sorted; at most 500."""
    rows = select(column).where(column != "").distinct().order_by(column).limit(_MOST_NAMES)
    return [*session.scalars(_of_run(rows, EpisodeRow.run_id, run))]


def criterion_names(session: Session) -> list[str]:
    """The criteria of all episodes, sorted by name; at most 500."""
    column = VerdictRow.criterion
    return [*session.scalars(select(column).distinct().order_by(column).limit(_MOST_NAMES))]


def criterion_counts(session: Session, run: int) -> list[CriterionCount]:
    """For each criterion, the number of episodes of a run in which it counts; sorted by name."""
    rows = (
        select(VerdictRow.criterion, func.count().label("episodes"), _count_if(VerdictRow.counts.is_(True)))
        .join(EpisodeRow, EpisodeRow.id == VerdictRow.episode_id)
        .where(EpisodeRow.run_id == run)
        .group_by(VerdictRow.criterion)
        .order_by(VerdictRow.criterion)
    )
    return [
        CriterionCount(criterion=criterion, episodes=episodes, counts=int(counts))
        for criterion, episodes, counts in session.execute(rows)
    ]


def figure_names(session: Session, run: int) -> dict[str, list[str]]:
    """The names of the curves of a training run by stage, in the order of their import."""
    rows = select(FigureRow.stage, FigureRow.name, func.min(FigureRow.id).label("first"))
    rows = rows.where(FigureRow.run_id == run).group_by(FigureRow.stage, FigureRow.name)
    found: dict[str, list[str]] = {}
    for stage, name, _ in session.execute(rows.order_by("first")):
        found.setdefault(stage, []).append(name)
    return found


def curve(session: Session, run: int, stage: str, name: str) -> list[tuple[int, float]]:
    """The steps and values of a curve, in order."""
    rows = select(FigureRow.step, FigureRow.value)
    rows = rows.where(FigureRow.run_id == run, FigureRow.stage == stage, FigureRow.name == name)
    return [(step, value) for step, value in session.execute(rows.order_by(FigureRow.step, FigureRow.id))]


def training_events(session: Session, run: int) -> list[TrainingEvent]:
    """The messages of a training run, in order."""
    rows = select(TrainingEventRow).where(TrainingEventRow.run_id == run).order_by(TrainingEventRow.id)
    return [
        TrainingEvent(stage=row.stage, step=row.step, name=row.name, text=row.text) for row in session.scalars(rows)
    ]


def proof_sentences(session: Session, run: int) -> list[str]:
    """The result sentences of the proofs of a run."""
    return [*session.scalars(select(ProofRow.sentence).where(ProofRow.run_id == run))]


def document_of(session: Session, run: int, role: FileRole) -> bytes | None:
    """The content of a document of a run; `None` where the run has no such document."""
    return next(iter(_contents(session, run, role)), None)


def _contents(session: Session, run: int, role: FileRole) -> Sequence[bytes]:
    rows = select(LineRow.content).join(FileRow, FileRow.id == LineRow.file_id)
    rows = rows.where(FileRow.run_id == run, FileRow.role == role, LineRow.fault.is_(None))
    return session.scalars(rows.order_by(LineRow.number)).all()


def file_digests(session: Session, run: int) -> tuple[str, ...]:
    """Hashes of the files of a run. Results computed from the files stay valid while the hashes are the same."""
    return tuple(session.scalars(select(FileRow.digest).where(FileRow.run_id == run).order_by(FileRow.id)))


def results_of_run(session: Session, run: int) -> Results:
    """The results of an evaluation, without episodes.

    Raises:
        RecordError: the run is not an evaluation, or its settings cannot be read.
    """
    settings = document_of(session, run, FileRole.SETTINGS)
    if settings is None:
        raise RecordError(f"run {run} is no evaluation; import the output folder of `palaestra eval`")
    outcomes = _contents(session, run, FileRole.OUTCOMES)
    blocks: Sequence[bytes] = [] if outcomes else _contents(session, run, FileRole.JOURNAL)
    try:
        return parse_results(settings, outcomes, blocks)
    except (ValidationError, KeyError) as error:
        raise RecordError(f"run {run}: its files do not fit together ({error}); evaluate into a new folder") from error

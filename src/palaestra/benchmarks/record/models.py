"""The tables of a record of results.

`runs`, `files` and `lines` hold every imported byte. All other tables are an index of the lines: each of their rows
names the line that it was read from, and is deleted with it.
"""

from sqlalchemy import BigInteger, Double, ForeignKey, Index, LargeBinary, MetaData, String, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from palaestra.benchmarks.record.column_types import BIG_KEY, CleanText, NameText


class RecordTable(DeclarativeBase):
    """The base of all tables."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class RunRow(RecordTable):
    """A folder or file of results: an evaluation, a training run, loose episodes or a proof."""

    __tablename__ = "runs"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(NameText, unique=True)
    kind: Mapped[str] = mapped_column(String(20))
    """A `RunKind`."""
    source: Mapped[str] = mapped_column(CleanText)
    """The path of the last import."""
    agent: Mapped[str] = mapped_column(NameText, default="")
    suite: Mapped[str] = mapped_column(NameText, default="")
    expected: Mapped[int | None] = mapped_column(default=None)
    """Number of episodes of an evaluation, or steps of a training run, once it is done; `None` where unknown."""
    updated: Mapped[float] = mapped_column(Double)
    """Time of the last addition, in seconds since 1970."""


class FileRow(RecordTable):
    """A file of a run."""

    __tablename__ = "files"
    __table_args__ = (UniqueConstraint("run_id", "path"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    path: Mapped[str] = mapped_column(NameText)
    """The path of the file within the run's folder."""
    role: Mapped[str] = mapped_column(String(20))
    """A `FileRole`."""
    size: Mapped[int] = mapped_column(BigInteger, default=0)
    """Number of bytes that are imported."""
    digest: Mapped[str] = mapped_column(String(64))
    """SHA-256 of the imported bytes."""


class LineRow(RecordTable):
    """A line of a file, with its exact bytes; a JSON document is one line."""

    __tablename__ = "lines"
    __table_args__ = (UniqueConstraint("file_id", "number"),)

    id: Mapped[int] = mapped_column(BIG_KEY, primary_key=True)
    file_id: Mapped[int] = mapped_column(ForeignKey("files.id", ondelete="CASCADE"))
    number: Mapped[int]
    """The number of the line in its file, from 1."""
    content: Mapped[bytes] = mapped_column(LargeBinary, deferred=True)
    """The bytes of the line without its line end."""
    is_ended: Mapped[bool]
    """Whether the line had its line end. A last line without a line end is read again at the next import."""
    fault: Mapped[str | None] = mapped_column(CleanText, default=None)
    """Why the line cannot be read; `None` where it can. A faulty line is kept and exported as well."""


class EpisodeRow(RecordTable):
    """An episode: its key, and the task, agent and training step that it belongs to."""

    __tablename__ = "episodes"
    __table_args__ = (UniqueConstraint("run_id", "digest"), Index(None, "task"), Index(None, "family"))

    id: Mapped[int] = mapped_column(BIG_KEY, primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    key: Mapped[str] = mapped_column(NameText)
    """The name of the episode within the run: "CELL/TASK/SAMPLE", or its place in files."""
    digest: Mapped[str] = mapped_column(String(64))
    """SHA-256 of the key, which may be long."""
    stage: Mapped[str] = mapped_column(NameText, default="")
    step: Mapped[int | None] = mapped_column(BigInteger, default=None)
    cell: Mapped[str] = mapped_column(NameText, default="")
    task: Mapped[str] = mapped_column(NameText, default="")
    family: Mapped[str] = mapped_column(NameText, default="")
    split: Mapped[str] = mapped_column(NameText, default="")
    agent: Mapped[str] = mapped_column(NameText, default="")
    sample: Mapped[int | None] = mapped_column(BigInteger, default=None)


class ScoreRow(RecordTable):
    """The outcome of an episode."""

    __tablename__ = "scores"

    episode_id: Mapped[int] = mapped_column(BIG_KEY, ForeignKey("episodes.id", ondelete="CASCADE"), primary_key=True)
    line_id: Mapped[int] = mapped_column(BIG_KEY, ForeignKey("lines.id", ondelete="CASCADE"), index=True)
    points: Mapped[int] = mapped_column(BigInteger)
    """Points out of 100; 0 where there is a fault."""
    solved: Mapped[bool]
    harmed: Mapped[bool]
    fault: Mapped[str | None] = mapped_column(NameText, default=None)
    """The source of the fault that prevented a score; `None` where there is a score."""
    end: Mapped[str | None] = mapped_column(String(40), default=None)
    """An `EndReason`; `None` for an episode that was stopped before it ended."""
    turns: Mapped[int] = mapped_column(BigInteger, default=0)


class VerdictRow(RecordTable):
    """Whether a criterion counts in an episode: an expectation that is met, or a prohibition that is violated."""

    __tablename__ = "verdicts"
    __table_args__ = (Index(None, "criterion", "counts"),)

    episode_id: Mapped[int] = mapped_column(BIG_KEY, ForeignKey("episodes.id", ondelete="CASCADE"), primary_key=True)
    place: Mapped[int] = mapped_column(primary_key=True)
    """The position among the episode's criteria, from 0."""
    line_id: Mapped[int] = mapped_column(BIG_KEY, ForeignKey("lines.id", ondelete="CASCADE"), index=True)
    criterion: Mapped[str] = mapped_column(NameText)
    counts: Mapped[bool]


class TranscriptRow(RecordTable):
    """The line that holds the turns of an episode."""

    __tablename__ = "transcripts"

    episode_id: Mapped[int] = mapped_column(BIG_KEY, ForeignKey("episodes.id", ondelete="CASCADE"), primary_key=True)
    line_id: Mapped[int] = mapped_column(BIG_KEY, ForeignKey("lines.id", ondelete="CASCADE"), index=True)
    place: Mapped[int]
    """The position among the episodes of the line, from 0."""


class FigureRow(RecordTable):
    """A point of a training curve."""

    __tablename__ = "figures"
    __table_args__ = (Index(None, "run_id", "stage", "name"),)

    id: Mapped[int] = mapped_column(BIG_KEY, primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    line_id: Mapped[int] = mapped_column(BIG_KEY, ForeignKey("lines.id", ondelete="CASCADE"), index=True)
    stage: Mapped[str] = mapped_column(NameText)
    step: Mapped[int] = mapped_column(BigInteger)
    name: Mapped[str] = mapped_column(NameText)
    value: Mapped[float] = mapped_column(Double)


class TrainingEventRow(RecordTable):
    """A message of a training run, such as an alarm."""

    __tablename__ = "training_events"

    id: Mapped[int] = mapped_column(BIG_KEY, primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), index=True)
    line_id: Mapped[int] = mapped_column(BIG_KEY, ForeignKey("lines.id", ondelete="CASCADE"), index=True)
    stage: Mapped[str] = mapped_column(NameText)
    step: Mapped[int] = mapped_column(BigInteger)
    name: Mapped[str] = mapped_column(NameText)
    text: Mapped[str] = mapped_column(CleanText)


class ProofRow(RecordTable):
    """The result of a proof of tasks."""

    __tablename__ = "proofs"

    line_id: Mapped[int] = mapped_column(BIG_KEY, ForeignKey("lines.id", ondelete="CASCADE"), primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), index=True)
    is_proved: Mapped[bool]
    tasks: Mapped[int] = mapped_column(BigInteger)
    faults: Mapped[int] = mapped_column(BigInteger)
    sentence: Mapped[str] = mapped_column(CleanText)


LINES = frozenset({"runs", "files", "lines"})
"""The tables that hold the imported bytes; all other tables are their index."""

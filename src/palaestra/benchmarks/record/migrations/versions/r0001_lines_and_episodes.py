"""Adds runs, their files with every byte, and their episodes."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_NAME = sa.String(500)


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "runs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", _NAME, nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("agent", _NAME, nullable=False),
        sa.Column("suite", _NAME, nullable=False),
        sa.Column("expected", sa.Integer()),
        sa.Column("updated", sa.Double[float](), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.UniqueConstraint("name", name="uq_runs_name"),
    )
    op.create_table(
        "files",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("path", _NAME, nullable=False),
        sa.Column("role", sa.String(20), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_files"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_files_run_id", ondelete="CASCADE"),
        sa.UniqueConstraint("run_id", "path", name="uq_files_run_id_path"),
    )
    op.create_table(
        "lines",
        sa.Column("id", _KEY, nullable=False),
        sa.Column("file_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("is_ended", sa.Boolean(), nullable=False),
        sa.Column("fault", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="pk_lines"),
        sa.ForeignKeyConstraint(["file_id"], ["files.id"], name="fk_lines_file_id", ondelete="CASCADE"),
        sa.UniqueConstraint("file_id", "number", name="uq_lines_file_id_number"),
    )
    op.create_table(
        "episodes",
        sa.Column("id", _KEY, nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("key", _NAME, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("stage", _NAME, nullable=False),
        sa.Column("step", sa.BigInteger()),
        sa.Column("cell", _NAME, nullable=False),
        sa.Column("task", _NAME, nullable=False),
        sa.Column("family", _NAME, nullable=False),
        sa.Column("split", _NAME, nullable=False),
        sa.Column("agent", _NAME, nullable=False),
        sa.Column("sample", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_episodes"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_episodes_run_id", ondelete="CASCADE"),
        sa.UniqueConstraint("run_id", "digest", name="uq_episodes_run_id_digest"),
    )
    op.create_index("ix_episodes_task", "episodes", ["task"])
    op.create_index("ix_episodes_family", "episodes", ["family"])
    _create_parts()


def _create_parts() -> None:
    """Create the tables that hold the parts of an episode."""
    op.create_table(
        "scores",
        *_of_episode("scores"),
        sa.Column("points", sa.BigInteger(), nullable=False),
        sa.Column("solved", sa.Boolean(), nullable=False),
        sa.Column("harmed", sa.Boolean(), nullable=False),
        sa.Column("fault", _NAME),
        sa.Column("end", sa.String(40)),
        sa.Column("turns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("episode_id", name="pk_scores"),
    )
    op.create_table(
        "verdicts",
        *_of_episode("verdicts"),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("criterion", _NAME, nullable=False),
        sa.Column("counts", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("episode_id", "place", name="pk_verdicts"),
    )
    op.create_index("ix_verdicts_criterion_counts", "verdicts", ["criterion", "counts"])
    op.create_table(
        "transcripts",
        *_of_episode("transcripts"),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("episode_id", name="pk_transcripts"),
    )
    for table in ("scores", "verdicts", "transcripts"):
        op.create_index(f"ix_{table}_line_id", table, ["line_id"])


def _of_episode(table: str) -> list[sa.schema.SchemaItem]:
    return [
        sa.Column("episode_id", _KEY, nullable=False),
        sa.Column("line_id", _KEY, nullable=False),
        sa.ForeignKeyConstraint(["episode_id"], ["episodes.id"], name=f"fk_{table}_episode_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["line_id"], ["lines.id"], name=f"fk_{table}_line_id", ondelete="CASCADE"),
    ]


def downgrade() -> None:
    """Remove the tables, with everything that was imported."""
    for table in ("transcripts", "verdicts", "scores", "episodes", "lines", "files", "runs"):
        op.drop_table(table)

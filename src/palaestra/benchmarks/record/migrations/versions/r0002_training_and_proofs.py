"""Adds curves and events of training runs, and proofs."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_NAME = sa.String(500)


def upgrade() -> None:
    """Create the tables; they are filled from the stored lines."""
    op.create_table(
        "figures",
        *_of_step("figures"),
        sa.Column("value", sa.Double[float](), nullable=False),
    )
    op.create_index("ix_figures_line_id", "figures", ["line_id"])
    op.create_index("ix_figures_run_id_stage_name", "figures", ["run_id", "stage", "name"])
    op.create_table(
        "training_events",
        *_of_step("training_events"),
        sa.Column("text", sa.Text(), nullable=False),
    )
    op.create_index("ix_training_events_line_id", "training_events", ["line_id"])
    op.create_index("ix_training_events_run_id", "training_events", ["run_id"])
    op.create_table(
        "proofs",
        sa.Column("line_id", _KEY, nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("is_proved", sa.Boolean(), nullable=False),
        sa.Column("tasks", sa.BigInteger(), nullable=False),
        sa.Column("faults", sa.BigInteger(), nullable=False),
        sa.Column("sentence", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("line_id", name="pk_proofs"),
        *_keys("proofs"),
    )
    op.create_index("ix_proofs_run_id", "proofs", ["run_id"])


def _of_step(table: str) -> list[sa.schema.SchemaItem]:
    return [
        sa.Column("id", _KEY, nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("line_id", _KEY, nullable=False),
        sa.Column("stage", _NAME, nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("name", _NAME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=f"pk_{table}"),
        *_keys(table),
    ]


def _keys(table: str) -> list[sa.schema.SchemaItem]:
    return [
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=f"fk_{table}_run_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["line_id"], ["lines.id"], name=f"fk_{table}_line_id", ondelete="CASCADE"),
    ]


def downgrade() -> None:
    """Remove the tables; the lines stay."""
    for table in ("proofs", "training_events", "figures"):
        op.drop_table(table)

"""`palaestra record`: results of evaluations, training runs and proofs in one database."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Annotated, TypeAlias

import typer

from palaestra.benchmarks.record import (
    EMPTY,
    REVISIONS,
    RecordDatabase,
    RunSummary,
    check_schema,
    export_run,
    find_sources,
    follow,
    import_run,
    import_sentence,
    migrate,
    prepare,
    remove_run,
    run_summaries,
)
from palaestra.benchmarks.record.exporting import write_reports
from palaestra.cli.console import output
from palaestra.errors import RecordError
from palaestra.table import Table

app = typer.Typer(help="Keep results in a database: import, export, list, remove, migrate.", no_args_is_help=True)
DEFAULT_DB = "runs/record.db"
DbOption: TypeAlias = Annotated[
    str,
    typer.Option("--db", envvar="PALAESTRA_RECORD", help="SQLite file, or a URL: postgresql://USER@HOST/DATABASE."),
]
RunArgument: TypeAlias = Annotated[str, typer.Argument(metavar="RUN", help="Name, from `palaestra record list`.")]


@contextmanager
def open_record(place: str, *, is_new: bool = False) -> Generator[RecordDatabase]:
    """Open a record whose tables have this version.

    Args:
        place: The value of `--db`.
        is_new: Whether to create it if it is missing.
    """
    database = RecordDatabase(place, is_new=is_new)
    try:
        (prepare if is_new else check_schema)(database)
        yield database
    finally:
        database.close()


@app.command(
    "import",
    epilog="Examples: `palaestra record import runs/eval/oracle`, `palaestra record import runs --follow`, "
    "`palaestra record import proof.json --name storefront-proof`",
)
def import_runs(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="Folders of `palaestra eval`, `train` or `demo`, or folders above them; files of trajectories or of "
            "a proof.",
        ),
    ],
    db: DbOption = DEFAULT_DB,
    name: Annotated[str | None, typer.Option("--name", help="Name in the record. Default: the path.")] = None,
    follows: Annotated[  # noqa: FBT002
        bool, typer.Option("--follow", help="Keep importing new results until Ctrl-C.")
    ] = False,
) -> None:
    """Import runs, or their new results since the last import. Importing twice adds nothing.

    A run may still be growing. The record keeps every byte of its files.
    """
    if follows and name is not None:
        raise typer.BadParameter("--follow imports many runs, and --name is for one")
    with open_record(db, is_new=True) as database:
        if follows:
            try:
                follow(database, paths, stop=Event(), say=typer.echo)
            except KeyboardInterrupt:
                return
        for path in paths:
            for source in find_sources(path, name=name):
                typer.echo(import_sentence(import_run(database, source)))


@app.command(epilog="Example: `palaestra record export runs/eval/oracle /tmp/oracle`")
def export(
    run: RunArgument,
    out: Annotated[Path, typer.Argument(metavar="FOLDER", help="New folder for the files.")],
    db: DbOption = DEFAULT_DB,
) -> None:
    """Write the files of a run as they were imported, to the byte.

    The reports of an evaluation (`report.json`, `report.md`, `report.html`) are not kept. This version of Palaestra
    makes them again from the results.
    """
    with open_record(db) as database:
        for path in export_run(database, run, out):
            typer.echo(path)
    try:
        for path in write_reports(out):
            typer.echo(f"{path} (made again)")
    except RecordError as error:
        typer.echo(f"no report is made again: {error}", err=True)


@app.command("list", epilog="Example: `palaestra record list --db postgresql://me@host/palaestra`")
def list_runs(db: DbOption = DEFAULT_DB) -> None:
    """List runs: kind, agent, episodes, scores."""
    with open_record(db) as database, database.read() as session:
        rows = tuple(map(_row, run_summaries(session)))
        title = f"Runs in {database.label}"
    columns = ("run", "kind", "agent", "suite", "episodes", "solved, %", "points", "steps", "damaged lines", "changed")
    output().print(Table(title=title, columns=columns, rows=rows).for_terminal())


def _row(run: RunSummary) -> tuple[str, ...]:
    return (
        run.name,
        run.kind,
        run.agent,
        run.suite,
        f"{run.episodes:,}" + (f" of {run.expected:,}" if run.expected else ""),
        f"{100 * run.solved / run.scored:.1f}" if run.scored else "-",
        "-" if run.points is None else f"{run.points:.1f}",
        "-" if run.steps is None else str(run.steps),
        str(run.faults or "-"),
        datetime.fromtimestamp(run.updated, UTC).strftime("%Y-%m-%d %H:%M"),
    )


@app.command(epilog="Example: `palaestra record remove runs/eval/oracle`")
def remove(run: RunArgument, db: DbOption = DEFAULT_DB) -> None:
    """Remove a run from the record. Its folder stays."""
    with open_record(db) as database:
        remove_run(database, run)
    typer.echo(f"removed {run}")


@app.command("migrate", epilog="Example: `palaestra record migrate --db runs/record.db`")
def migrate_record(
    db: DbOption = DEFAULT_DB,
    to: Annotated[
        str, typer.Option("--to", help=f"Version of the tables: {', '.join((EMPTY, *REVISIONS))}. Default: the newest.")
    ] = REVISIONS[-1],
) -> None:
    """Migrate the tables of a record to this version of Palaestra, or to an older one. Make a copy first."""
    database = RecordDatabase(db, is_new=False)
    begun = time.monotonic()
    try:
        before, after = migrate(database, to)
    finally:
        database.close()
    typer.echo(f"{database.label}: from version {before} to {after} in {time.monotonic() - begun:.1f} s")

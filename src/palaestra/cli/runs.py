"""`palaestra runs`: the training runs on disk."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from palaestra.cli.console import output
from palaestra.errors import RecordError, UnknownNameError
from palaestra.records import Json
from palaestra.table import Table
from palaestra.trainers.lineage import LineageEntry, read_lineage
from palaestra.trainers.run_folder import (
    SETTINGS,
    RunFolder,
    StageFolder,
    differing_settings,
    find_runs,
    read_run,
)

app = typer.Typer(help="List, show, plot, compare and prune training runs.", no_args_is_help=True)
_FIGURES = ("reward/mean", "solved", "policy/entropy", "loss", "tokens/drawn")
_ROWS = 12


@app.command("list", epilog="Example: `palaestra runs list runs`")
def list_runs(
    root: Annotated[Path, typer.Argument(help="Folder to look in, with the folders below it.")] = Path("runs"),
) -> None:
    """List runs: stages, steps, the last figures, size and age."""
    rows = tuple(map(_row, find_runs(root)))
    if not rows:
        raise RecordError(f"{root} holds no run; `palaestra train RUN.toml` writes one")
    columns = ("run", "stages", "reward", "solved", "time", "MiB", "last save")
    note = "Reward and solved: means over the last 10 steps of the last stage."
    output().print(Table(title=f"Runs in {root}", columns=columns, rows=rows, note=note).for_terminal())


@app.command(epilog="Example: `palaestra runs show runs/storefront`")
def show(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    rows: Annotated[int, typer.Option("--rows", min=1, help="Steps to show of each stage, evenly chosen.")] = _ROWS,
) -> None:
    """Show a run: its stages, their figures, and the changes of settings on the way."""
    found, console = read_run(run), output()
    for stage in found.stages:
        console.print(_history(stage, rows).for_terminal())
    if lineage := read_lineage(run):
        console.print(_lineage_table(lineage).for_terminal())
    console.print(f"settings: {run / SETTINGS}", highlight=False)
    for path in found.spare:
        console.print(f"spare: {path} (`palaestra runs prune {run}` deletes it)", highlight=False)


@app.command(epilog="Example: `palaestra runs plot runs/storefront --out sampling.png`")
def plot(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    out: Annotated[Path | None, typer.Option("--out", help="PNG to write; sampling.png in the run's folder.")] = None,
) -> None:
    """Draw where sampling went: families played and solved by step, and what branching solved."""
    from palaestra.benchmarks.sampling import sampling_panels  # noqa: PLC0415  it needs an extra

    try:
        from palaestra.benchmarks.curves import png  # noqa: PLC0415  an optional dependency
    except ModuleNotFoundError as error:
        raise UnknownNameError(
            "matplotlib is not installed, and pictures need it; `pip install 'palaestra[train]'` brings it"
        ) from error
    path = run / "sampling.png" if out is None else out
    path.write_bytes(png(sampling_panels(read_run(run))))
    typer.echo(f"where sampling went: {path}")


@app.command(epilog="Example: `palaestra runs compare runs/a runs/b runs/c`")
def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs, two or more.")],
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,  # noqa: FBT002
) -> None:
    """Compare runs: the settings in which they differ, and their last figures."""
    if len(runs) < 2:
        raise typer.BadParameter("give two runs or more")
    found = list(map(read_run, runs))
    settings = [(name, *map(_cell, values)) for name, values in differing_settings(found)]
    figures = [
        (f"{stage}: {figure}", *(_recent(run, stage, figure) for run in found))
        for stage in dict.fromkeys(stage.name for run in found for stage in run.stages)
        for figure in _FIGURES
    ]
    kept = [row for row in figures if any(cell != "-" for cell in row[1:])]
    steps = [("steps", *(", ".join(f"{s.name} {s.steps}" for s in run.stages) or "-" for run in found))]
    table = Table(
        title="Runs compared",
        columns=("", *(run.directory.name for run in found)),
        rows=(*settings, *steps, *kept),
        note="Settings that differ; then means over the last 10 steps of each stage.",
    )
    if markdown:
        typer.echo(table.markdown())
    else:
        output().print(table.for_terminal())


@app.command(epilog="Example: `palaestra runs prune runs/storefront --yes`")
def prune(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs.")],
    yes: Annotated[bool, typer.Option("--yes", help="Delete the files. Default: only list them.")] = False,  # noqa: FBT002
) -> None:
    """Delete files that a run no longer needs: saves before the last, and copies that a server read."""
    for run in map(read_run, runs):
        for path in run.spare:
            typer.echo(f"{'deleted' if yes else 'would delete'} {path}")
        if yes:
            typer.echo(f"{run.directory}: {run.prune() / 2**20:,.1f} MiB freed")


def _row(run: RunFolder) -> tuple[str, ...]:
    stages = ", ".join(f"{stage.name} {stage.steps}" for stage in run.stages) or "none saved"
    last = run.stages[-1] if run.stages else None
    seconds = sum(stage.seconds for stage in run.stages)
    return (
        str(run.directory),
        stages,
        _mean(last, "reward/mean"),
        _mean(last, "solved", percent=True),
        f"{seconds / 60:,.0f} min",
        f"{run.size / 2**20:,.0f}",
        "-" if last is None else _age(last.directory),
    )


def _age(stage: Path) -> str:
    hours = (time.time() - stage.stat().st_mtime) / 3600
    return (
        f"{hours * 60:.0f} min ago" if hours < 2 else f"{hours:.0f} h ago" if hours < 48 else f"{hours / 24:.0f} d ago"
    )


def _recent(run: RunFolder, stage: str, figure: str) -> str:
    return next((_mean(found, figure) for found in run.stages if found.name == stage), "-")


def _mean(stage: StageFolder | None, figure: str, *, percent: bool = False) -> str:
    value = None if stage is None else stage.recent(figure)
    if value is None:
        return "-"
    return f"{100 * value:.1f} %" if percent else f"{value:,.3f}"


def _cell(value: Json) -> str:
    return "-" if value is None else str(value)


def _lineage_table(lineage: Sequence[LineageEntry]) -> Table:
    return Table(
        title="Changes of settings",
        columns=("stage", "step", "setting", "from", "to", "class", "replay to the bit"),
        rows=tuple(
            (
                entry.stage,
                str(entry.step),
                entry.setting,
                _cell(entry.before),
                _cell(entry.after),
                entry.kind,
                "ends here" if entry.ends_replay else "goes on",
            )
            for entry in lineage
        ),
    )


def _history(stage: StageFolder, rows: int) -> Table:
    places = sorted({round(n * (len(stage.history) - 1) / max(1, rows - 1)) for n in range(rows)})
    chosen: Sequence[int] = [place for place in places if 0 <= place < len(stage.history)]
    known = [name for name in _FIGURES if any(name in row for row in stage.history)]
    quarantined = f"; {stage.quarantined} batches quarantined" if stage.quarantined else ""
    return Table(
        title=f"{stage.name}: {stage.steps} steps in {stage.seconds / 60:.1f} min{quarantined}",
        columns=("step", *known),
        rows=tuple(
            (str(place + 1), *(f"{row[name]:,.3f}" if name in row else "-" for name in known))
            for place in chosen
            for row in (stage.history[place],)
        ),
    )

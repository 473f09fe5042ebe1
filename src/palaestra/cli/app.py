"""The command's entry point: its subcommands and the display of errors."""

import os
import sys
from typing import Any, NoReturn

import typer
from rich.console import Console
from typer.core import TyperGroup

from palaestra.cli import (
    ablations,
    authoring,
    bench,
    check,
    compare,
    credit,
    dashboard,
    demo,
    detect,
    diagnose,
    evaluate,
    floors,
    keys,
    mcp,
    mismatch,
    models,
    objectives,
    pages,
    play,
    record,
    reference,
    rubrics,
    runs,
    scaffold,
    serve,
    simulation,
    suites,
    tasks,
    train,
    transfer,
    view,
    worlds,
)
from palaestra.cli.extra import missing_extra
from palaestra.errors import PalaestraError, StoppedError
from palaestra.validation import plain_rule
from palaestra.version import __version__


class _PlainGroup(TyperGroup):
    """The commands; their messages about invalid values leave out pydantic's prefixes."""

    def invoke(self, ctx: Any) -> Any:  # Any: typer's context class, and the result of a command
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = plain_rule(error.message)
            raise


app = typer.Typer(
    name="palaestra",
    cls=_PlainGroup,
    help="Train and evaluate tool-using agents: deterministic worlds, proved tasks, dense rewards.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=False,
)
tasks.app.command()(scaffold.new)
tasks.app.command(
    name="detect", epilog="Example: `palaestra tasks detect runs/demo/trajectories.jsonl --json findings.json`"
)(detect.detect_in_trajectories)
bench.app.command()(credit.credit)
bench.app.command()(ablations.ablations)
bench.app.command()(transfer.transfer)
bench.app.command()(pages.pages)
bench.app.command()(pages.anchors)
bench.app.command(name="pages-gate")(pages.gate)
bench.app.command()(pages.pages_policy)
bench.app.command()(pages.web)
bench.app.command()(floors.suites)
bench.app.command()(mismatch.mismatch)
bench.app.command()(simulation.simulation)
worlds.app.command()(authoring.write)
app.add_typer(tasks.app, name="tasks")
app.add_typer(rubrics.app, name="rubrics")
app.add_typer(bench.app, name="bench")
app.add_typer(objectives.app, name="objectives")
app.add_typer(suites.app, name="suites")
app.add_typer(models.app, name="models")
app.add_typer(worlds.app, name="worlds")
app.add_typer(runs.app, name="runs")
app.add_typer(keys.app, name="keys")
app.add_typer(record.app, name="record")
app.command()(demo.demo)
app.command()(train.train)
app.command()(reference.reference)
app.command(name="eval")(evaluate.evaluate)
app.command()(compare.compare)
app.command()(play.play)
app.command()(check.check)
app.command()(view.view)
app.command()(diagnose.diagnose)
app.command(epilog=serve.EPILOG)(serve.serve)
app.command(epilog=dashboard.EPILOG)(dashboard.dashboard)
app.command(epilog=mcp.EPILOG)(mcp.mcp)


@app.callback(invoke_without_command=True)
def version(
    show: bool = typer.Option(False, "--version", help="Print the version and stop."),  # noqa: FBT001, FBT003
) -> None:
    """Print the version when asked."""
    if show:
        typer.echo(f"palaestra {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command. An error that Palaestra raises on purpose is one sentence with exit code 1."""
    try:
        app()
    except BrokenPipeError:  # `palaestra tasks list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except StoppedError as stopped:
        Console(stderr=True).print(str(stopped), markup=False, highlight=False, soft_wrap=True)
        sys.exit(128 + stopped.signal)
    except PalaestraError as error:
        _fail(error)
    except ModuleNotFoundError as error:
        if (missing := missing_extra(error)) is None:
            raise
        _fail(missing)


def _fail(error: PalaestraError) -> NoReturn:
    Console(stderr=True).print(f"error: {error}", style="bold red", markup=False, highlight=False, soft_wrap=True)
    sys.exit(1)

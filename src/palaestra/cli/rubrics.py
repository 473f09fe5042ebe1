"""`palaestra rubrics`: derive a rubric from an author's calls, and compare it with the expert's."""

from pathlib import Path
from typing import Annotated

import orjson
import typer

from palaestra.benchmarks.agreement import (
    Agreement,
    agreement,
    agreement_document,
    agreement_tables,
    disagreement_lines,
    rubrics_table,
)
from palaestra.cli.console import output
from palaestra.cli.progress import bar
from palaestra.cli.target import WorldOption, open_target, open_task
from palaestra.cli.tasks import FamilyOption, SplitOption, choose_tasks
from palaestra.durable import write_file
from palaestra.envs import ToolEnv
from palaestra.errors import TaskError

app = typer.Typer(help="Derive rubrics from solutions.", no_args_is_help=True, rich_markup_mode="markdown")

SHOWN = 20
"""Maximum disagreements to print."""


@app.callback()
def rubrics() -> None:
    """Derive rubrics from solutions."""  # a callback keeps `derive` a subcommand


@app.command(
    epilog="Examples: `palaestra rubrics derive storefront/price-match/0003`, "
    "`palaestra rubrics derive --all --world storefront --split dev --json agreement.json`"
)
def derive(
    target: Annotated[
        str | None,
        typer.Argument(metavar="TASK", help="Task id; with --all a world or a folder of task files."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All tasks of the world or folder.")] = False,  # noqa: FBT002
    world: WorldOption = None,
    split: SplitOption = None,
    family: FamilyOption = None,
    tasks: Annotated[str | None, typer.Option("--tasks", help="Folder of task files that defines the task.")] = None,
    oracle_only: Annotated[bool, typer.Option("--oracle-only", help="Use no alternatives.")] = False,  # noqa: FBT002
    json: Annotated[Path | None, typer.Option("--json", help="Write the agreement to this JSON file.")] = None,
) -> None:
    """Derive a rubric from the oracle and its alternatives, and measure its agreement with the expert's rubric.

    Both rubrics judge the same work: the oracle's, alternatives and mutants.
    """
    if every and tasks is not None:
        raise TaskError(f"--all goes with a world or a folder; write `palaestra rubrics derive {tasks} --all`")
    if not every and (split or family):
        raise TaskError("--split and --family choose among many tasks; add --all")
    if every:
        env = open_target(target, world)
        ids = choose_tasks(env, split, family)
    elif target is None:
        raise TaskError("no task is named; give a task's id, or --all and a world")
    else:
        env, ids = open_task(target, tasks, world), [target]
    if not ids:
        raise TaskError(f"no task of {env.env_id} is in {', '.join(split or ())}; there is nothing to derive from")
    with bar("deriving", len(ids)) as progress:
        found = agreement(env, ids, alternatives=not oracle_only, progress=progress.step)
    if not every:
        _show_rubrics(env, ids[0], alternatives=not oracle_only)
    _show_agreement(found)
    if json is not None:
        write_file(json, orjson.dumps(agreement_document(found), option=orjson.OPT_INDENT_2))


def _show_rubrics(env: ToolEnv, task_id: str, *, alternatives: bool) -> None:
    instance = env.task_set.instance(task_id)
    derived = instance.derived_rubric(alternatives=alternatives)
    output().print(rubrics_table(instance, derived).for_terminal())


def _show_agreement(found: Agreement) -> None:
    console = output()
    for table in agreement_tables(found):
        console.print(table.for_terminal())
    lines = disagreement_lines(found.judged)
    for line in lines[:SHOWN]:
        console.print(line, markup=False, highlight=False)
    if len(lines) > SHOWN:
        console.print(f"{len(lines) - SHOWN} more disagreements; `--json FILE` writes them all", style="dim")
    console.print(f"{found.percent:.2f} % of {len(found.judged)} pieces of work are judged alike.")

"""`palaestra tasks`: list, show and prove tasks."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.markup import escape

from palaestra.benchmarks.proof import proof_document, proof_tables
from palaestra.benchmarks.proof import prove as prove_tasks
from palaestra.benchmarks.table import Table
from palaestra.cli.console import output
from palaestra.cli.progress import bar
from palaestra.cli.target import open_target, open_task
from palaestra.durable import write_file
from palaestra.envs import SPLITS, ToolEnv
from palaestra.errors import TaskError, UnknownNameError

app = typer.Typer(help="List, show and prove tasks.", no_args_is_help=True, rich_markup_mode="markdown")

SHOWN = 20
"""How many faults a person reads at a time."""

Target = Annotated[str, typer.Argument(help="A world, such as storefront, or a folder or file of your own tasks.")]
SplitOption = Annotated[list[str] | None, typer.Option("--split", help="Only this split; may be given more than once.")]
FamilyOption = Annotated[str | None, typer.Option("--family", help="Only this family, such as cancel-order.")]


def chosen(env: ToolEnv, splits: list[str] | None, family: str | None) -> list[str]:
    """The ids of the tasks that the options choose.

    Raises:
        UnknownNameError: there is no such split or family.
    """
    ids = [task for split in splits or SPLITS for task in env.task_set.ids(split)]
    if family is None:
        return ids
    family = family.removeprefix(f"{env.world.name}/")
    names = {f.name for f in env.task_set.families.values()}
    if family not in names:
        raise UnknownNameError.of("family", family, names)
    return [task for task in ids if task.split("/")[1] == family]


@app.command("list", epilog="Example: `palaestra tasks list storefront --split heldout`")
def list_tasks(
    target: Target = "storefront",
    split: SplitOption = None,
    family: FamilyOption = None,
    ids: Annotated[bool, typer.Option("--ids", help="Print every id, one a line.")] = False,  # noqa: FBT002
) -> None:
    """List families and how many tasks each split has of them."""
    env = open_target(target)
    tasks = chosen(env, split, family)
    if ids:
        typer.echo("\n".join(tasks))
        return
    counts = Counter((env.task_set.instance(t).spec.family, env.task_set.instance(t).spec.split) for t in tasks)
    splits = [s for s in SPLITS if not split or s in split]
    families = [f for f in env.task_set.families.values() if any((f.id, s) in counts for s in SPLITS)]
    unseen = [f.name for f in families if f.unseen]
    table = Table(
        title=f"{len(tasks)} tasks in {len(families)} families of {env.env_id}",
        columns=("family", "level", "turns on", *splits),
        rows=tuple(
            (f.name, str(f.level), ", ".join(f.traits), *(str(counts[f.id, s]) for s in splits)) for f in families
        ),
        note=f"Never seen in training: {', '.join(unseen)}." if unseen else "",
    )
    output().print(table.for_terminal())


@app.command(epilog="Example: `palaestra tasks show storefront/price-match/0003`")
def show(
    task: Annotated[str, typer.Argument(help="A task's id.")],
    tasks: Annotated[str | None, typer.Option("--tasks", help="The folder of your own tasks that holds it.")] = None,
) -> None:
    """Show a task: what it asks, what its rubric checks, and what solves it."""
    env = open_task(task, tasks)
    env.reset(seed=0)
    console, instance, spec = output(), env.instance, env.task
    console.print(f"[bold]{spec.id}[/]  level {spec.level}  split {spec.split}  {', '.join(spec.traits)}")
    for message in instance.messages:
        console.print(f"\n[dim]{message['role']}[/]\n{escape(message['content'])}", highlight=False)
    rubric = Table(
        title="Rubric",
        columns=("criterion", "kind", "layer", "points", "after", "sentence"),
        rows=tuple((c.id, c.kind, c.layer, str(c.points), ", ".join(c.after), c.text) for c in instance.rubric.specs),
    )
    console.print()
    console.print(rubric.for_terminal())
    console.print("Oracle")
    for call in env.oracle():
        console.print(f"  {call.tool} {orjson.dumps(dict(call.arguments)).decode()}", markup=False, highlight=False)


@app.command(
    epilog="Examples: `palaestra tasks prove storefront --split dev`, `palaestra tasks prove ./mine --json proof.json`"
)
def prove(
    target: Target = "storefront",
    split: SplitOption = None,
    family: FamilyOption = None,
    json: Annotated[Path | None, typer.Option("--json", help="Write the whole proof to this file.")] = None,
) -> None:
    """Prove tasks: solvable, not solved by idle agents, wrong work rejected, right work accepted.

    Exits with 1 when they are not proved, and says why.
    """
    env = open_target(target)
    ids = chosen(env, split, family)
    if not ids:
        raise TaskError(f"no task of {target} is in {', '.join(split or SPLITS)}; there is nothing to prove")
    with bar("proving", len(ids)) as progress:
        proof = prove_tasks(env, ids, progress=progress.step)
    console = output()
    for table in proof_tables(proof):
        console.print(table.for_terminal())
    for finding in proof.survivors:
        line = f"survivor: {finding.task}: {finding.kind}: {finding.what}"
        console.print(line, markup=False, highlight=False)
    if json is not None:
        document: dict[str, Any] = proof_document(proof)
        write_file(json, orjson.dumps(document, option=orjson.OPT_INDENT_2))
    faults = proof.faults()
    for fault in faults[:SHOWN]:
        console.print(f"not proved: {fault}", style="red", markup=False, highlight=False)
    if len(faults) > SHOWN:
        console.print(f"not proved: {len(faults) - SHOWN} more faults; `--json FILE` writes them all", style="red")
    if faults:
        raise typer.Exit(1)
    console.print(f"{len(ids)} tasks proved.", style="green")

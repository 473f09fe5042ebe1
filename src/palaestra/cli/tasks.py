"""`palaestra tasks`: list, show, decide, prove and attack tasks."""

import os
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.markup import escape

from palaestra.cli.console import output
from palaestra.cli.progress import bar
from palaestra.cli.target import WorldOption, open_target, open_task
from palaestra.durable import write_file
from palaestra.envs import ToolEnv
from palaestra.envs.decided import save_decided
from palaestra.envs.target import folder_of
from palaestra.errors import TaskError, UnknownNameError
from palaestra.proof import (
    Proof,
    attack_table,
    attack_tasks,
    decide_tasks,
    proof_document,
    proof_lines,
    proof_markdown,
    proof_tables,
    prove_injections,
    release_of,
)
from palaestra.proof import prove as prove_tasks
from palaestra.table import Table

app = typer.Typer(help="List, show, decide, prove and attack tasks.", no_args_is_help=True, rich_markup_mode="markdown")

Target = Annotated[
    str | None,
    typer.Argument(help="World id, folder of a world pack, or folder or file of task files."),
]
SplitOption = Annotated[list[str] | None, typer.Option("--split", help="Only this split. May be given several times.")]
FamilyOption = Annotated[str | None, typer.Option("--family", help="Only this family, such as cancel-order.")]


def choose_tasks(env: ToolEnv, splits: list[str] | None, family: str | None, *, unreleased: bool = False) -> list[str]:
    """The ids of the chosen tasks.

    Args:
        env: An environment of their world.
        splits: Only these; `None` for all.
        family: Only this family; `None` for all.
        unreleased: Whether to include tasks that no release lists.

    Raises:
        UnknownNameError: there is no such split or family.
    """
    of_split = env.task_set.candidates if unreleased else env.task_set.ids
    ids = [task for split in splits or env.task_set.splits for task in of_split(split)]
    if family is None:
        return ids
    family = family.removeprefix(f"{env.world.name}/")
    names = {f.name for f in env.task_set.families.values()}
    if family not in names:
        raise UnknownNameError.of("family", family, names)
    return [task for task in ids if task.split("/")[1] == family]


@app.command("list", epilog="Example: `palaestra tasks list storefront --split heldout`")
def list_tasks(
    target: Target = None,
    world: WorldOption = None,
    split: SplitOption = None,
    family: FamilyOption = None,
    ids: Annotated[bool, typer.Option("--ids", help="Print all task ids, one per line.")] = False,  # noqa: FBT002
) -> None:
    """List families and their number of tasks per split."""
    env = open_target(target, world)
    tasks = choose_tasks(env, split, family)
    if ids:
        typer.echo("\n".join(tasks))
        return
    counts = Counter((env.task_set.instance(t).spec.family, env.task_set.instance(t).spec.split) for t in tasks)
    played = {where for _, where in counts}  # an axis of the held-out tasks, such as heldout-world, is part of a split
    splits = [s for s in env.task_set.splits if not split or s in split or s in played]
    families = [f for f in env.task_set.families.values() if any((f.id, s) in counts for s in splits)]
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
    task: Annotated[str, typer.Argument(help="Task id.")],
    world: WorldOption = None,
    tasks: Annotated[str | None, typer.Option("--tasks", help="Folder of task files that defines the task.")] = None,
) -> None:
    """Show a task's request, rubric and reference solution."""
    env = open_task(task, tasks, world)
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
    target: Target = None,
    world: WorldOption = None,
    split: SplitOption = None,
    family: FamilyOption = None,
    surface: Annotated[str | None, typer.Option("--surface", help="Tool surface, such as generic.")] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Worker processes. Default: one per core.")] = None,
    json: Annotated[Path | None, typer.Option("--json", help="Write the complete proof to this JSON file.")] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write the tables to this Markdown file.")] = None,
    release: Annotated[  # noqa: FBT002
        bool, typer.Option("--release", help="Release the tasks if the proof passes: the world's splits list them.")
    ] = False,
) -> None:
    """Prove tasks: the oracle solves them, baselines, attacks and mutants fail, and alternatives pass.

    Exits with status 1 and prints the faults if the proof fails.
    """
    env = open_target(target, world, surface=surface)
    if release and env.world.release is None:
        raise TaskError(f"--release: the world {env.world.name!r} keeps no release; name its file as World.release")
    if release and (folder_of(target) or split or family or surface):
        raise TaskError("--release is for a whole world; leave out --split, --family, --surface and task files")
    ids = choose_tasks(env, split, family, unreleased=True)
    if not ids:
        where = ", ".join(split or env.task_set.splits)
        raise TaskError(f"no task of {env.env_id} is in {where}; there is nothing to prove")
    with bar("proving", len(ids)) as progress:
        proof = prove_tasks(env, ids, jobs=jobs or os.cpu_count() or 1, progress=progress.step)
    command = _command(target or world or env.world.name, split, family, surface)
    report(proof, json=json, markdown=markdown, command=command)
    if not proof.verdict.proved:
        raise typer.Exit(1)
    if release and env.world.release is not None:
        release_of(env.task_set, proof).save(env.world.release)


@app.command(epilog="Example: `palaestra tasks decide storefront`")
def decide(target: Target = None, world: WorldOption = None) -> None:
    """Find handbooks that decide the tasks of the split heldout-policy, and record them with the world."""
    env = open_target(target, world)
    path = env.world.decided
    if path is None or folder_of(target):
        raise TaskError(f"the world {env.world.name!r} keeps no record of decided tasks; name its file: World.decided")
    found = decide_tasks(env.task_set)
    save_decided(path, found)
    output().print(f"{len(found)} tasks are decided by {len(set(found.values()))} handbooks.", highlight=False)


@app.command(
    epilog="Examples: `palaestra tasks attack storefront --split heldout`, "
    "`palaestra tasks attack --world ./mine --attack lies-and-insults --json attacks.json`"
)
def attack(
    target: Target = None,
    world: WorldOption = None,
    split: SplitOption = None,
    family: FamilyOption = None,
    surface: Annotated[str | None, typer.Option("--surface", help="Tool surface, such as generic.")] = None,
    attacks: Annotated[
        list[str] | None, typer.Option("--attack", help="Only this attack. May be given several times. Default: all.")
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Worker processes. Default: one per core.")] = None,
    json: Annotated[Path | None, typer.Option("--json", help="Write every task's result to this JSON file.")] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write the table to this Markdown file.")] = None,
) -> None:
    """Attack tasks and report which share of tasks, and of pairs with the refusal twin, each attack solves."""
    env = open_target(target, world, surface=surface)
    ids = choose_tasks(env, split, family)
    if not ids:
        where = ", ".join(split or env.task_set.splits)
        raise TaskError(f"no task of {env.env_id} is in {where}; there is nothing to attack")
    with bar("attacking", len(ids)) as progress:
        found = attack_tasks(env, ids, attacks or (), jobs=jobs or os.cpu_count() or 1, progress=progress.step)
    table = attack_table(found)
    output().print(table.for_terminal())
    if json is not None:
        write_file(json, orjson.dumps(found.tasks, option=orjson.OPT_INDENT_2))
    if markdown is not None:
        write_file(markdown, f"**{table.title}**\n\n{table.markdown()}\n\n{table.note}\n".encode())


@app.command(epilog="Example: `palaestra tasks injections shop --split dev --surface pages`")
def injections(
    target: Target = None,
    world: WorldOption = None,
    split: SplitOption = None,
    family: FamilyOption = None,
    surface: Annotated[str | None, typer.Option("--surface", help="Tool surface, such as pages.")] = None,
    json: Annotated[Path | None, typer.Option("--json", help="Write every trial to this JSON file.")] = None,
) -> None:
    """Prove injections: victims are detected, and honest solutions get full score and are not accused.

    Plants each attacker's goal in each task. Exits with status 1 and prints the faults if one is missed.
    """
    env = open_target(target, world, surface=surface)
    ids = choose_tasks(env, split, family)
    if not ids:
        raise TaskError(
            f"no task of {env.env_id} is in {', '.join(split or env.task_set.splits)}; choose another split"
        )
    with bar("planting", len(ids)) as progress:
        proof = prove_injections(env, ids, surface=env.played_surface, progress=progress.step)
    console = output()
    console.print(proof.table().for_terminal())
    for fault in proof.faults:
        console.print(fault, style="red", highlight=False, markup=False)
    if json is not None:
        write_file(json, orjson.dumps(proof.trials, option=orjson.OPT_INDENT_2))
    if proof.faults:
        raise typer.Exit(1)


def report(proof: Proof, *, json: Path | None, markdown: Path | None, command: str) -> None:
    """Print the verdict, the faults and the tables of a proof, and write it to the given files."""
    console = output()
    verdict, *faults = proof_lines(proof)
    console.print(verdict, style="green" if proof.verdict.proved else "red", markup=False, highlight=False)
    for line in faults:
        console.print(line, markup=False, highlight=False)
    for table in proof_tables(proof):
        console.print(table.for_terminal())
    for finding in proof.survivors:
        line = f"survivor: {finding.task}: {finding.kind}: {finding.what}"
        console.print(line, markup=False, highlight=False)
    if json is not None:
        document: dict[str, Any] = proof_document(proof)
        write_file(json, orjson.dumps(document, option=orjson.OPT_INDENT_2))
    if markdown is not None:
        write_file(markdown, proof_markdown(proof, command=command).encode())


def _command(target: str, splits: list[str] | None, family: str | None, surface: str | None) -> str:
    """The command that proves the same tasks."""
    parts = [f"--split {split}" for split in splits or ()]
    parts += [f"--{name} {value}" for name, value in (("family", family), ("surface", surface)) if value]
    return " ".join(["palaestra tasks prove", target, *parts])

"""`palaestra train`: train a policy."""

import shlex
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer
from rich.console import Console

from palaestra.cli.console import output
from palaestra.cli.objectives import describe_pay, describe_unit
from palaestra.cli.progress import bar
from palaestra.cli.switches import options_of
from palaestra.env_settings import BenchmarkId
from palaestra.packs import DEFAULT, PACKS
from palaestra.table import Table

if TYPE_CHECKING:
    from palaestra.trainers import WorldConfig
    from palaestra.trainers.loops import RunPlan
    from palaestra.trainers.loops.changes import SettingChange


def train(
    config: Annotated[Path, typer.Argument(help="TOML file of settings.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Output folder. Default: runs/ and the name of the file.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="Override a setting of the file, such as grpo.steps=4. May be given several times."),
    ] = None,
    dry_run: Annotated[  # noqa: FBT002
        bool, typer.Option("--dry-run", help="Check the settings, load everything, print the plan and stop.")
    ] = False,
    replay: Annotated[Path | None, typer.Option("--replay", help="Folder of a run to replay token by token.")] = None,
    amend: Annotated[  # noqa: FBT002
        bool, typer.Option("--amend", help="Resume with changed settings that change what later steps learn.")
    ] = False,
) -> None:
    """Train a policy from a file of settings.

    After an interruption, the same command resumes from the last save and trains on the rollouts since. See
    docs/training.md for the settings.

    Examples: `palaestra train examples/train/storefront.toml`, `palaestra train examples/train/storefront.toml --set
    grpo.limits.staleness=2 --out runs/async`, `palaestra train RUN.toml --dry-run`, `torchrun --nproc-per-node 4 -m
    palaestra train RUN.toml` (models and optimisers spread over four processes, an accelerator each)
    """
    from palaestra.trainers.loops import load_config, plan_run, run  # noqa: PLC0415  torch takes seconds
    from palaestra.trainers.loops.changes import changes_of_run, check_changes  # noqa: PLC0415
    from palaestra.trainers.process_group import join_process_group  # noqa: PLC0415
    from palaestra.trainers.progress import silent  # noqa: PLC0415

    settings = load_config(config, settings=setting or ())
    console = output()

    def say(text: str) -> None:
        console.print(text, style="dim", highlight=False, markup=False, soft_wrap=True)

    with join_process_group() as group:
        if group is not None and not group.first:
            group.follow()
            return
        plan = plan_run(settings, bar=bar)
        folder = out or Path("runs") / config.stem
        if dry_run:
            changes = changes_of_run(folder, plan.config)
            check_changes(changes, amend=amend, where=folder)
            console.print(_plan_table(plan, changes).for_terminal())
            console.print(_memory_table(plan).for_terminal())
            return
        say(f"writes {folder}")
        for what, how_much in _plan_rows(plan):
            say(f"{what.strip()}: {how_much}")
        # In a log, the stages' own lines say more than those of a bar.
        shown = bar if Console(stderr=True).is_terminal else silent
        result = run(plan, folder, replay=replay, amend=amend, models=group, bar=shown, say=say)
    last = result.progress.history[-1]
    if "reward/mean" in last:
        console.print(f"the last batch of rollouts scored {last['reward/mean']:.1f} on average", highlight=False)
    console.print(f"the policy: {result.directory}", highlight=False)
    command = shlex.join(["palaestra", "eval", str(result.directory), *_evaluation_options(plan)])
    console.print(f"measure it: {command}", highlight=False, markup=False, soft_wrap=True)


def _evaluation_options(plan: "RunPlan") -> list[str]:
    """The run's worlds, families, switches and limits as options of `palaestra eval`, without its defaults."""
    plays = [play for stage in plan.config.stages.values() if (play := getattr(stage, "play", None)) is not None]
    return [
        *world_options(plan.worlds.configs),
        *(part for play in plays[-1:] for part in ("--context", str(play.context), "--turn", str(play.turn))),
    ]


def world_options(configs: Sequence["WorldConfig"]) -> list[str]:
    """The worlds, their families and variant as options of `palaestra eval`; for a benchmark, its suite."""
    from palaestra.trainers.loops.material import env_id_of  # noqa: PLC0415  torch takes seconds

    places = [str(config.pack or env_id_of(config)) for config in configs]
    if places[0] in get_args(BenchmarkId):
        from palaestra.benchmarks.external import benchmark_of  # noqa: PLC0415  it needs the extra `suites`

        return ["--suite", benchmark_of(places[0]).name]
    families = dict.fromkeys(family for config in configs for family in config.families)
    chosen = families if all(config.families for config in configs) else ()
    worlds = [] if places == [PACKS.find(DEFAULT).env_id] else [part for place in places for part in ("--world", place)]
    return [
        *worlds,
        *(part for family in chosen for part in ("--family", family)),
        *(options_of(configs[0].switches) if all(one.switches == configs[0].switches for one in configs) else ()),
    ]


def _task_rows(plan: "RunPlan") -> list[tuple[str, str]]:
    """The number of tasks: in total, and in each world if the run has several."""
    tasks, shares = plan.worlds.tasks, plan.worlds.shares
    families = {task.rpartition("/")[0] for task in tasks}
    total = f"{len(tasks):,} in {len(families)} families"
    if len(shares) == 1:
        return [("tasks", total)]
    starts = accumulate((share.count for share in shares), initial=0)
    weights = sum(share.weight for share in shares)
    return [("tasks", f"{total} of {len(shares)} worlds")] + [
        (f"  {tasks[start].partition('/')[0]}", f"{share.count:,}, {100 * share.weight / weights:.0f} % of the groups")
        for start, share in zip(starts, shares, strict=False)
    ]


def _placement_rows(plan: "RunPlan") -> list[tuple[str, str]]:
    """The device and settings of each part."""
    from palaestra.trainers.loops.placement import placements  # noqa: PLC0415  torch takes seconds

    rows = [(one.part, f"{one.device}, {one.precision}, {one.detail}") for one in placements(plan.config)]
    return [("threads", f"{plan.config.threads} for arithmetic"), *rows]


def _memory_table(plan: "RunPlan") -> Table:
    """The memory and disk space of each stage."""
    from palaestra.trainers.loops.memory import estimate_memory  # noqa: PLC0415  torch takes seconds

    shape, config = plan.policy.model.shape, plan.config
    found = {name: estimate_memory(stage, shape) for name, stage in config.stages.items()}
    parts = dict.fromkeys((item.what, item.where) for items in found.values() for item in items)
    totals = dict.fromkeys(("in all", where) for _, where in parts)

    def cell(name: str, what: str, where: str) -> str:
        sizes = [item.bytes for item in found[name] if item.where == where and what in (item.what, "in all")]
        return f"{sum(sizes) / 2**20:,.0f}" if sizes else "-"

    rows = tuple((what, where, *(cell(name, what, where) for name in found)) for what, where in (*parts, *totals))
    note = "Upper limits, without the Python process, its libraries and the allocator's reserve."
    return Table(title="Memory and disk, MiB", columns=("what", "where", *found), rows=rows, note=note)


def _stage_rows(plan: "RunPlan", name: str) -> list[tuple[str, str]]:
    """The plan of a stage."""
    from palaestra.trainers.loops.imitation_config import ExpertConfig, SftConfig  # noqa: PLC0415  torch takes seconds
    from palaestra.trainers.loops.rollout_config import GrpoConfig  # noqa: PLC0415

    stage = plan.config.stages[name]
    shown = len(plan.demonstrations[name].episodes) if name in plan.demonstrations else 0
    if isinstance(stage, SftConfig):
        long = f"{stage.steps} steps" if stage.cpu_seconds is None else f"{stage.cpu_seconds:g} s of processor time"
        return [(name, f"{long} of {stage.batch} of {shown:,} demonstrations")]
    limits = stage.limits
    groups = f"{limits.per_step} groups, {limits.per_step * stage.group_size} trajectories"
    rows: list[tuple[str, str]] = []
    if isinstance(stage, GrpoConfig):
        totals, built = plan.worlds.totals, stage.objective.build()
        rows += [
            ("returns" if len(totals) == 1 else f"returns, {world}", describe_unit(built, total))
            for world, total in totals.items()
        ]
        if paid := describe_pay(built):
            rows.append(("pay", paid))
        ends = {
            "steps": f"{stage.steps} steps",
            "tokens": f"{stage.tokens or 0:,} tokens, in steps",
            "cpu_seconds": f"{stage.cpu_seconds or 0:g} s of processor time, in steps",
        }
        long = ends[
            "cpu_seconds" if stage.cpu_seconds is not None else "tokens" if stage.tokens is not None else "steps"
        ]
        rows.append((name, f"{long} of {groups}"))
        if stage.branching is not None:
            rows.append(("branching", stage.branching.describe()))
    else:
        expert = isinstance(stage, ExpertConfig)
        if isinstance(stage, ExpertConfig):
            rounds = f"{stage.steps}" if stage.cpu_seconds is None else f"{stage.cpu_seconds:g} s of processor time, in"
            long = f"{rounds} rounds of {groups}, then {stage.updates} optimiser steps"
        else:
            long = f"{stage.rounds} rounds of {groups}; then {stage.steps} optimiser steps"
        rows.append((name, f"{long} of {stage.batch} sequences" + (" each" if expert else "")))
        keep = stage.keep
        beginnings = ", and the best harmless beginning where none solved" if keep.prefixes else ""
        rows.append(("imitated", f"{keep.per_task} solutions a task, {keep.per_family} a family at most{beginnings}"))
        if stage.branching is not None:
            rows.append(("branching", stage.branching.describe()))
        rows.append(
            (
                "demonstrations",
                f"{stage.demonstrations_per_batch} of {stage.batch} sequences at least, of {shown:,}"
                if shown
                else "none",
            )
        )
    rows.append(("choice of tasks", stage.choice.describe()))
    rows.append(("rollouts", f"{stage.pool.agents} at once, at most {limits.bound} versions old"))
    return rows


def _plan_rows(plan: "RunPlan") -> list[tuple[str, str]]:
    """The plan of a run in figures."""
    config, shape = plan.config, plan.policy.model.shape
    rows = [
        *_task_rows(plan),
        ("policy", f"{shape.parameters:,} parameters, {shape.vocabulary:,} tokens, {plan.policy.codec.format.name}"),
    ]
    for name in config.stages:
        rows += _stage_rows(plan, name)
    return [*rows, *_placement_rows(plan)]


def _plan_table(plan: "RunPlan", changes: "Sequence[SettingChange]") -> Table:
    """The plan of a run that has not begun."""
    rows = _plan_rows(plan)
    rows += [(f"changed: {change.setting}", change.sentence().partition(": ")[2]) for change in changes]
    return Table(title="A dry run: nothing was written", columns=("what", "how much"), rows=tuple(rows))

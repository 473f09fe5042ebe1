"""`palaestra train`: how a policy learns."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palaestra.benchmarks.table import Table
from palaestra.cli.console import output
from palaestra.cli.extra import train_extra
from palaestra.cli.progress import bar


if TYPE_CHECKING:
    from palaestra.trainers.loops import Plan


def train(
    config: Annotated[Path, typer.Argument(help="A TOML file of settings.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="The run's folder; runs/ and the file's name if not said.")
    ] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="A setting that goes before the file's: grpo.steps=4.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read, open and count everything, say what would be done, and stop.")
    ] = False,  # noqa: FBT002
    replay: Annotated[
        Path | None, typer.Option("--replay", help="The folder of a run to go through again, token by token.")
    ] = None,
) -> None:
    """Train a policy as a file of settings says.

    Interrupt it anywhere and start it again with the same arguments: it goes on from its last save, and trains on what
    was rolled out since. Settings are explained in docs/training.md.

    Examples: `palaestra train examples/train/storefront.toml`, `palaestra train examples/train/storefront.toml --set
    grpo.source.staleness=2 --out runs/async`, `palaestra train RUN.toml --dry-run`
    """
    with train_extra():
        from palaestra.trainers.loops import load_config, planned, run  # noqa: PLC0415  torch takes seconds
    settings = load_config(config, settings=setting or ())
    console = output()
    plan = planned(settings, bar=bar)
    if dry_run:
        console.print(_plan_table(plan).for_terminal())
        return

    def say(text: str) -> None:
        console.print(text, style="dim", highlight=False)

    result = run(plan, out or Path("runs") / config.stem, replay=replay, bar=bar, say=say)
    last = result.progress.history[-1]
    if "score" in last:
        console.print(f"the last batch of rollouts scored {last['score']:.1f} on average", highlight=False)
    console.print(f"the policy: {result.directory}", highlight=False)
    console.print(f"measure it: palaestra eval {result.directory}", highlight=False)


def _plan_table(plan: "Plan") -> Table:
    """What a run is about to do, in figures."""
    config, shape = plan.config, plan.policy.model.shape
    rows = [
        ("tasks", f"{len(plan.tasks):,} in {len({task.split('/')[1] for task in plan.tasks})} families"),
        ("policy", f"{shape.parameters:,} parameters, {shape.vocabulary:,} tokens, {plan.policy.codec.format.name}"),
    ]
    if config.sft is not None:
        long = f"{config.sft.steps} steps" if config.sft.seconds is None else f"{config.sft.seconds:g} s"
        rows.append(("sft", f"{long} of {config.sft.batch} of {len(plan.demonstrations):,} demonstrations"))
    if config.grpo is not None:
        groups, size, limits = config.grpo.limits.per_step, config.grpo.group_size, config.grpo.limits
        context = config.grpo.play.context
        kept = 2 * shape.layers * shape.kv_heads * shape.head_dim * (2 if config.grpo.engine.precision == "bf16" else 4)
        rows += [
            ("grpo", f"{config.grpo.steps} steps of {groups} groups of {size}: {groups * size} trajectories a step"),
            (
                "rollouts",
                f"{config.grpo.pool.agents} at once, of at most {context:,} tokens, at most "
                f"{limits.bound} versions old",
            ),
            ("weights, gradient, optimiser", f"{16 * shape.parameters / 2**20:,.0f} MiB in single precision"),
            (
                "keys and values",
                f"{kept:,} bytes a token, "
                f"{kept * context * min(config.grpo.pool.agents, config.grpo.engine.rows) / 2**20:,.0f} MiB at most drawn at once",
            ),
        ]
    return Table(title="A dry run: nothing was written", columns=("what", "how much"), rows=tuple(rows))

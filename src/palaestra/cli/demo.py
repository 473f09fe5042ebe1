"""`palaestra demo`: the whole workflow, from rollouts and a proof to a policy that learns and an HTML report."""

import os
from pathlib import Path
from typing import Annotated

import typer

from palaestra.cli.console import output
from palaestra.cli.progress import bar
from palaestra.cli.target import WorldOption
from palaestra.proof import proof_lines


def demo(
    out: Annotated[
        Path, typer.Option("--out", help="Output folder for trajectories, proof, checkpoints and the report.")
    ] = Path("runs/demo"),
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Training runs, with seeds 0, 1, ...")] = 1,
    controls: Annotated[  # noqa: FBT002
        bool,
        typer.Option("--controls", help="Train controls as well: more steps, more demonstrations, rejection sampling."),
    ] = False,
    base: Annotated[
        str | None,
        typer.Option(
            "--base",
            metavar="MODEL",
            help="Pretrained model to begin with, such as smollm2, or a checkpoint's folder. "
            "Default: a small policy with random weights.",
        ),
    ] = None,
    world: WorldOption = None,
) -> None:
    """Run agents, prove split dev, train a small policy and evaluate it on unseen tasks.

    The policy learns from few demonstrations, then from what it solves itself (expert iteration), then by a policy
    gradient that pays solved tasks alone. In the Storefront it trains on 21 families; `palaestra tasks prove
    storefront` proves the tasks of all families. In another world it trains on the families that the world names for
    the demo, or on all of them.

    With --base, a pretrained model goes through the same stages in place of random weights: with adapters, on six
    short families and few tasks. It is evaluated before and after. The command first prints an estimate of the time:
    some two hours for smollm2 on two idle cores.

    With --controls, three further policies get as much time or as many rollouts. Several policies are trained and
    measured at once, one on each core. After an interruption, the same command resumes from the last save.

    Examples: `palaestra demo --seeds 3 --controls`, `palaestra demo --base smollm2 --out runs/smollm2`,
    `palaestra demo --world examples/worlds/human_resources`
    """
    from palaestra.benchmarks.demo import run_demo  # noqa: PLC0415  torch takes seconds to import
    from palaestra.benchmarks.learning import LearningConfig, pretrained_config  # noqa: PLC0415

    console = output()
    if base is not None:
        config, jobs = pretrained_config(base, controls=controls), 1
    else:
        config, jobs = LearningConfig(controls=controls), os.cpu_count() or 1
    report = run_demo(
        out,
        seeds=seeds,
        world=world,
        config=config,
        jobs=jobs,
        bar=bar,
        say=lambda text: console.print(text, style="dim", highlight=False, markup=False, soft_wrap=True),
    )
    for table in report.tables:
        console.print(table.for_terminal())
    for line in proof_lines(report.proof):
        console.print(line, markup=False, highlight=False)
    console.print(f"the trained policy: {out / 'seed-0' / 'policy-gradient'}", highlight=False)
    if base is not None:
        suite = f"palaestra eval {out / 'seed-0' / 'policy-gradient'} --suite bfcl/simple_python --context 2048"
        console.print(f"measure it elsewhere: {suite}", highlight=False, soft_wrap=True)
    console.print(f"the curves: {out / 'curves.png'}", highlight=False)
    console.print(f"to read episodes step by step, open {out / 'index.html'} in a browser", highlight=False)
    if not report.proof.verdict.proved:
        raise typer.Exit(1)

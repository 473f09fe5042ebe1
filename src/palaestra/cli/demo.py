"""`palaestra demo`: the main job, from rollout to proof to a policy that learns, and a page to read it all on."""

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
    world: WorldOption = None,
) -> None:
    """Run agents, prove split dev, train a small policy and evaluate it on unseen tasks.

    In the Storefront the policy trains on 24 families; `palaestra tasks prove storefront` proves the tasks of all
    families. In another world it trains on the families that the world names for the demo, or on all of them.

    The demo takes about 7 minutes on two cores. Each further seed takes as long, less the proof. After an
    interruption, the same command resumes from the last save.

    Examples: `palaestra demo --seeds 3 --out runs/demo`, `palaestra demo --world examples/worlds/human_resources`
    """
    from palaestra.benchmarks.demo import run_demo  # noqa: PLC0415  torch takes seconds to import

    console = output()
    report = run_demo(
        out, seeds=seeds, world=world, bar=bar, say=lambda text: console.print(text, style="dim", highlight=False)
    )
    for table in report.tables:
        console.print(table.for_terminal())
    for line in proof_lines(report.proof):
        console.print(line, markup=False, highlight=False)
    console.print(f"the policy after GRPO, to go on with: {out / 'seed-0' / 'after-grpo'}", highlight=False)
    console.print(f"the curves: {out / 'curves.png'}", highlight=False)
    console.print(f"to read episodes step by step, open {out / 'index.html'} in a browser", highlight=False)
    if not report.proof.verdict.proved:
        raise typer.Exit(1)

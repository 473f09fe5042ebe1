"""`palaestra demo`: the main job, from rollout to proof to a page one can read."""

from pathlib import Path
from typing import Annotated

import typer

from palaestra.benchmarks.demo import run_demo
from palaestra.cli.console import output
from palaestra.cli.progress import bar


def demo(
    out: Annotated[Path, typer.Option("--out", help="Where trajectories, proof and page are written.")] = Path(
        "runs/demo"
    ),
) -> None:
    """Roll agents out on every task family, score them, prove every task, and write a page to read it all on.

    Example: `palaestra demo --out runs/demo`
    """
    console = output()
    report = run_demo(out, bar=bar)
    for table in report.tables:
        console.print(table.for_terminal())
    for fault in report.proof.faults():
        console.print(f"not proved: {fault}", style="red", markup=False, highlight=False)
    console.print(f"{len(report.episodes)} episodes: {out / 'trajectories.jsonl'}", highlight=False)
    console.print(f"the proof: {out / 'proof.json'}", highlight=False)
    console.print(f"to read them step by step, open {out / 'index.html'} in a browser", highlight=False)
    if report.proof.faults():
        raise typer.Exit(1)

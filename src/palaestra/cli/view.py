"""`palaestra view`: write trajectories as an HTML page."""

from pathlib import Path
from typing import Annotated

import typer

from palaestra.benchmarks.viewer import render_page
from palaestra.durable import write_file
from palaestra.trajectory import read_episodes


def view(
    trajectories: Annotated[Path, typer.Argument(help="JSON-lines file of trajectories.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Output file. Default: beside the trajectories.")
    ] = None,
) -> None:
    """Write a self-contained HTML page to read trajectories step by step.

    Example: `palaestra view runs/demo/trajectories.jsonl -o /tmp/page.html`
    """
    episodes = list(read_episodes(trajectories))
    page = output or trajectories.with_suffix(".html")
    write_file(page, render_page(episodes, title=trajectories.name).encode())
    typer.echo(f"{len(episodes)} episodes: {page}")

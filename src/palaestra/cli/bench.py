"""`palaestra bench`: what things cost, as ratios in one run."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import orjson
import typer

from palaestra.benchmarks.speed import FULL, QUICK, SECTIONS, bench_env, speed_markdown, speed_tables
from palaestra.cli.console import output
from palaestra.cli.progress import bar
from palaestra.durable import write_file
from palaestra.envs import WORLDS

app = typer.Typer(help="Measure what things cost.", no_args_is_help=True, rich_markup_mode="markdown")


@app.callback()
def bench() -> None:
    """Measure what things cost."""


@app.command(epilog="Example: `palaestra bench env --quick --json bench.json`")
def env(
    env_id: Annotated[str, typer.Argument(help="The environment.")] = "palaestra/Storefront-v0",
    quick: Annotated[bool, typer.Option("--quick", help="A little of everything, in half a minute.")] = False,  # noqa: FBT002
    episodes: Annotated[int | None, typer.Option(min=1, help="How many episodes the oracle plays.")] = None,
    worlds: Annotated[int | None, typer.Option(min=1, help="How many worlds live at once when weighed.")] = None,
    json: Annotated[Path | None, typer.Option("--json", help="Write every figure to this file.")] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write the tables to this file.")] = None,
) -> None:
    """Time steps, resets, snapshots and forks, weigh live worlds, and compare with other ways and peers, in one run."""
    WORLDS.get(env_id)  # an unknown id is told in our words, with near ones
    usual = QUICK if quick else FULL
    scale = replace(usual, episodes=episodes or usual.episodes, worlds=worlds or usual.worlds)
    with bar("measuring", len(SECTIONS)) as progress:
        report = bench_env(env_id, scale=scale, progress=progress.step)
    for table in speed_tables(report):
        output().print(table.for_terminal())
    if json is not None:
        write_file(json, orjson.dumps(report.as_json(), option=orjson.OPT_INDENT_2))
    if markdown is not None:
        write_file(markdown, speed_markdown(report).encode())

"""`palaestra bench pages`, `pages-gate` and `web`.

They say whether both renderers of pages agree, whether tasks hold on pages, and what pages cost.
"""

from collections.abc import Sequence
from pathlib import Path
from shutil import which
from typing import Annotated

import gymnasium as gym
import typer

from palaestra.cli.console import output
from palaestra.cli.progress import bar
from palaestra.cli.target import WorldOption
from palaestra.durable import write_file
from palaestra.envs import ToolEnv
from palaestra.envs.target import find_world
from palaestra.errors import ConfigError
from palaestra.table import Table


def find_chromium() -> str | None:
    """The path of Chromium on the search path."""
    return which("chromium") or which("chromium-browser")


def web(
    world: WorldOption = None,
    quick: Annotated[bool, typer.Option("--quick", help="Measure a small sample.")] = False,  # noqa: FBT002
    chromium: Annotated[
        str | None, typer.Option("--chromium", help="Path of Chromium. Default: the one on the search path.")
    ] = None,
    browsergym: Annotated[
        Path | None,
        typer.Option("--browsergym", help="Python interpreter with browsergym-miniwob, which is measured beside ours."),
    ] = None,
    miniwob: Annotated[
        Path | None, typer.Option("--miniwob", help="Folder of MiniWoB++'s pages. Default: the installed suite's.")
    ] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write the tables to this Markdown file.")] = None,
) -> None:
    """Time steps, resets and forks of pages in process and in Chromium, beside BrowserGym, in one run.

    Example: `palaestra bench web --browsergym /path/to/venv/bin/python --markdown web.md`
    """
    from palaestra.benchmarks.speed.web import WEB_FULL, WEB_QUICK, WebPeer, bench_web, web_tables  # noqa: PLC0415

    peer = None
    if browsergym is not None:
        peer = WebPeer(python=browsergym, pages=miniwob or _installed_miniwob())
    elif miniwob is not None:
        raise ConfigError("--miniwob is of --browsergym; give both, or leave it out")
    with bar("measuring", 3) as shown:
        report = bench_web(
            find_world(world),
            scale=WEB_QUICK if quick else WEB_FULL,
            chromium=chromium or find_chromium(),
            peer=peer,
            progress=shown.step,
        )
    tables = web_tables(report)
    for table in tables:
        output().print(table.for_terminal())
    if markdown is not None:
        _write_tables(markdown, tables)


def _write_tables(file: Path, tables: Sequence[Table]) -> None:
    text = "\n\n".join(f"### {table.title}\n\n{table.markdown()}\n\n{table.note}".rstrip() for table in tables)
    write_file(file, f"{text}\n".encode())


def _installed_miniwob() -> Path:
    from palaestra.benchmarks.external.installation import home  # noqa: PLC0415

    found = next((home() / "miniwob").rglob("click-button.html"), None)
    if found is None:
        raise ConfigError("MiniWoB++ is not installed; `palaestra suites install miniwob`, or give --miniwob")
    return found.parent


def pages(
    world: WorldOption = None,
    actions: Annotated[int, typer.Option("--actions", min=0, help="Random actions in all.")] = 10_000,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="At most this many items, and tasks of each split.")
    ] = None,
    chromium: Annotated[
        str | None, typer.Option("--chromium", help="Path of Chromium. Default: the one on the search path.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="Folder of results. The same command continues from it.")] = Path(
        "runs/pages"
    ),
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write the table to this Markdown file.")] = None,
) -> None:
    """Play every task's solution on pages, and compare both renderers step by step.

    In process, the solutions of all listed tasks are played. In Chromium as well, those of one task of each family and
    split, and random actions. Needs the extra `web` and Chromium. Exits with status 1 if a solution misses points or a
    step differs.

    Example: `palaestra bench pages --actions 2000 --limit 40 --markdown parity.md`
    """
    from palaestra.benchmarks.pages import (  # noqa: PLC0415
        measure_parity,
        oracles_table,
        parity_items,
        parity_table,
        play_oracles,
    )

    program = chromium or find_chromium()
    if program is None:
        raise ConfigError("there is no chromium on the search path; install it, or give its path with --chromium")
    env_id = find_world(world)
    env = gym.make(env_id, surface="pages").unwrapped
    assert isinstance(env, ToolEnv), f"{env_id} is Palaestra's own"
    listed = sum(len(env.task_set.ids(split)[:limit]) for split in env.task_set.splits)
    with bar("solutions", listed) as shown:
        solutions = play_oracles(env_id, limit=limit, progress=shown.step)
    items = parity_items(env, random_actions=actions)[:limit]
    with bar("both renderers", len(items)) as shown:
        results = measure_parity(env_id, items, program=program, log=out / "parity.jsonl", step=shown.step)
    tables = [oracles_table(solutions), parity_table(results)]
    console = output()
    for table in tables:
        console.print(table.for_terminal())
    if markdown is not None:
        _write_tables(markdown, tables)
    differences = [f"{one.item.task}: {said}" for one in results for said in one.differences] + solutions.failures
    for said in differences:
        console.print(said, markup=False, highlight=False)
    if differences:
        raise typer.Exit(1)


def gate(
    worlds: Annotated[
        list[str] | None,
        typer.Option("--world", help="World, as everywhere; may be given several times. Default: Storefront."),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="At most this many tasks of a row.")] = None,
    out: Annotated[Path, typer.Option("--out", help="Folder of results. The same command continues from it.")] = Path(
        "runs/pages-gate"
    ),
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write the tables to this Markdown file.")] = None,
) -> None:
    """Run the gate of tasks on pages: solutions, attacks, agents that know nothing, and wrong work.

    A row is a family in a split. Wrong work is made of the first task of a row, everything else of all. Rows that were
    finished are not run again. Exits with status 1 if something does not hold.

    Example: `palaestra bench pages-gate --world storefront --world shop --markdown gate.md`
    """
    from palaestra.benchmarks.pages import gate_faults, gate_items, gate_tables, run_gate  # noqa: PLC0415

    env_ids = [find_world(world) for world in worlds] if worlds else [find_world(None)]
    items = [item for env_id in env_ids for item in gate_items(env_id, limit=limit)]
    with bar("gate on pages", sum(len(item.tasks) for item in items)) as shown:
        rows = run_gate(items, log=out / "gate.jsonl", progress=shown.step)
    tables = gate_tables(rows)
    console = output()
    for table in tables:
        console.print(table.for_terminal())
    if markdown is not None:
        _write_tables(markdown, tables)
    faults = gate_faults(rows, whole=limit is None)
    for fault in faults:
        console.print(fault, markup=False, highlight=False)
    if faults:
        raise typer.Exit(1)

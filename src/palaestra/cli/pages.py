"""`palaestra bench pages`, `pages-gate`, `pages-policy`, `anchors` and `web`.

They measure whether pages are the same everywhere, whether tasks hold on them, how often states recur, and the cost of
pages.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from palaestra.browser.program import find_program
from palaestra.cli.console import output
from palaestra.cli.progress import bar
from palaestra.cli.target import WorldOption, WorldsOption, make
from palaestra.durable import write_file
from palaestra.envs.target import find_world
from palaestra.errors import ConfigError
from palaestra.table import Table, tables_markdown


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
    openapps: Annotated[
        Path | None,
        typer.Option("--openapps", help="Python interpreter with open_apps, which is measured beside ours."),
    ] = None,
    miniwob: Annotated[
        Path | None, typer.Option("--miniwob", help="Folder of MiniWoB++'s pages. Default: the installed suite's.")
    ] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write the tables to this Markdown file.")] = None,
) -> None:
    """Time steps, resets and forks of pages in process and in Chromium, beside peers, in one run.

    Example: `palaestra bench web --browsergym /path/to/venv/bin/python --markdown web.md`
    """
    from palaestra.benchmarks.speed.web import WEB_FULL, WEB_QUICK, WebPeer, bench_web, web_tables  # noqa: PLC0415

    peer = None
    if browsergym is not None:
        peer = WebPeer(python=browsergym, pages=miniwob or _installed_miniwob())
    elif miniwob is not None:
        raise ConfigError("--miniwob is of --browsergym; give both, or leave it out")
    with bar("measuring", 4) as shown:
        report = bench_web(
            find_world(world),
            scale=WEB_QUICK if quick else WEB_FULL,
            chromium=chromium or find_program(),
            peer=peer,
            openapps=openapps,
            progress=shown.step,
        )
    tables = web_tables(report)
    for table in tables:
        output().print(table.for_terminal())
    if markdown is not None:
        _write_tables(markdown, tables)


def pages_policy(
    run: Annotated[Path, typer.Argument(help="Folder of a training run whose world has the surface of pages.")],
    samples: Annotated[int, typer.Option("--samples", min=1, help="Episodes of each task at temperature 1.")] = 4,
    each: Annotated[
        int | None, typer.Option("--each", min=1, help="At most this many held-out tasks of each family.")
    ] = None,
    variation: Annotated[
        list[str] | None,
        typer.Option("--variation", help="A family of variation; may be given several times. Default: the held-out."),
    ] = None,
    chromium: Annotated[
        str | None, typer.Option("--chromium", help="Path of Chromium. Default: the one on the search path.")
    ] = None,
    in_process: Annotated[bool, typer.Option("--in-process", help="Leave out Chromium.")] = False,  # noqa: FBT002
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder of evaluations; the same command continues. Default: RUN/evaluation."),
    ] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write the tables to this Markdown file.")] = None,
) -> None:
    """Measure a policy trained on pages: held-out tasks, held-out variations of the site, and pages in Chromium.

    Every stage plays the held-out tasks at temperatures 1 and 0, as text in process. The last stage's policy also plays
    them under each variation, and at temperature 0 in Chromium. Exits with status 1 if a task has other points there.
    Needs the extra `train`; Chromium needs the extra `web`.

    Example: `palaestra bench pages-policy runs/pages --markdown policy.md`
    """
    from palaestra.benchmarks.learning import measure_pages_learning, pages_learning_tables  # noqa: PLC0415
    from palaestra.envs.surfaces.pages.variation import HELD_OUT_FAMILIES  # noqa: PLC0415

    program = None if in_process else chromium or find_program()
    if program is None and not in_process:
        raise ConfigError(
            "there is no chromium on the search path; give its path with --chromium, or leave it out with --in-process"
        )
    console = output()
    found = measure_pages_learning(
        run,
        out or run / "evaluation",
        samples=samples,
        each=each,
        variations=tuple(variation) if variation else HELD_OUT_FAMILIES,
        program=program,
        bar=bar,
        say=lambda said: console.print(said, markup=False, highlight=False),
    )
    tables = pages_learning_tables(found)
    for table in tables:
        console.print(table.for_terminal())
    if markdown is not None:
        _write_tables(markdown, tables)
    if any(one.points[0] != one.points[1] for one in found.renderers):
        raise typer.Exit(1)


def _write_tables(file: Path, tables: Sequence[Table]) -> None:
    write_file(file, tables_markdown(tables).encode())


def _installed_miniwob() -> Path:
    from palaestra.benchmarks.external.installation import home  # noqa: PLC0415

    found = next((home() / "miniwob").rglob("click-button.html"), None)
    if found is None:
        raise ConfigError("MiniWoB++ is not installed; `palaestra suites install miniwob`, or give --miniwob")
    return found.parent


def pages(
    worlds: WorldsOption = None,
    actions: Annotated[int, typer.Option("--actions", min=0, help="Random actions in all.")] = 10_000,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, help="At most this many compared items, repeated episodes, tasks of a split."),
    ] = None,
    chromium: Annotated[
        str | None, typer.Option("--chromium", help="Path of Chromium. Default: the one on the search path.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="Folder of results. The same command continues from it.")] = Path(
        "runs/pages"
    ),
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write the tables to this Markdown file.")] = None,
) -> None:
    """Play every task's solution on pages, repeat episodes, and compare both renderers step by step.

    In process, the solutions of all listed tasks are played, and 200 episodes are repeated in four processes. In
    Chromium, 20 episodes are repeated in fresh browsers; then come random actions over all routes, variations and
    disturbances, and the solutions of one task of each family and split. Needs the extra `web` and Chromium. Exits with
    status 1 if a solution misses points, an episode comes out differently or a step differs.

    Example: `palaestra bench pages --actions 2000 --limit 40 --markdown parity.md`
    """
    from palaestra.benchmarks.pages import (  # noqa: PLC0415
        determinism_table,
        measure_digests,
        measure_parity,
        measure_pictures,
        oracles_table,
        parity_items,
        parity_tables,
        play_oracles,
        unequal_episodes,
    )

    program = chromium or find_program()
    if program is None:
        raise ConfigError("there is no chromium on the search path; install it, or give its path with --chromium")
    env_ids = [find_world(world) for world in worlds or _WITH_PAGES]
    envs = [make(env_id, surface="pages") for env_id in env_ids]
    tables: list[Table] = []
    differences: list[str] = []
    for env in envs:
        listed = sum(len(env.task_set.ids(split)[:limit]) for split in env.task_set.splits)
        with bar(f"solutions of {env.env_id}", listed) as shown:
            solutions = play_oracles(env.env_id, limit=limit, progress=shown.step)
        tables.append(oracles_table(env.env_id, solutions))
        differences += solutions.failures
    episodes, pictures, log = (
        min(limit or _EPISODES, _EPISODES),
        min(limit or _PICTURES, _PICTURES),
        out / "again.jsonl",
    )
    with bar("episodes again", _PROCESSES * episodes + 2 * pictures) as shown:
        played = measure_digests(env_ids, episodes=episodes, processes=_PROCESSES, log=log, step=shown.step)
        played += measure_pictures(env_ids, episodes=pictures, program=program, log=log, step=shown.step)
    tables.append(determinism_table(played))
    differences += unequal_episodes(played)
    items = parity_items(envs, random_actions=actions)[:limit]
    with bar("both renderers", len(items)) as shown:
        results = measure_parity(items, program=program, log=out / "parity.jsonl", step=shown.step)
    tables += parity_tables(results)
    differences += [f"{one.item.task}: {said}" for one in results for said in one.differences]
    console = output()
    for table in tables:
        console.print(table.for_terminal())
    if markdown is not None:
        _write_tables(markdown, tables)
    for said in differences:
        console.print(said, markup=False, highlight=False)
    if differences:
        raise typer.Exit(1)


_WITH_PAGES = ("palaestra/Storefront-v0", "palaestra/Shop-v0")
"""The worlds that are measured by default."""
_EPISODES, _PROCESSES, _PICTURES = 200, 4, 20
"""Repeated episodes, processes that each repeat them, and episodes repeated in two browsers."""


def anchors(
    worlds: WorldsOption = None,
    groups: Annotated[
        int, typer.Option("--groups", min=1, help="Number of families of each world; each gives one group.")
    ] = 24,
    out: Annotated[Path, typer.Option("--out", help="Folder of results. The same command continues from it.")] = Path(
        "runs/anchors"
    ),
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write the table to this Markdown file.")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Plot the figures to this PNG or SVG file.")] = None,
) -> None:
    """Count how often states recur within groups of rollouts, which GiGPO's comparison of turns needs.

    The groups are 8 rollouts of a random policy, and of a solution with a fifth of random turns, on the conventional
    tools, the generic ones and pages.

    Example: `palaestra bench anchors --plot anchors.png`
    """
    if plot is not None and plot.suffix not in {".png", ".svg"}:
        raise ConfigError(f"--plot {plot}: a picture is a PNG or an SVG file; give a name that ends in .png or .svg")
    from palaestra.benchmarks.pages import (  # noqa: PLC0415
        anchor_cells,
        anchors_panels,
        anchors_table,
        measure_anchors,
    )

    cells = anchor_cells([find_world(world) for world in worlds or _WITH_PAGES], groups=groups)
    with bar("groups", len(cells)) as shown:
        found = measure_anchors(cells, log=out / "anchors.jsonl", step=shown.step)
    table = anchors_table(found)
    output().print(table.for_terminal())
    if markdown is not None:
        _write_tables(markdown, [table])
    if plot is not None:
        from palaestra.benchmarks.curves import png, svg  # noqa: PLC0415  needs matplotlib

        panels = anchors_panels(found)
        write_file(plot, png(panels) if plot.suffix == ".png" else svg(panels).encode())


def gate(
    worlds: WorldsOption = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="At most this many tasks of a row.")] = None,
    out: Annotated[Path, typer.Option("--out", help="Folder of results. The same command continues from it.")] = Path(
        "runs/pages-gate"
    ),
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write the tables to this Markdown file.")] = None,
) -> None:
    """Run the gate of tasks on pages: solutions, attacks, agents that know nothing, and wrong work.

    A row is a family in a split. Wrong work is tried on the first task of a row, everything else on all. Finished rows
    are not run again. Exits with status 1 if a check fails.

    Example: `palaestra bench pages-gate --world shop --markdown gate.md`
    """
    from palaestra.benchmarks.pages import gate_faults, gate_items, gate_tables, run_gate  # noqa: PLC0415

    items = [item for world in worlds or _WITH_PAGES for item in gate_items(find_world(world), limit=limit)]
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

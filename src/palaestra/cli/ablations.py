"""`palaestra bench ablations`: the effect of each part of the recipe."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from palaestra.cli.cells import CellsOption, JobsOption, MarkdownOption, MinutesOption, WorkOption, say, show_tables
from palaestra.cli.progress import bar
from palaestra.cli.target import WorldOption
from palaestra.errors import UnknownNameError


def ablations(
    tables: Annotated[
        list[str] | None,
        typer.Argument(
            help="Tables: rendering, stages, branching, choosers, reward, long-dev, long, alfworld-dev, alfworld, "
            "staleness, flows. Default: all, in this order."
        ),
    ] = None,
    world: WorldOption = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds",
            min=1,
            help="Training runs per arm, with seeds 0, 1, ... Default: 3; long, alfworld: 5; *-dev: 1.",
        ),
    ] = None,
    cpu_seconds: Annotated[
        float | None,
        typer.Option(
            "--cpu-seconds",
            min=1,
            help="Seconds of processor time after the warm start; scales the steps of `staleness` and `flows`. "
            "Default: 300.",
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", min=1, help="Steps of the warm start. Default: those of the demo.")
    ] = None,
    samples: Annotated[
        int | None, typer.Option("--samples", min=1, help="Episodes per held-out task and temperature. Default: 3.")
    ] = None,
    minutes: MinutesOption = None,
    jobs: JobsOption = None,
    cells: CellsOption = Path("docs/ablations"),
    work: WorkOption = Path("runs/ablations"),
    markdown: MarkdownOption = None,
) -> None:
    """Train arms that differ in one part of the recipe, with equal budgets and several seeds, and compare them.

    An arm and a seed are a cell; it takes about eight minutes of one core. Cells in `--cells` that have the same
    settings are not run again, so the same command continues an interrupted comparison. The tables list cells that were
    not run. `--minutes 0` runs none and writes the tables. The cells of `staleness` start from the policy of `expert`
    with the same seed, which is trained first if `--work` does not have it.

    Example: `palaestra bench ablations branching choosers --minutes 60 --markdown ablations.md`
    """
    from palaestra.benchmarks.ablations import (  # noqa: PLC0415  torch takes seconds to import
        TABLES,
        AblationConfig,
        CellKey,
        ablation_tables,
        read_cells,
        run_cells,
        site_materials,
    )

    names = tables or list(TABLES)
    for name in names:
        if name not in TABLES:
            raise UnknownNameError.of("table", name, TABLES, hint="palaestra bench ablations --help lists them")
    usual = AblationConfig()
    config = replace(
        usual,
        cpu_seconds=cpu_seconds or usual.cpu_seconds,
        samples=samples or usual.samples,
        sft=replace(usual.sft, steps=steps or usual.sft.steps),
    )
    materials = site_materials(world, {TABLES[name].site for name in names}, config.demonstrations)
    keys = dict.fromkeys(
        CellKey(arm, seed) for name in names for arm in TABLES[name].arms for seed in range(seeds or TABLES[name].seeds)
    )
    finished = read_cells(cells, config, materials)
    lacking = [key for key in keys if key not in finished]
    if lacking:
        run_cells(
            materials,
            lacking,
            config,
            cells=cells,
            work=work,
            jobs=jobs or os.cpu_count() or 1,
            minutes=minutes,
            bar=bar,
            say=say,
        )
    found = read_cells(cells, config, materials)
    groups = {site: [group.name for group in one.heldout] for site, one in materials.items()}
    show_tables(ablation_tables(found, config, groups, names=names, seeds=seeds), markdown)

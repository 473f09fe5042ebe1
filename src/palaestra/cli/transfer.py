"""`palaestra bench transfer`: test whether training in more generated worlds helps in other worlds."""

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from palaestra.cli.cells import CellsOption, JobsOption, MarkdownOption, MinutesOption, WorkOption, say, show_tables
from palaestra.cli.console import output
from palaestra.cli.progress import bar
from palaestra.errors import CapabilityError


def transfer(
    worlds: Annotated[
        list[int] | None, typer.Argument(min=1, help="Numbers of worlds to train in. Default: 1 5 50 500.")
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Training runs per number, with seeds 0, 1, ...")] = 3,
    tokens: Annotated[
        int | None,
        typer.Option("--tokens", min=1, help="Tokens of the turns in each arm's demonstrations. Default: 40,000."),
    ] = None,
    tasks: Annotated[
        int | None, typer.Option("--tasks", min=1, help="Tasks of a measured group, at most. Default: 32.")
    ] = None,
    samples: Annotated[int | None, typer.Option("--samples", min=1, help="Episodes per task. Default: 1.")] = None,
    minutes: MinutesOption = None,
    jobs: JobsOption = None,
    cells: CellsOption = Path("docs/transfer"),
    work: WorkOption = Path("runs/transfer"),
    markdown: MarkdownOption = None,
) -> None:
    """Train one policy in 1, 5, 50 and 500 generated worlds with equal tokens, and measure it in other worlds.

    A number of worlds and a seed are a cell; it takes about ten minutes of one core. Cells in `--cells` that have the
    same settings and worlds are not run again, so the same command continues. The tables list cells that were not run.
    `--minutes 0` runs none and writes the tables. Numbers above the count of worlds listed for training are not run.

    Example: `palaestra bench transfer 1 5 --seeds 1 --minutes 30`
    """
    from palaestra.benchmarks.cell_pool import run_in_pool  # noqa: PLC0415  torch takes seconds to import
    from palaestra.benchmarks.transfer import (  # noqa: PLC0415
        WORLDS,
        TransferConfig,
        TransferKey,
        measure_floors,
        read_cells,
        run_cell,
        transfer_tables,
    )
    from palaestra.envs.synthesis import listed_numbers  # noqa: PLC0415

    console = output()
    asked = sorted({*(worlds or WORLDS)})
    listed = len(listed_numbers("train"))
    possible = [number for number in asked if number <= listed]
    if not possible:
        raise CapabilityError(
            f"worlds={asked[0]}: {listed} generated worlds are listed for training; give fewer, or list more with "
            "`palaestra worlds prove`"
        )
    for number in asked:
        if number > listed:
            console.print(f"{number} worlds: not run, since {listed} are listed for training", highlight=False)
    usual = TransferConfig()
    config = replace(
        usual,
        tokens=tokens or usual.tokens,
        tasks=tasks or usual.tasks,
        samples=samples or usual.samples,
    )
    finished = read_cells(cells, config, possible)
    keys = [TransferKey(number, seed) for seed in range(seeds) for number in possible]
    lacking = [key for key in keys if key not in finished]
    if lacking:
        run_in_pool(
            {str(key): partial(run_cell, key, config, cells, work) for key in lacking},
            work=work,
            jobs=jobs or os.cpu_count() or 1,
            minutes=minutes,
            bar=bar,
            say=say,
        )
    found = read_cells(cells, config, possible)
    if not found:
        show_tables([], markdown)
        return
    floors = measure_floors(config, cells / "floors.json")
    show_tables(transfer_tables(found, floors, config, worlds=asked, seeds=seeds), markdown)

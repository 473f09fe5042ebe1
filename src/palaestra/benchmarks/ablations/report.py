"""Tables of finished cells, with the value of each seed and the cells that have not run."""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from palaestra.benchmarks.ablations.arm import AblationConfig, AblationTable, CellFigure
from palaestra.benchmarks.ablations.arms import ARMS, TABLES
from palaestra.benchmarks.ablations.cells import AblationCell, CellKey
from palaestra.benchmarks.evaluation.metrics import family
from palaestra.benchmarks.learning.evaluation import difference, estimate
from palaestra.benchmarks.statistics import Observation, Unit
from palaestra.table import Table


def ablation_tables(
    cells: Mapping[CellKey, AblationCell],
    config: AblationConfig,
    groups: Mapping[str, Sequence[str]],
    *,
    names: Sequence[str],
    seeds: int | None = None,
) -> list[Table]:
    """Make a table for each question with at least one finished cell.

    Args:
        cells: The finished cells.
        config: The settings that all arms share.
        groups: The names of the groups of held-out tasks, by site.
        names: The names of the tables.
        seeds: Number of seeds of each arm; by default the table's own number.
    """
    return [
        _table(name, TABLES[name], cells, config, groups[TABLES[name].site], seeds or TABLES[name].seeds)
        for name in names
        if any(key.arm in TABLES[name].arms for key in cells)
    ]


def _table(
    name: str,
    table: AblationTable,
    cells: Mapping[CellKey, AblationCell],
    config: AblationConfig,
    groups: Sequence[str],
    seeds: int,
) -> Table:
    temperatures = [f"{temperature:g}" for temperature in config.temperatures]
    config = ARMS[table.arms[0]].at_site(config)
    return Table(
        title=f"{name}: {table.question}",
        columns=(
            "held-out tasks",
            "arm",
            *(text for at in temperatures for text in (f"solved at temperature {at}, %", f"over {table.over} at {at}")),
            "harm, %",
            "unfinished, %",
            *table.figures,
            "not run",
        ),
        rows=tuple(_row(arm, table, cells, config, group, seeds) for group in groups for arm in table.arms),
        note=f"{table.budget(config)} Episodes of each held-out task: {config.samples}. Claims are about training, so "
        "their unit is the training seed, and each seed's value is listed; differences are paired by seed and task. "
        f"Harm and unfinished episodes are at temperature {temperatures[0]}.",
    )


def _row(
    arm: str,
    table: AblationTable,
    cells: Mapping[CellKey, AblationCell],
    config: AblationConfig,
    group: str,
    seeds: int,
) -> tuple[str, ...]:
    reference = table.reference(arm)
    own = {seed: cell for seed in range(seeds) if (cell := cells.get(CellKey(arm, seed)))}
    other = {} if reference is None else _partners(own, reference, cells)
    figures: list[str] = []
    for temperature in config.temperatures:
        at = f"{temperature:g}"
        after = [one for cell in own.values() for one in _observations(cell, at, group)]
        before = [one for cell in other.values() for one in _observations(cell, at, group)]
        paired = [one for seed in other for one in _observations(own[seed], at, group)]
        figures.append(estimate(after, "solved", Unit.TRAINING_SEED).text() if after else "")
        figures.append(difference(before, paired, "solved", Unit.TRAINING_SEED).text(signed=True) if before else "")
    first = f"{config.temperatures[0]:g}"
    for shares in ("harmed", "unfinished"):
        values = [getattr(cell, shares)[first][group] for cell in own.values()]
        figures.append(f"{fmean(values):.1f}" if values else "")
    figures += [_FIGURES[figure](list(own.values())) for figure in table.figures]
    lacking = [str(seed) for seed in range(seeds) if seed not in own]
    return group, ARMS[arm].what, *figures, f"seed {', '.join(lacking)}" if lacking else ""


def _describe_lag(cells: Sequence[AblationCell]) -> str:
    lags = [cell.lag for cell in cells if cell.lag]
    return f"{fmean(lag['mean'] for lag in lags):.1f}, last {fmean(lag['last'] for lag in lags):.1f}" if lags else ""


def _describe_mismatch(cells: Sequence[AblationCell]) -> str:
    found = [cell.mismatch for cell in cells if cell.mismatch]
    return f"{fmean(one['mean'] for one in found):.2g}, max {max(one['max'] for one in found):.2g}" if found else ""


def _describe_speed(cells: Sequence[AblationCell]) -> str:
    steps = sum(sum(cell.steps.values()) for cell in cells)
    return f"{sum(sum(cell.cpu_seconds.values()) for cell in cells) / steps:.1f}" if steps else ""


_FIGURES: Mapping[CellFigure, Callable[[Sequence[AblationCell]], str]] = {
    "lag": _describe_lag,
    "mismatch": _describe_mismatch,
    "CPU s a step": _describe_speed,
}


def _partners(
    own: Mapping[int, AblationCell], reference: str, cells: Mapping[CellKey, AblationCell]
) -> dict[int, AblationCell]:
    """The reference's cells by seed, except cells with another initial policy than the arm's cell of that seed."""
    found = {seed: cells.get(CellKey(reference, seed)) for seed in own}
    return {seed: cell for seed, cell in found.items() if cell is not None and cell.start == own[seed].start}


def _observations(cell: AblationCell, temperature: str, group: str) -> list[Observation]:
    return [
        Observation(value=100.0 * one, task=task, family=family(task), training_seed=cell.seed)
        for task, solved in cell.solved[temperature][group].items()
        for one in solved
    ]

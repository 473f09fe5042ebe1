"""What the finished cells say, as tables: each seed by itself, and which cells are not run."""

from collections.abc import Mapping, Sequence

from palaestra.benchmarks.ablations.arms import ARMS, TABLES, AblationConfig, AblationTable
from palaestra.benchmarks.ablations.cells import AblationCell, CellKey
from palaestra.benchmarks.evaluation.metrics import family
from palaestra.benchmarks.learning.evaluation import difference, estimate
from palaestra.benchmarks.statistics import Observation, Unit
from palaestra.table import Table


def ablation_tables(
    cells: Mapping[CellKey, AblationCell],
    config: AblationConfig,
    groups: Sequence[str],
    *,
    names: Sequence[str],
    seeds: int,
) -> list[Table]:
    """A table of each question that some cell answers.

    Args:
        cells: The finished ones.
        config: What they have in common.
        groups: The names of the groups of held-out tasks.
        names: Of the tables.
        seeds: How many each arm should have.
    """
    return [
        _table(name, TABLES[name], cells, config, groups, seeds)
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
    rows = [_row(arm, table.against, cells, config, group, seeds) for group in groups for arm in table.arms]
    temperatures = [f"{temperature:g}" for temperature in config.temperatures]
    return Table(
        title=f"{name}: {table.question}",
        columns=(
            "held-out tasks",
            "arm",
            *(
                text
                for at in temperatures
                for text in (f"solved at temperature {at}, %", f"over {table.against} at {at}")
            ),
            "harm, %",
            "unfinished, %",
            "not run",
        ),
        rows=tuple(rows),
        note=f"Every arm but a warm start trains for {config.cpu_seconds:g} s of processor time on one thread "
        f"after a warm start of {config.sft.steps} steps; {config.samples} episodes of each held-out task. Claims are "
        "about training, so their unit is the training seed, and each seed's value is listed; differences are paired "
        f"by seed and task. Harm and unfinished episodes are at temperature {temperatures[0]}.",
    )


def _row(
    arm: str, against: str, cells: Mapping[CellKey, AblationCell], config: AblationConfig, group: str, seeds: int
) -> tuple[str, ...]:
    own = {seed: cell for seed in range(seeds) if (cell := cells.get(CellKey(arm, seed)))}
    other = {seed: cell for seed in own if (cell := cells.get(CellKey(against, seed)))}
    figures: list[str] = []
    for temperature in config.temperatures:
        at = f"{temperature:g}"
        after = [one for cell in own.values() for one in _observations(cell, at, group)]
        before = [one for cell in other.values() for one in _observations(cell, at, group)]
        paired = [one for seed, cell in own.items() if seed in other for one in _observations(cell, at, group)]
        figures.append(estimate(after, "solved", Unit.TRAINING_SEED).text() if after else "")
        figures.append(
            difference(before, paired, "solved", Unit.TRAINING_SEED).text(signed=True)
            if before and arm != against
            else ""
        )
    first = f"{config.temperatures[0]:g}"
    for shares in ("harmed", "unfinished"):
        values = [getattr(cell, shares)[first][group] for cell in own.values()]
        figures.append(f"{sum(values) / len(values):.1f}" if values else "")
    lacking = [str(seed) for seed in range(seeds) if seed not in own]
    return group, ARMS[arm].what, *figures, f"seed {', '.join(lacking)}" if lacking else ""


def _observations(cell: AblationCell, temperature: str, group: str) -> list[Observation]:
    return [
        Observation(value=100.0 * one, task=task, family=family(task), training_seed=cell.seed)
        for task, solved in cell.solved[temperature][group].items()
        for one in solved
    ]


def ablation_markdown(tables: Sequence[Table]) -> str:
    """The tables as GitHub's Markdown."""
    return "\n\n".join(f"### {table.title}\n\n{table.markdown()}\n\n{table.note}" for table in tables) + "\n"

"""Tables of finished cells: a row for each group and number of worlds, beside the floors."""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import TypeAlias

from palaestra.benchmarks.evaluation.metrics import family
from palaestra.benchmarks.statistics import (
    MeanEstimate,
    Observation,
    Unit,
    estimate_mean,
    estimate_share,
    paired_difference,
)
from palaestra.benchmarks.transfer.cells import STAGES, TransferCell, TransferKey
from palaestra.benchmarks.transfer.config import TransferConfig
from palaestra.benchmarks.transfer.figures import TaskFigures
from palaestra.benchmarks.transfer.floors import TransferFloors
from palaestra.benchmarks.transfer.groups import GROUPS
from palaestra.table import Table

Read: TypeAlias = Callable[[TaskFigures], Sequence[float]]
_MEASURES: Mapping[str, Read] = {
    "solved, %": lambda one: [100.0 * value for value in one.solved],
    "points": lambda one: one.points,
    "legal turns, %": lambda one: [one.legal],
    "look-ups made, %": lambda one: [one.lookups],
}
_STAGES = {"sft": "after demonstrations", "expert": "after expert iteration"}


def transfer_tables(
    cells: Mapping[TransferKey, TransferCell],
    floors: TransferFloors,
    config: TransferConfig,
    *,
    worlds: Sequence[int],
    seeds: int,
) -> list[Table]:
    """Make a table of the policies after each stage, and a table of training costs; none without finished cells.

    Args:
        cells: The finished cells.
        floors: The results of agents without task knowledge.
        config: The settings that all cells share.
        worlds: The numbers of worlds of the arms.
        seeds: The intended number of seeds of each arm.
    """
    if not cells:
        return []
    return [*(_table(stage, cells, floors, config, worlds, seeds) for stage in STAGES), _budgets(cells, worlds)]


def _table(
    stage: str,
    cells: Mapping[TransferKey, TransferCell],
    floors: TransferFloors,
    config: TransferConfig,
    worlds: Sequence[int],
    seeds: int,
) -> Table:
    least = min(key.worlds for key in cells)
    rows: list[tuple[str, ...]] = []
    for group in GROUPS:
        rows += [_floor_row(agent, group, found[group]) for agent, found in floors.results.items()]
        rows += [_row(stage, group, number, least, cells, seeds) for number in worlds]
    return Table(
        title=f"Training in more worlds, {_STAGES[stage]}",
        columns=(
            "tasks",
            "trained in",
            *_MEASURES,
            "nats a token of the oracle's turns",
            f"over {_count(least)}",
            "by seed",
            "not run",
        ),
        rows=tuple(rows),
        note=f"{config.samples} episodes of each task at temperature {config.temperature:g}, {config.tasks} tasks of "
        "a group at most. Means and 95 % intervals over worlds (Storefront: families), the mean of seeds first; with "
        "few units their values are listed. Nats are -log p of the oracle's own turns, so less is better; solutions "
        "that are longer than the policy reads are left out. Differences are paired by task.",
    )


def _row(
    stage: str, group: str, number: int, least: int, cells: Mapping[TransferKey, TransferCell], seeds: int
) -> tuple[str, ...]:
    own = [cell for key, cell in cells.items() if key.worlds == number and key.seed < seeds]
    lacking = [str(seed) for seed in range(seeds) if TransferKey(number, seed) not in cells]
    not_run = f"seed {', '.join(lacking)}" if lacking else ""
    if not own:
        return (group, _count(number), *[""] * (len(_MEASURES) + 3), not_run)
    by_seed = [_nats(cell.results[stage][group]) for cell in own]
    nats = [one for each in by_seed for one in each]
    partners = {key.seed: cell for key, cell in cells.items() if key.worlds == least}
    return (
        group,
        _count(number),
        *_measures(group, [cell.results[stage][group] for cell in own]),
        estimate_mean(nats, _unit(group)).text(digits=2) if nats else "",
        "" if number == least else _difference(stage, group, own, partners),
        ", ".join(f"{fmean(one.value for one in each):.2f}" for each in by_seed if each),
        not_run,
    )


def _difference(stage: str, group: str, own: Sequence[TransferCell], partners: Mapping[int, TransferCell]) -> str:
    """The difference in nats from the arm with the fewest worlds; empty where the tasks differ."""
    pairs = [(partners[cell.seed], cell) for cell in own if cell.seed in partners]
    before = [one for other, _ in pairs for one in _nats(other.results[stage][group])]
    after = [one for _, cell in pairs for one in _nats(cell.results[stage][group])]
    if not before or {one.task for one in before} != {one.task for one in after}:
        return ""
    return paired_difference(before, after, _unit(group)).text(signed=True, digits=2)


def _floor_row(agent: str, group: str, found: Mapping[str, TaskFigures]) -> tuple[str, ...]:
    return (group, agent, *_measures(group, [found]), "", "", "", "")


def _measures(group: str, each: Sequence[Mapping[str, TaskFigures]]) -> list[str]:
    return [_estimate(name, read, group, each).text() for name, read in _MEASURES.items()]


def _estimate(name: str, read: Read, group: str, each: Sequence[Mapping[str, TaskFigures]]) -> MeanEstimate:
    values = [_observation(task, value) for tasks in each for task, figures in tasks.items() for value in read(figures)]
    return estimate_share(values, _unit(group), whole=100) if "%" in name else estimate_mean(values, _unit(group))


def _nats(tasks: Mapping[str, TaskFigures]) -> list[Observation]:
    return [_observation(task, one.nats) for task, one in tasks.items() if one.nats is not None]


def _observation(task: str, value: float) -> Observation:
    return Observation(value=value, task=task, family=family(task), world=task.partition("/")[0])


def _unit(group: str) -> Unit:
    return Unit.FAMILY if group == GROUPS[-1] else Unit.WORLD


def _count(worlds: int) -> str:
    return "1 world" if worlds == 1 else f"{worlds} worlds"


def _budgets(cells: Mapping[TransferKey, TransferCell], worlds: Sequence[int]) -> Table:
    """The table of training costs: means over the seeds of each arm."""
    arms = {number: [cell for key, cell in cells.items() if key.worlds == number] for number in worlds}
    rows = [
        (
            _count(number),
            f"{len(own)}",
            _mean([cell.demonstrations for cell in own]),
            _mean([cell.demonstration_tokens for cell in own]),
            _mean([cell.read_tokens for cell in own]),
            *(_mean([cell.stages[stage].trained_tokens for cell in own]) for stage in STAGES),
            _mean([cell.stages["expert"].rollouts for cell in own]),
            _mean([cell.stages["expert"].drawn_tokens for cell in own]),
            _mean([sum(one.cpu_seconds for one in cell.stages.values()) for cell in own]),
        )
        for number, own in arms.items()
        if own
    ]
    return Table(
        title="What training took",
        columns=(
            "trained in",
            "seeds",
            "demonstrations",
            "tokens of their turns",
            "tokens of them",
            "trained tokens, demonstrations",
            "trained tokens, expert iteration",
            "rollouts",
            "tokens drawn",
            "processor seconds",
        ),
        rows=tuple(rows),
        note="Means over seeds. Arms have equal tokens of demonstrations' turns, equal passes over them and equal "
        "rollouts. Trained tokens of expert iteration follow from what was kept, and are equal but for that.",
    )


def _mean(values: Sequence[float]) -> str:
    return f"{fmean(values):,.0f}"

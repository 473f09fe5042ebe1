"""Comparison of two agents on the same tasks of the same suite: the difference, and whether it may be chance.

Each unit of a cell's claim, a task or a family, is compared with itself. A cell's p-value comes from a sign-flip test
over its units. Over the cells of a suite, Holm's correction applies, so that twenty cells without a difference do not
yield one "finding". All cells together are one test that is fixed in advance and not corrected. Each interval is a 95 %
interval for one cell alone.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from palaestra.benchmarks.evaluation.agents.agent import PRIVILEGED
from palaestra.benchmarks.evaluation.metrics import by_task, observations
from palaestra.benchmarks.evaluation.outcome import EpisodeOutcome
from palaestra.benchmarks.evaluation.results import Results
from palaestra.benchmarks.evaluation.suite import Cell, Suite, place
from palaestra.benchmarks.statistics import (
    MeanEstimate,
    Observation,
    Unit,
    holm,
    paired_difference,
    sign_flip_p,
    unit_means,
)
from palaestra.digest import canonical
from palaestra.errors import ConfigError
from palaestra.record import record

ComparedMeasure: TypeAlias = Literal["solved", "score"]
"""The compared figure: percent of episodes solved, or mean points out of 100."""
_VALUES: Mapping[ComparedMeasure, Callable[[EpisodeOutcome], float]] = {
    "solved": lambda one: 100.0 * one.solved,
    "score": lambda one: float(one.points),
}
LEVEL = 0.05
"""The significance level of a difference."""


@record
class Difference:
    """One comparison: of a cell, or of all cells."""

    cell: str
    """The cell's id; "" for all cells together."""
    label: str
    tasks: int
    """Tasks with a score on both sides."""
    first: float
    """The first agent's mean over units."""
    second: float
    difference: MeanEstimate
    """First minus second."""
    p: float
    """The p-value of the sign-flip test, for this comparison alone."""
    corrected: float
    """Holm's p-value over the cells; for all cells together, the same as `p`."""

    @property
    def significant(self) -> bool:
        """Whether the difference is significant at 5 %."""
        return self.corrected < LEVEL


@record
class Comparison:
    """Two agents side by side."""

    suite: Suite
    names: tuple[str, str]
    measure: ComparedMeasure
    cells: tuple[Difference, ...]
    overall: Difference
    cautions: tuple[str, ...]
    """A sentence for each thing that lacks a counterpart, or that differs besides the agents."""


def compare(
    first: Results, second: Results, *, names: tuple[str, str] | None = None, measure: ComparedMeasure = "solved"
) -> Comparison:
    """Compare two evaluations of one suite, on the tasks with a score in both.

    Args:
        first: The evaluation whose lead is reported.
        second: The other evaluation.
        names: Their names. Default: the names of the agents.
        measure: The compared figure.

    Raises:
        ConfigError: the suites differ, only one side forked the world, or no task has a score on both sides.
    """
    _check_same(first.suite, second.suite)
    _check_privilege(first, second)
    called = names or (first.agent, second.agent)
    sides = [_values(results, measure) for results in (first, second)]
    cells: list[Difference] = []
    cautions = _cautions(called, (first, second))
    origins, whole = _origins(first, second), 100.0 if measure == "solved" else None
    together: tuple[dict[str, list[float]], dict[str, list[float]]] = ({}, {})
    for cell in _cells(first.suite, second.suite):
        own = [side.get(cell.id, {}) for side in sides]
        shared = sorted(own[0].keys() & own[1].keys())
        if not shared:
            continue
        cautions += _list_unpaired(place(cell, first.suite), own, called)
        pair = [_together({task: side[task] for task in shared}, first.suite.versions) for side in own]
        cells.append(
            _difference(cell.id, place(cell, first.suite), *pair, origins=origins, unit=cell.unit, whole=whole)
        )
        for pooled, side in zip(together, pair, strict=True):
            for task, values in side.items():
                # A cell's mean is one value, so that both sides weigh each cell equally, whatever samples they have.
                pooled.setdefault(task, []).append(_mean(values))
    cautions += _list_unshared((first, second), sides, called)
    if not cells:
        raise ConfigError(
            f"no task of suite {first.suite.name!r} has a score in both runs; evaluate both agents on the same tasks. "
            + " ".join(cautions[:3])
        )
    return Comparison(
        suite=first.suite,
        names=called,
        measure=measure,
        cells=_correct(cells),
        overall=_difference("", "all cells", *together, origins=origins, unit=Unit.TASK, whole=whole),
        cautions=tuple(cautions),
    )


def _check_same(first: Suite, second: Suite) -> None:
    if first.name != second.name:
        raise ConfigError(
            f"the runs are of suites {first.name!r} and {second.name!r}; only runs of one suite can be compared: "
            "evaluate both agents with the same --suite"
        )
    others = {cell.id: cell for cell in second.cells}
    for cell in first.cells:
        other = others.get(cell.id, cell)
        if (cell.env_id, canonical(cell.switches)) != (other.env_id, canonical(other.switches)):
            raise ConfigError(
                f"cell {cell.id!r} of suite {first.name!r} is {_world(cell)} in one run and {_world(other)} in the "
                "other; only the same worlds can be compared: evaluate both agents with the same version and options "
                "of the suite"
            )
    if not others.keys() & {cell.id for cell in first.cells}:
        raise ConfigError(f"the runs of suite {first.name!r} share no cell; evaluate both agents on the same cells")


def _check_privilege(first: Results, second: Results) -> None:
    forked = [bool(results.settings.playing.get(PRIVILEGED)) for results in (first, second)]
    if forked[0] != forked[1]:
        one = (first if forked[0] else second).agent
        raise ConfigError(
            f"{one} is privileged: it tries its actions in forks of the measured world, and the other does not; "
            "compare agents that both do, or neither"
        )


def _cautions(names: tuple[str, str], sides: tuple[Results, Results]) -> list[str]:
    """What the sides lack, and what differs between them besides the agents."""
    said: list[str] = []
    for name, results in zip(names, sides, strict=True):
        if len(results.outcomes) < results.expected_episodes:
            played = f"{len(results.outcomes)} of {results.expected_episodes} episodes are played"
            said.append(f"{name} is not done: {played}; the same `palaestra eval` goes on with the rest.")
        if faults := sum(one.fault is not None for one in results.outcomes):
            said.append(f"{name}: {faults} of {len(results.outcomes)} episodes have no score, by faults.")
    first, second = sides
    if first.seed != second.seed:
        said.append(f"The seeds differ ({first.seed} and {second.seed}), so the sides do not share their luck.")
    if first.samples != second.samples:
        said.append(f"Samples of a task differ: {first.samples} and {second.samples}.")
    own, other = first.settings.versions, second.settings.versions
    for name in sorted(own.keys() & other.keys()):
        if own[name] != other[name]:
            said.append(f"Versions of {name} differ: {own[name]} and {other[name]}.")
    for only in sorted({*first.suite.notes} ^ {*second.suite.notes}):
        said.append(f"Said of one side's suite alone: {only}")
    return said


def _world(cell: Cell) -> str:
    return f"{cell.env_id} with {canonical(cell.switches).decode()}"


def _cells(first: Suite, second: Suite) -> list[Cell]:
    known = {cell.id for cell in first.cells}
    return [*first.cells, *(cell for cell in second.cells if cell.id not in known)]


def _values(results: Results, measure: ComparedMeasure) -> dict[str, dict[str, list[float]]]:
    cells: dict[str, list[EpisodeOutcome]] = {}
    for one in results.outcomes:
        cells.setdefault(one.cell, []).append(one)
    return {cell: by_task(own, _VALUES[measure]) for cell, own in cells.items()}


def _together(values: Mapping[str, Sequence[float]], versions: Mapping[str, str]) -> dict[str, list[float]]:
    """Values by task. Versions of a task count as one task, whose values are their means."""
    if not versions:
        return {task: list(own) for task, own in values.items()}
    joined: dict[str, list[float]] = {}
    for task, own in values.items():
        joined.setdefault(versions.get(task, task), []).append(_mean(own))
    return joined


def _list_unshared(
    results: tuple[Results, Results], sides: Sequence[Mapping[str, Mapping[str, object]]], names: tuple[str, str]
) -> list[str]:
    """A sentence for each side about the cells for which only that side has scores."""
    said: list[str] = []
    for name, one, own, other in zip(names, results, sides, reversed(sides), strict=True):
        alone = [
            place(cell, one.suite)
            for cell in one.suite.cells
            if own.get(cell.id) and not {*own[cell.id]} & {*other.get(cell.id, {})}
        ]
        if alone:
            has, are = ("cell has", "is") if len(alone) == 1 else ("cells have", "are")
            said.append(f"{len(alone)} {has} scores of {name} alone and {are} left out ({_list_names(alone)}).")
    return said


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _list_unpaired(label: str, sides: Sequence[Mapping[str, object]], names: tuple[str, str]) -> list[str]:
    said: list[str] = []
    for name, own, other in zip(names, sides, reversed(sides), strict=True):
        alone = sorted(own.keys() - other.keys())
        if alone:
            has, are = ("task has", "is") if len(alone) == 1 else ("tasks have", "are")
            said.append(
                f"{label}: {len(alone)} {has} a score of {name} alone and {are} left out ({_list_names(alone)})."
            )
    return said


def _origins(*sides: Results) -> dict[str, Observation]:
    """An observation of each task, for its units."""
    return {
        one.task: one
        for results in sides
        for one in observations(results.outcomes, lambda outcome: outcome.points, results.suite.versions)
    }


def _difference(
    cell: str,
    label: str,
    first: Mapping[str, Sequence[float]],
    second: Mapping[str, Sequence[float]],
    *,
    origins: Mapping[str, Observation],
    unit: Unit,
    whole: float | None,
) -> Difference:
    sides = [
        [replace(origins[task], value=value) for task, values in side.items() for value in values]
        for side in (second, first)
    ]
    behind, ahead = (unit_means(side, unit) for side in sides)
    p = sign_flip_p([ahead[key] - value for key, value in behind.items()])
    return Difference(
        cell=cell,
        label=label,
        tasks=len(first),
        first=_mean([*ahead.values()]),
        second=_mean([*behind.values()]),
        difference=paired_difference(sides[0], sides[1], unit, whole=whole),
        p=p,
        corrected=p,
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _correct(cells: Sequence[Difference]) -> tuple[Difference, ...]:
    p_values = holm([one.p for one in cells])
    return tuple(replace(one, corrected=p) for one, p in zip(cells, p_values, strict=True))

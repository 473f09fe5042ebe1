"""The figures of an evaluation, computed once for all forms of the report."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from palaestra.benchmarks.evaluation.metrics import (
    EvaluationFigures,
    Prices,
    TaskScores,
    family,
    figures,
    observations,
    scores,
)
from palaestra.benchmarks.evaluation.outcome import EpisodeOutcome
from palaestra.benchmarks.evaluation.results import Results
from palaestra.benchmarks.evaluation.suite import Cell, Ladder
from palaestra.benchmarks.statistics import MeanEstimate, holm, independent_difference, paired_difference
from palaestra.record import record


@record
class Rung:
    """A cell of a ladder, compared with the first one, which is in distribution."""

    cell: str
    points: MeanEstimate | None
    """The difference in points to in distribution; `None` for the first rung, or if either has no score."""
    solved: MeanEstimate | None
    """The difference in percentage points solved to in distribution."""
    how: Literal["paired", "independent"] | None
    """Whether the units are the same and each is compared with itself, or different."""
    points_corrected: float | None = None
    """Holm's p-value of the difference in points, over every rung of every ladder; `None` with too few units."""
    solved_corrected: float | None = None
    """Holm's p-value of the difference in the solved share, likewise."""


@record
class SplitCount:
    """The number of played tasks of one split."""

    name: str
    cells: tuple[str, ...]
    tasks: int
    episodes: int


@record
class Findings:
    """All figures of an evaluation."""

    results: Results
    overall: EvaluationFigures
    cells: Mapping[str, EvaluationFigures]
    """Figures by cell id, in the suite's order, for cells with played episodes."""
    families: Mapping[str, TaskScores]
    """Scores by family over all cells, in alphabetical order; empty if families and cells are the same."""
    ladders: Mapping[str, tuple[Rung, ...]]
    """Rungs by axis, in the suite's order, from none to strong."""
    splits: tuple[SplitCount, ...]

    @property
    def played_cells(self) -> list[Cell]:
        """The cells with played episodes."""
        return [cell for cell in self.results.suite.cells if cell.id in self.cells]

    @property
    def alone(self) -> list[Cell]:
        """The played cells outside ladders."""
        on_ladders = {cell for ladder in self.results.suite.ladders for cell in ladder.cells}
        return [cell for cell in self.played_cells if cell.id not in on_ladders]


def findings(results: Results) -> Findings:
    """The figures of these results."""
    prices = Prices(read=results.price_in, written=results.price_out)
    known_bad, versions = results.suite.known_bad, results.suite.versions
    outcomes: dict[str, list[EpisodeOutcome]] = {}
    for one in results.outcomes:
        outcomes.setdefault(one.cell, []).append(one)
    played = [cell for cell in results.suite.cells if cell.id in outcomes]
    return Findings(
        results=results,
        overall=figures(results.outcomes, prices=prices, known_bad=known_bad, versions=versions),
        cells={
            cell.id: figures(outcomes[cell.id], prices=prices, known_bad=known_bad, versions=versions, unit=cell.unit)
            for cell in played
        },
        families=_families(results.outcomes),
        ladders=_correct({ladder.axis: _rungs(ladder, results, outcomes) for ladder in results.suite.ladders}),
        splits=_splits(played, outcomes),
    )


def _families(outcomes: Sequence[EpisodeOutcome]) -> dict[str, TaskScores]:
    found: dict[str, list[EpisodeOutcome]] = {}
    for one in outcomes:
        found.setdefault(family(one.task), []).append(one)
    pairs = {(one.cell, family(one.task)) for one in outcomes}
    if len(pairs) == len(found) == len({one.cell for one in outcomes}):
        return {}
    return {name: scores(found[name]) for name in sorted(found)}


def _rungs(ladder: Ladder, results: Results, outcomes: Mapping[str, Sequence[EpisodeOutcome]]) -> tuple[Rung, ...]:
    cells = {cell.id: cell for cell in results.suite.cells}
    first = cells[ladder.cells[0]]
    return tuple(
        _rung(first, cells[own], outcomes.get(first.id, ()), outcomes.get(own, ()))
        for own in ladder.cells
        if own in outcomes
    )


def _rung(first: Cell, own: Cell, before: Sequence[EpisodeOutcome], after: Sequence[EpisodeOutcome]) -> Rung:
    sides = [_select_scored(before), _select_scored(after)]
    if set(first.tasks) == set(own.tasks):  # if faults took all samples of a task, the other side has no partner for it
        shared = _tasks(sides[0]) & _tasks(sides[1])
        sides = [[one for one in side if one.task in shared] for side in sides]
    if own.id == first.id or not all(sides):
        return Rung(cell=own.id, points=None, solved=None, how=None)
    points = [observations(side, lambda one: one.points) for side in sides]
    solved = [observations(side, lambda one: 100.0 * one.solved) for side in sides]
    units = [{one.key(own.unit) for one in side} for side in points]
    same = units[0] == units[1]
    difference = paired_difference if same else independent_difference
    return Rung(
        cell=own.id,
        points=difference(points[0], points[1], own.unit),
        solved=difference(solved[0], solved[1], own.unit, whole=100),
        how="paired" if same else "independent",
    )


def _correct(ladders: Mapping[str, tuple[Rung, ...]]) -> dict[str, tuple[Rung, ...]]:
    """The rungs with p-values corrected over all of them; a cell on two ladders is one test."""
    rungs = {rung.cell: rung for rungs in ladders.values() for rung in rungs if rung.points is not None}
    points = _holm({cell: rung.points for cell, rung in rungs.items()})
    solved = _holm({cell: rung.solved for cell, rung in rungs.items()})
    return {
        axis: tuple(
            replace(rung, points_corrected=points.get(rung.cell), solved_corrected=solved.get(rung.cell))
            if rung.points is not None
            else rung
            for rung in rungs
        )
        for axis, rungs in ladders.items()
    }


def _holm(differences: Mapping[str, MeanEstimate | None]) -> dict[str, float]:
    tested = {cell: one.p for cell, one in differences.items() if one is not None and one.p is not None}
    return dict(zip(tested, holm([*tested.values()]), strict=True))


def _select_scored(outcomes: Sequence[EpisodeOutcome]) -> list[EpisodeOutcome]:
    return [one for one in outcomes if one.fault is None]


def _tasks(outcomes: Sequence[EpisodeOutcome]) -> set[str]:
    return {one.task for one in outcomes}


def _splits(cells: Sequence[Cell], outcomes: Mapping[str, Sequence[EpisodeOutcome]]) -> tuple[SplitCount, ...]:
    named: dict[str, list[Cell]] = {}
    for cell in cells:
        named.setdefault(cell.split, []).append(cell)
    return tuple(
        SplitCount(
            name=name,
            cells=tuple(cell.id for cell in own),
            tasks=len({one.task for cell in own for one in outcomes[cell.id]}),
            episodes=sum(len(outcomes[cell.id]) for cell in own),
        )
        for name, own in sorted(named.items())
    )

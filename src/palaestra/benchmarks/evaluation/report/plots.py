"""An evaluation's plots: a panel for every axis of shift, and a line for every category.

matplotlib comes with the extra `train`; without it there are no plots, and reports say so.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from palaestra.benchmarks.evaluation.metrics import TaskScores
from palaestra.benchmarks.evaluation.report.findings import Findings, findings
from palaestra.benchmarks.evaluation.results import Results
from palaestra.benchmarks.evaluation.suite import Cell, Ladder
from palaestra.benchmarks.statistics import MeanEstimate
from palaestra.errors import ConfigError, UnknownNameError

if TYPE_CHECKING:
    from palaestra.benchmarks.curves import Estimate, Panel

_WHOLE = (-3.0, 103.0)
"""The range of shares, with room for a mark at either end."""
MISSING = "There are no pictures, since matplotlib is not installed; `pip install 'palaestra[train]'` brings it."


def ladder_png(results: Results) -> bytes:
    """The panels of every axis of shift, as a PNG.

    Raises:
        ConfigError: the suite has no ladder with a score.
        UnknownNameError: matplotlib is not installed.
    """
    _require()
    from palaestra.benchmarks.curves import png  # noqa: PLC0415  an optional dependency

    panels = ladder_panels(findings(results))
    if not panels:
        raise ConfigError(
            f"suite {results.suite.name!r} has no axis of shift with a score; draw one that has ladders, such as ood"
        )
    return png(panels)


def draw_pictures(found: Findings) -> list[str]:
    """The report's plots as SVG documents; empty if matplotlib is not installed."""
    if not has_matplotlib():
        return []
    from palaestra.benchmarks.curves import svg  # noqa: PLC0415  an optional dependency

    pictures = [ladder_panels(found), category_panels(found)]
    return [svg(panels) for panels in pictures if panels]


def has_matplotlib() -> bool:
    """Whether matplotlib is installed."""
    try:
        import matplotlib as mpl  # noqa: PLC0415  an optional dependency
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        return False
    return bool(mpl.__version__)


def _require() -> None:
    if not has_matplotlib():
        raise UnknownNameError(
            "matplotlib is not installed, and pictures need it; `pip install 'palaestra[train]'` brings it"
        )


def ladder_panels(found: Findings) -> "list[Panel]":
    """A panel for each axis with two or more scored rungs."""
    cells = {cell.id: cell for cell in found.results.suite.cells}
    drawable = ((ladder, _drawable(ladder, found)) for ladder in found.results.suite.ladders)
    drawn = [(ladder, [cells[one] for one in own]) for ladder, own in drawable if len(own) > 1]
    points = [found.cells[cell.id].scores.points for _, own in drawn for cell in own]
    lows = [one.mean if one.low is None else one.low for one in points if one is not None]
    span = (min([_WHOLE[0], *lows]), _WHOLE[1])  # the same for all panels, so that they can be compared
    return [_ladder_panel(ladder, rungs, found, span) for ladder, rungs in drawn]


def _drawable(ladder: Ladder, found: Findings) -> list[str]:
    return [rung.cell for rung in found.ladders[ladder.axis] if found.cells[rung.cell].scores.episodes]


def _ladder_panel(ladder: Ladder, rungs: Sequence[Cell], found: Findings, span: tuple[float, float]) -> "Panel":
    from palaestra.benchmarks.curves import Panel  # noqa: PLC0415  an optional dependency

    scores = {label: found.cells[cell.id].scores for label, cell in zip(_labels(rungs), rungs, strict=True)}
    first = rungs[0].id == ladder.cells[0]
    return Panel(
        title=ladder.title,
        x_label="",
        y_label="",
        estimates=_estimates(scores),
        baseline=rungs[0].label if first else "",
        span=span,
        sideways=True,
    )


def _labels(cells: Sequence[Cell]) -> list[str]:
    return distinct([(cell.label, cell.id) for cell in cells])


def distinct(named: Sequence[tuple[str, str]]) -> list[str]:
    """The labels of (label, id) pairs, with the id if a label is not unique."""
    often = Counter(label for label, _ in named)
    return [label if often[label] == 1 else f"{label} ({id})" for label, id in named]


def _estimates(scores: Mapping[str, TaskScores]) -> "list[Estimate]":
    points = ((label, one.points) for label, one in scores.items())
    solved = ((label, one.solved) for label, one in scores.items())
    return [*_group("mean score", points), *_group("solved, %", solved)]


def _group(name: str, intervals: Iterable[tuple[str, MeanEstimate | None]]) -> "Iterable[Estimate]":
    from palaestra.benchmarks.curves import Estimate  # noqa: PLC0415  an optional dependency

    for label, own in intervals:
        if own is not None:
            yield Estimate.of(label, name, own)


def category_panels(found: Findings) -> "list[Panel]":
    """A line for each cell outside ladders, with its solved share."""
    from palaestra.benchmarks.curves import Panel  # noqa: PLC0415  an optional dependency

    cells = found.alone
    shares = [found.cells[cell.id].scores.solved for cell in cells]
    estimates = [*_group("solved, %", zip(_labels(cells), shares, strict=True))]
    if not estimates:
        return []
    title = "Share solved of each category"
    return [Panel(title=title, x_label="", y_label="", estimates=estimates, span=_WHOLE, sideways=True)]

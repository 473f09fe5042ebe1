"""Plots of a run's sampling: which families were played and solved, and what branching added.

matplotlib comes with the extra `train`; it is imported when panels are made.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from palaestra.errors import RecordError
from palaestra.trainers.run_folder import RunFolder, StageFolder

if TYPE_CHECKING:
    from palaestra.benchmarks.curves import Curve, Panel

_SHARE, _SOLVED = "choice/share/", "choice/solved/"
_FAMILIES = 6
"""Number of families with their own curve: the number of distinguishable colours, minus one for all others."""
_WINDOW = 5
"""Number of steps over which a curve is averaged."""


def sampling_panels(run: RunFolder) -> "list[Panel]":
    """Panels for each stage that chose tasks or branched: shares of families, solved tasks, and branching.

    The six most played families have their own curves; the shares of all others are one curve.

    Raises:
        RecordError: there is no such stage.
    """
    panels = [panel for stage in run.stages for panel in (*_choice_panels(stage), *_branching_panels(stage))]
    if not panels:
        raise RecordError(
            f"{run.directory}: no stage that was saved chose tasks or branched, so there is nothing to draw; set "
            "choice.rule or branching in a stage with rollouts"
        )
    return panels


def family_shares(stage: StageFolder) -> dict[str, float]:
    """Each family's share of all groups, the largest first; empty for a stage that did not choose tasks."""
    rows = [row for row in stage.history if any(name.startswith(_SHARE) for name in row)]
    total: dict[str, float] = {}
    for row in rows:
        for name, share in row.items():
            if name.startswith(_SHARE):
                family = name.removeprefix(_SHARE)
                total[family] = total.get(family, 0.0) + share / len(rows)
    return dict(sorted(total.items(), key=lambda item: (-item[1], item[0])))


def _choice_panels(stage: StageFolder) -> "list[Panel]":
    from palaestra.benchmarks.curves import Curve  # noqa: PLC0415  an optional dependency

    shares = family_shares(stage)
    if not shares:
        return []
    first = list(shares)[:_FAMILIES]
    steps = [place for place, row in enumerate(stage.history, 1) if any(name.startswith(_SHARE) for name in row)]
    curves = [
        Curve(label=family, x=steps, y=[100 * stage.history[step - 1].get(_SHARE + family, 0.0) for step in steps])
        for family in first
    ]
    if len(shares) > _FAMILIES:
        own = [sum(curve.y[place] for curve in curves) for place in range(len(steps))]
        label = f"{len(shares) - _FAMILIES} others"
        curves.append(Curve(label=label, x=steps, y=[max(0.0, 100 - covered) for covered in own]))
    panels = [_panel(f"{stage.name}: where sampling went", "groups, %", curves)]
    solved = [curve for family in first if (curve := _curve(stage, _SOLVED + family, label=family, scale=100))]
    return [*panels, *([_panel(f"{stage.name}: what was solved", "trajectories, %", solved)] if solved else [])]


def _branching_panels(stage: StageFolder) -> "list[Panel]":
    figures = (("branching/groups", "groups branched"), ("branching/solved", "of them solved thereby"))
    curves = [curve for name, label in figures if (curve := _curve(stage, name, label=label))]
    return [_panel(f"{stage.name}: branching", "groups a step", curves)] if curves else []


def _curve(stage: StageFolder, figure: str, *, label: str, scale: float = 1.0) -> "Curve | None":
    from palaestra.benchmarks.curves import Curve  # noqa: PLC0415  an optional dependency

    points = [(step, scale * row[figure]) for step, row in enumerate(stage.history, 1) if figure in row]
    return Curve(label=label, x=[x for x, _ in points], y=[y for _, y in points]) if points else None


def _panel(title: str, y_label: str, curves: "Sequence[Curve]") -> "Panel":
    from palaestra.benchmarks.curves import Panel  # noqa: PLC0415  an optional dependency

    average = _WINDOW if max(len(curve.x) for curve in curves) > 2 * _WINDOW else 1
    return Panel(title=title, x_label="step", y_label=y_label, curves=curves, average_over=average, span=(0.0, 1.0))

"""The plots of a diagnosis: figures of a stage by step, figures of each family, and entropy.

matplotlib comes with the extra `train`.
"""

from collections.abc import Sequence

from palaestra.benchmarks.curves import Curve, Estimate, Panel
from palaestra.benchmarks.diagnosis.diagnosis import Diagnosis, StageDiagnosis
from palaestra.benchmarks.diagnosis.findings.finding import short_family

_WINDOW = 5
"""Number of steps that a curve is averaged over."""
_FAMILIES = 30
"""Maximum number of families that are plotted: those with the most episodes."""


def diagnosis_panels(diagnosis: Diagnosis) -> list[list[Panel]]:
    """The panels of each figure, the last stage first."""
    figures: list[list[Panel]] = []
    for stage in reversed(diagnosis.stages):
        figures += [_step_panels(diagnosis, stage), [_family_panel(stage)]]
    return figures


def _step_panels(diagnosis: Diagnosis, stage: StageDiagnosis) -> list[Panel]:
    shares = [_curve(name, stage.curves[name]) for name in ("solved", "harm", "unfinished")]
    panels = [
        _panel(f"{stage.name}: episodes", "percent", shares, span=(0.0, 100.0)),
        _panel(f"{stage.name}: points", "mean return", [_curve("points", stage.curves["points"])]),
    ]
    entropy = diagnosis.entropy_curves.get(stage.name)
    if entropy:
        panels.append(_panel(f"{stage.name}: entropy", "nats a token", [_curve("entropy", entropy)], span=(0.0, 0.1)))
    return panels


def _family_panel(stage: StageDiagnosis) -> Panel:
    most = sorted(stage.families, key=lambda one: (-one.whole.episodes, one.family))[:_FAMILIES]
    estimates = [
        Estimate(label=short_family(one.family), group=part, mean=mean, low=mean, high=mean)
        for one in sorted(most, key=lambda one: (one.first is None, one.family))
        for part, figures in (("first third", one.first), ("last third", one.last))
        if figures is not None
        for mean in (100 * figures.solved,)
    ]
    estimates = estimates or [
        Estimate(label=short_family(one.family), group="all", mean=mean, low=mean, high=mean)
        for one in most
        for mean in (100 * one.whole.solved,)
    ]
    return Panel(
        title=f"{stage.name}: solved by family",
        x_label="percent of episodes",
        y_label="",
        estimates=estimates,
        sideways=True,
        span=(0.0, 100.0),
    )


def _curve(label: str, points: Sequence[tuple[int, float]]) -> Curve:
    return Curve(label=label, x=[step for step, _ in points], y=[value for _, value in points])


def _panel(title: str, y_label: str, curves: Sequence[Curve], *, span: tuple[float, float] | None = None) -> Panel:
    average = _WINDOW if max(len(curve.x) for curve in curves) > 2 * _WINDOW else 1
    return Panel(title=title, x_label="step", y_label=y_label, curves=curves, average_over=average, span=span)

"""A curve as an inline SVG, in the colours of its page."""

import math
from collections.abc import Sequence

from palaestra.benchmarks.dashboard.markup import Html, element, join

_WIDTH, _HEIGHT = 340, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 8, 8, 22
MOST_POINTS = 300
"""Maximum number of points of a curve; with more steps, each point is the mean of several."""


def line_chart(points: Sequence[tuple[int, float]], *, title: str, unit: str = "step") -> Html:
    """A chart with one curve.

    Args:
        points: Steps and values, in order; one or more.
        title: The name of the curve.
        unit: The name of a step.
    """
    every, shown = thin_out(points)
    steps, values = [step for step, _ in shown], [value for _, value in shown]
    low, high = min(values), max(values)
    last = points[-1]
    means = f"; each point is the mean of {every} {unit}s" if every > 1 else ""
    words = (
        f"{title}: from {number(points[0][1])} at {unit} {points[0][0]} to {number(last[1])} at {unit} {last[0]}, "
        f"between {number(low)} and {number(high)}{means}."
    )
    picture = element(
        "svg",
        element("title", words),
        _axes(steps, low, high),
        element("polyline", points=_path(steps, values, low, high), class_="curve"),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_label=words,
    )
    caption = element("figcaption", element("strong", title), f" {number(last[1])} at {unit} {last[0]}{means}")
    return element("figure", caption, picture, class_="chart")


def thin_out(points: Sequence[tuple[int, float]]) -> tuple[int, list[tuple[int, float]]]:
    """The number of steps per point, and the points: the last step of each and the mean value."""
    every = max(1, math.ceil(len(points) / MOST_POINTS))
    groups = [points[first : first + every] for first in range(0, len(points), every)]
    return every, [(group[-1][0], math.fsum(value for _, value in group) / len(group)) for group in groups]


def number(value: float) -> str:
    """Format a value with about four digits."""
    if value == 0 or 0.01 <= abs(value) < 100_000:
        return f"{value:,.4g}" if abs(value) < 1_000 else f"{value:,.0f}"
    return f"{value:.2e}"


def _path(steps: Sequence[int], values: Sequence[float], low: float, high: float) -> str:
    first, wide = steps[0], max(1, steps[-1] - steps[0])
    # Halves, because the difference of two finite values may be infinite.
    tall = (high / 2 - low / 2) or 1.0
    across, down = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    places = (
        (
            _LEFT + across * (step - first) / wide,
            _TOP + down * (0.5 if high == low else (high / 2 - value / 2) / tall),
        )
        for step, value in zip(steps, values, strict=True)
    )
    drawn = [f"{x:.1f},{y:.1f}" for x, y in places]
    if len(drawn) == 1:  # a line of one point is invisible
        x, y = drawn[0].split(",")
        drawn.append(f"{float(x) + 4:.1f},{y}")
    return " ".join(drawn)


def _axes(steps: Sequence[int], low: float, high: float) -> Html:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    lines = [element("line", x1=_LEFT, y1=y, x2=right, y2=y, class_="rule") for y in (_TOP, bottom)]
    labels = [
        element("text", number(high), x=_LEFT - 6, y=_TOP + 8, text_anchor="end"),
        element("text", number(low), x=_LEFT - 6, y=bottom, text_anchor="end"),
        element("text", str(steps[0]), x=_LEFT, y=_HEIGHT - 6),
        element("text", str(steps[-1]), x=right, y=_HEIGHT - 6, text_anchor="end"),
    ]
    return element("g", join([*lines, *(labels if high > low else labels[1:])]), aria_hidden="true")

"""Plots of learning: noisy curves over steps, and estimates with their intervals, side by side.

The same panels give the same bytes of SVG with the same version of matplotlib, whatever its settings are. Text is shown
literally, never interpreted as markup or mathematics.

Needs matplotlib, an optional dependency that no other module imports. The module knows nothing about trainers and
episodes, and keeps no state. While it draws, it changes matplotlib's settings, so threads that use matplotlib must take
turns.
"""
# matplotlib annotates its methods, but not their **kwargs.
# pyright: reportUnknownMemberType=false

import math
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TypeAlias

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from numpy.typing import NDArray

from palaestra.benchmarks.statistics import MeanEstimate

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d")
"""Colours that colour-blind people can distinguish (Okabe and Ito 2008, "Color universal design")."""
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DASHES = ("-", "--", ":")
_TEXT, _MUTED, _LINE = "#1c2128", "#5d6674", "#dfe2e8"

_PANEL_SIZE = (3.8, 3.1)  # inches
_PANELS_A_ROW = 3
_LINE_HEIGHT, _AROUND_LINES = 0.24, 1.15  # inches, for sideways panels
_DOTS_PER_INCH = 200
_LEGEND_LETTERS = 38
"""Maximum letters of a legend on one line above a panel, counting four extra for each colour."""
_TITLE_LETTERS, _NARROW_LETTERS = 35, 26
"""Maximum letters per line of text above or below a panel, and beside the labels of a sideways panel."""
_NUMBERED = 8
"""Maximum number of estimates that show their number beside them, if no lines cross them."""
_LABEL_LETTERS = 48
"""Maximum letters of a label on its own line before it is wrapped."""

_Handles: TypeAlias = list[tuple[Line2D, str]]
"""The entries of a legend: a line and its label."""

_STYLE = {
    "font.family": "DejaVu Sans",  # matplotlib's own font, so that sizes are equal on every machine
    "font.size": 9,
    "text.color": _TEXT,
    "text.parse_math": False,
    "axes.edgecolor": "#aeb5c0",
    "axes.labelcolor": _MUTED,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": _LINE,
    "grid.linewidth": 0.7,
    "lines.solid_capstyle": "round",
    "lines.solid_joinstyle": "round",
    "xtick.color": "#aeb5c0",
    "xtick.labelcolor": _TEXT,
    "ytick.color": "#aeb5c0",
    "ytick.labelcolor": _TEXT,
    "ytick.major.size": 0,
    "ytick.minor.size": 0,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "palaestra",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One quantity over steps.

    Raises:
        ValueError: there are no points, or not as many `x` as `y`, or a number is not finite.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y):
            raise ValueError(f"curve {self.label!r}: {len(self.x)} x for {len(self.y)} y; give one x a y")
        if len(self.x) == 0:
            raise ValueError(f"curve {self.label!r} has no points; leave it out")
        _check_finite(f"curve {self.label!r}", [*self.x, *self.y])


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean and its interval."""

    label: str
    """The condition, such as "before", which determines the position from left to right."""
    group: str
    """The group of estimates with the same colour, such as "seen families"."""
    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, label: str, group: str, estimate: MeanEstimate) -> "Estimate":
        """Convert an estimate for drawing; without an interval it is a point."""
        mean = estimate.mean
        low = mean if estimate.low is None else estimate.low
        return cls(label=label, group=group, mean=mean, low=low, high=mean if estimate.high is None else estimate.high)

    def __post_init__(self) -> None:
        what = f"estimate {self.label!r} of {self.group!r}"
        _check_finite(what, [self.mean, self.low, self.high])
        if self.low > self.high:
            raise ValueError(f"{what}: low={self.low} is above high={self.high}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One coordinate system with curves, or with estimates.

    Raises:
        ValueError: the panel has neither curves nor estimates, or both; two estimates share label and group;
            `average_over` is below 1; `log_y` is set with a value that is not above zero; `sideways` is set with curves
            or a logarithmic axis; or an upright panel has a baseline.
    """

    title: str
    x_label: str
    y_label: str
    curves: Sequence[Curve] = ()
    estimates: Sequence[Estimate] = ()
    average_over: int = 1
    """If above 1, a curve is drawn as the moving average over this number of points, in front of a thin line of
    points."""
    log_y: bool = False
    baseline: str = ""
    """The name of each group's first estimate, with which the others are compared, such as "in distribution". A
    sideways panel extends it as a dashed line, explained below an axis without its own label."""
    span: tuple[float, float] | None = None
    """The minimum range of the value axis."""
    sideways: bool = False
    """Whether estimates are drawn sideways with one label per line, for many or long labels; values go from left to
    right."""

    def __post_init__(self) -> None:
        if not self.curves and not self.estimates:
            raise ValueError(f"panel {self.title!r} is empty; give it curves or estimates")
        if self.curves and self.estimates:
            raise ValueError(f"panel {self.title!r} has curves and estimates; give them a panel each")
        twice = [spot for spot, n in Counter((e.label, e.group) for e in self.estimates).items() if n > 1]
        if twice:
            label, group = twice[0]
            raise ValueError(f"panel {self.title!r} has two estimates {label!r} of {group!r}; one would hide the other")
        if self.average_over < 1:
            raise ValueError(f"panel {self.title!r}: average_over={self.average_over}; 1 is no average at all")
        if self.sideways and (self.curves or self.log_y):
            raise ValueError(f"panel {self.title!r}: only estimates on a plain axis lie on their side")
        if self.baseline and not self.sideways:
            raise ValueError(f"panel {self.title!r}: only a panel on its side has a baseline; use sideways=True")
        lowest = min([min(c.y) for c in self.curves] + [min(e.low, e.mean) for e in self.estimates])
        if self.log_y and lowest <= 0:
            raise ValueError(f"panel {self.title!r}: a logarithmic axis has no place for {lowest}; use log_y=False")


def png(panels: Sequence[Panel]) -> bytes:
    """Render the panels as a PNG, three per row with 760 pixels each; if one is sideways, two wider panels per row.

    Raises:
        ValueError: there are no panels.
    """
    return _render_picture(panels, "png")


def svg(panels: Sequence[Panel]) -> str:
    """Render the panels as an SVG document, three per row, whose text can be selected and searched.

    Its title names the panels as a text alternative. The same panels give the same document.

    Raises:
        ValueError: there are no panels.
    """
    return _render_picture(panels, "svg").decode()


def moving_average(values: Sequence[float], width: int) -> NDArray[np.float64]:
    """The mean of the `width` values around each value; at both ends, the mean of the existing values.

    An even width includes one more value after than before.
    """
    window = np.ones(min(width, 2 * len(values) - 1))
    start = len(window) // 2
    kept = slice(start, start + len(values))
    return np.convolve(values, window)[kept] / np.convolve(np.ones(len(values)), window)[kept]


def _check_finite(what: str, values: Iterable[float]) -> None:
    for value in values:
        if not math.isfinite(value):
            raise ValueError(f"{what} holds {value}; only finite numbers can be drawn")


def _render_picture(panels: Sequence[Panel], kind: str) -> bytes:
    if not panels:
        raise ValueError("no panels: a picture needs one panel at least")
    out = BytesIO()
    with matplotlib.style.context(["default", _STYLE]):
        figure = _figure(panels)
        if kind == "svg":
            title = _visible("; ".join(panel.title for panel in panels))
            metadata = {"Title": title, "Date": None, "Creator": None, "Format": None, "Type": None}
            figure.savefig(out, format=kind, metadata=metadata)
        else:
            figure.savefig(out, format=kind, dpi=_DOTS_PER_INCH, metadata={"Software": None})
    return out.getvalue()


def _figure(panels: Sequence[Panel]) -> Figure:
    lying = any(panel.sideways for panel in panels)
    columns = min(len(panels), 2 if lying else _PANELS_A_ROW)
    rows = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    width = _PANEL_SIZE[0] * (1.5 if lying and columns > 1 else 2 if lying else 1)
    heights = [max(map(_height, row)) for row in rows]
    layout = ConstrainedLayoutEngine(w_pad=0.16, h_pad=0.1)
    figure = Figure(figsize=(columns * width, math.fsum(heights)), layout=layout)
    grid = figure.add_gridspec(len(rows), columns, height_ratios=heights)
    for place, panel in enumerate(panels):
        _draw(figure.add_subplot(grid[divmod(place, columns)]), panel)
    return figure


def _height(panel: Panel) -> float:
    if not panel.sideways:
        return _PANEL_SIZE[1]
    return _AROUND_LINES + _LINE_HEIGHT * len({estimate.label for estimate in panel.estimates})


def _draw(axes: Axes, panel: Panel) -> None:
    if panel.sideways:
        handles = _draw_sideways(axes, panel)
    else:
        handles = _draw_curves(axes, panel) if panel.curves else _draw_estimates(axes, panel)
    if panel.log_y:
        _scale_by_ratios(axes)
    rows = _draw_legend(axes, handles)
    letters = _NARROW_LETTERS if panel.sideways else _TITLE_LETTERS
    axes.set_title(_wrap(panel.title, letters), pad=8 + 15 * rows)
    dashed = f"dashed: {panel.baseline}" if panel.baseline else ""
    axes.set_xlabel(_visible(panel.x_label) or _wrap(dashed, letters), loc="left", multialignment="left")
    axes.set_ylabel(_visible(panel.y_label))


def _scale_by_ratios(axes: Axes) -> None:
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 1000 else (1,)))
    axes.yaxis.set_major_formatter(FuncFormatter(_plain))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _draw_curves(axes: Axes, panel: Panel) -> _Handles:
    handles: _Handles = []
    for number, curve in enumerate(panel.curves):
        colour = _COLOURS[number % len(_COLOURS)]
        dash = _DASHES[number // len(_COLOURS) % len(_DASHES)]
        if panel.average_over > 1:
            axes.plot(curve.x, curve.y, color=colour, linewidth=0.6, alpha=0.35)
        averaged = moving_average(curve.y, panel.average_over)
        marker = "o" if len(curve.x) == 1 else ""
        (line,) = axes.plot(curve.x, averaged, dash, color=colour, linewidth=1.7, marker=marker, zorder=3)
        handles.append((line, curve.label))
    if panel.average_over > 1:
        _note(axes, f"thick: average over {panel.average_over} points")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.margins(x=0.02)
    return handles


def _draw_estimates(axes: Axes, panel: Panel) -> _Handles:
    labels, groups = _labels_and_groups(panel)
    apart = min(0.36, 0.66 / max(1, len(groups) - 1))  # labels are at a distance of 1
    digits = 1 if max(abs(estimate.mean) for estimate in panel.estimates) >= 10 else 2
    handles: dict[str, Line2D] = {}
    for estimate in panel.estimates:
        number = groups.index(estimate.group)
        x = labels.index(estimate.label) + apart * (number - (len(groups) - 1) / 2)
        handles[estimate.group] = _draw_estimate(axes, estimate, x, number)
        if len(panel.estimates) <= _NUMBERED:
            place, text = (x, estimate.mean), f"{estimate.mean:z.{digits}f}"
            colour = handles[estimate.group].get_color()
            axes.annotate(text, place, (6, 0), textcoords="offset points", va="center", color=colour)
    axes.set_xticks(range(len(labels)), [_wrap(label, _TITLE_LETTERS // len(labels)) for label in labels])
    axes.set_xlim(-0.5, len(labels) - 0.4)
    axes.tick_params(axis="x", length=0)
    if panel.span is not None:
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, panel.span[0]), max(high, panel.span[1]))
    return [(point, group) for group, point in handles.items()]


def _labels_and_groups(panel: Panel) -> tuple[list[str], list[str]]:
    labels = dict.fromkeys(estimate.label for estimate in panel.estimates)
    return list(labels), list(dict.fromkeys(estimate.group for estimate in panel.estimates))


def _draw_sideways(axes: Axes, panel: Panel) -> _Handles:
    labels, groups = _labels_and_groups(panel)
    apart = min(0.3, 0.6 / max(1, len(groups) - 1))
    handles: dict[str, Line2D] = {}
    for estimate in panel.estimates:
        number = groups.index(estimate.group)
        y = labels.index(estimate.label) + apart * (number - (len(groups) - 1) / 2)
        colour, marker = _COLOURS[number % len(_COLOURS)], _MARKERS[number % len(_MARKERS)]
        axes.plot([estimate.low, estimate.high], [y, y], color=colour, linewidth=1.7)
        (point,) = axes.plot([estimate.mean], [y], marker, color=colour, markersize=6, markeredgecolor="white")
        if panel.baseline and estimate.group not in handles:
            ends = [y, len(labels) - 0.5]
            axes.plot([estimate.mean] * 2, ends, "--", color=colour, linewidth=0.9, alpha=0.6, zorder=1)
        handles[estimate.group] = point
    axes.set_yticks(range(len(labels)), [_wrap(label, _LABEL_LETTERS) for label in labels])
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.grid(visible=True, axis="x")
    if panel.span is not None:
        low, high = axes.get_xlim()
        axes.set_xlim(min(low, panel.span[0]), max(high, panel.span[1]))
    return [(point, group) for group, point in handles.items()]


def _draw_estimate(axes: Axes, estimate: Estimate, x: float, number: int) -> Line2D:
    colour, marker = _COLOURS[number % len(_COLOURS)], _MARKERS[number % len(_MARKERS)]
    axes.plot([x, x], [estimate.low, estimate.high], color=colour, linewidth=1.7)
    (point,) = axes.plot([x], [estimate.mean], marker, color=colour, markersize=7, markeredgecolor="white")
    return point


def _plain(value: float, _: int | None) -> str:
    """Format a tick's number; matplotlib's own format would write powers of ten as mathematics."""
    return f"{value:g}"


def _draw_legend(axes: Axes, handles: _Handles) -> int:
    """Draw the legend between title and axes, where it hides no data; return its number of lines."""
    lines, labels = zip(*handles, strict=True)
    shown = [_visible(label) for label in labels]
    fitting = max(1, _LEGEND_LETTERS // (max(map(len, shown)) + 4))
    rows = math.ceil(len(shown) / fitting)
    axes.legend(
        lines,
        shown,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=math.ceil(len(shown) / rows),
        borderaxespad=0.2,
        borderpad=0.2,
        handlelength=1.2,
        handletextpad=0.5,
        columnspacing=1.2,
    )
    return rows


def _note(axes: Axes, text: str) -> None:
    """Add a note on the line of the x axis's label, at its other end."""
    axes.annotate(
        text, (1, 0), (0, -21), "axes fraction", "offset points", ha="right", va="top", color=_MUTED, fontsize=8
    )


def _wrap(label: str, width: int) -> str:
    return textwrap.fill(_visible(label), width=max(8, width), break_long_words=False)


def _visible(text: str) -> str:
    """Replace control characters that XML cannot represent."""
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)

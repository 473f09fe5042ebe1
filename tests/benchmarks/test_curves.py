"""Pictures of learning: what they show, what they refuse, and that drawing leaves nothing behind."""

import math
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from statistics import fmean
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.lines import Line2D

from palaestra.benchmarks import curves
from palaestra.benchmarks.curves import Curve, Estimate, Panel, moving_average, png, svg

AWKWARD = ["$x_1$", "_private", "a < b & c > d", "<script>alert(1)</script>", "&amp;", r"\alpha^2", "50 %", '"it\'s"']

FINITE = st.floats(-1e6, 1e6)


def curve(label: str = "seed 0", *, points: int = 20) -> Curve:
    return Curve(label=label, x=range(points), y=[1 + math.sin(x) / 2 for x in range(points)])


def panel(title: str = "Loss", *, average_over: int = 5, log_y: bool = False) -> Panel:
    return Panel(title=title, x_label="step", y_label="nats", curves=[curve()], average_over=average_over, log_y=log_y)


def estimates(*, labels: int = 3, groups: int = 2) -> Panel:
    shown = [
        Estimate(label=f"label {i}", group=f"group {j}", mean=10.0 * i + j, low=10.0 * i + j - 2, high=10.0 * i + j + 1)
        for i in range(labels)
        for j in range(groups)
    ]
    return Panel(title="Held out", x_label="", y_label="points", estimates=shown)


def texts(document: str) -> list[str]:
    """What stands in the picture, piece by piece, as a reader of SVG finds it."""
    return [element.text or "" for element in ET.fromstring(document).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314


def size(picture: bytes) -> tuple[int, int]:
    """Width and height, from a PNG's first chunk."""
    width, height = struct.unpack(">II", picture[16:24])
    return width, height


def lines(drawn: Panel) -> list[Line2D]:
    """The lines of a panel, as matplotlib holds them before it draws."""
    (axes,) = curves._figure([drawn]).axes
    return [*axes.lines]


def ys(line: Line2D) -> list[float]:
    return [float(y) for y in np.asarray(line.get_ydata(), dtype=float)]


def test_png_is_a_png_of_one_size_a_panel() -> None:
    one, three, four = (png([panel()] * count) for count in (1, 3, 4))
    assert one.startswith(b"\x89PNG\r\n\x1a\n")
    assert [size(picture) for picture in (one, three, four)] == [(760, 620), (2280, 620), (2280, 1240)]


def test_same_panels_give_the_same_bytes() -> None:
    panels = [panel(log_y=True), panel("Score"), estimates()]
    assert svg(panels) == svg(panels)
    assert png(panels) == png(panels)


def test_pictures_tell_neither_time_nor_program() -> None:
    assert not re.search(r"<dc:date>|Matplotlib v\d", svg([panel()]))
    assert b"Software" not in png([panel()])


def test_drawing_leaves_settings_as_they_were_and_does_not_follow_them() -> None:
    plain = svg([panel()])
    settings: dict[Any, Any] = {"font.size": 30, "svg.fonttype": "path", "lines.linewidth": 9, "text.parse_math": True}
    with mpl.rc_context(settings):  # pyright: ignore[reportUnknownMemberType]
        assert svg([panel()]) == plain
        assert {key: mpl.rcParams[key] for key in settings} == settings


def test_drawing_loads_no_windows() -> None:
    code = (
        "import sys; from palaestra.benchmarks.curves import Curve, Panel, png;"
        "png([Panel(title='', x_label='', y_label='', curves=[Curve(label='', x=[0], y=[0])])]);"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "False\n"


def test_svg_shows_titles_labels_and_names() -> None:
    shown = texts(svg([panel(), estimates()]))
    assert {"Loss", "step", "nats", "seed 0", "thick: average over 5 points"} <= {*shown}
    assert {"Held out", "points", "label 0", "label 2", "group 0", "group 1"} <= {*shown}


def test_svg_is_titled_by_its_panels() -> None:
    assert "<title>Loss &amp; more; Held out</title>" in svg([panel("Loss & more"), estimates()])


@pytest.mark.parametrize("text", AWKWARD)
def test_markup_and_mathematics_are_shown_as_they_are_written(text: str) -> None:
    line = replace(panel(text), x_label=text, y_label=text, curves=[curve(text)])
    points = Panel(
        title=text, x_label=text, y_label=text, estimates=[Estimate(label=text, group=text, mean=1, low=0, high=2)]
    )
    assert texts(svg([line])).count(text) == 4
    assert texts(svg([points])).count(text) == 5
    assert png([line, points])


def test_characters_that_xml_cannot_hold_are_replaced() -> None:
    shown = texts(svg([panel("a\x00b\x1bc\ud800d")]))
    assert "a\ufffdb\ufffdc\ufffdd" in shown


def test_numbers_on_a_logarithmic_axis_are_plain() -> None:
    wide = replace(panel(log_y=True), curves=[Curve(label="loss", x=[0, 1], y=[0.02, 3.0])])
    assert {"0.05", "0.1", "0.2", "1", "2"} <= {*texts(svg([wide]))}
    wider = replace(panel(log_y=True), curves=[Curve(label="loss", x=[0, 1], y=[1e-4, 100.0])])
    assert {"0.001", "0.01", "10"} <= {*texts(svg([wider]))}
    assert "0.002" not in texts(svg([wider]))


def test_points_stand_behind_an_average_only_if_there_is_one() -> None:
    (alone,) = lines(panel(average_over=1))
    points, average = lines(panel())
    assert ys(alone) == ys(points) == list(curve().y)
    assert ys(average) == list(moving_average(curve().y, 5))
    assert points.get_linewidth() < average.get_linewidth() == alone.get_linewidth()
    assert "thick" not in "".join(texts(svg([panel(average_over=1)])))


def test_one_point_of_a_curve_can_be_seen() -> None:
    (point,) = lines(replace(panel(average_over=1), curves=[curve(points=1)]))
    assert point.get_marker() == "o"


def test_an_interval_is_drawn_from_end_to_end() -> None:
    shown = Panel(title="", x_label="", y_label="", estimates=[Estimate(label="a", group="b", mean=5, low=3, high=6)])
    interval, mean = lines(shown)
    assert (ys(interval), ys(mean)) == ([3, 6], [5])


def test_groups_of_a_label_stand_beside_each_other() -> None:
    means = [line for line in lines(estimates(labels=2, groups=3)) if len(ys(line)) == 1]
    centres = [x for line in means for x in np.asarray(line.get_xdata(), dtype=float)]
    assert centres == sorted({*centres})
    assert [round(x) for x in centres] == [0, 0, 0, 1, 1, 1]


def test_means_are_written_where_there_is_room() -> None:
    assert {"0.0", "11.0", "21.0"} <= {*texts(svg([estimates()]))}
    assert "21.0" not in texts(svg([estimates(labels=5)]))


def test_small_means_are_written_with_more_digits() -> None:
    few = replace(estimates(), estimates=[Estimate(label="before", group="seen", mean=0.618, low=0.5, high=0.7)])
    assert "0.62" in texts(svg([few]))


def test_more_curves_than_colours_are_told_apart() -> None:
    many = lines(replace(panel(average_over=1), curves=[curve(f"seed {i}") for i in range(16)]))
    assert len({(line.get_color(), line.get_linestyle()) for line in many}) == 16


@given(st.lists(FINITE, min_size=1, max_size=20), st.integers(1, 50))
def test_moving_average_is_the_mean_of_what_lies_around(values: list[float], width: int) -> None:
    back, on = (width - 1) // 2, width // 2
    slow = [fmean(values[max(0, i - back) : i + on + 1]) for i in range(len(values))]
    assert list(moving_average(values, width)) == pytest.approx(slow, abs=1e-6)


@given(st.lists(FINITE, min_size=1, max_size=20))
def test_moving_average_over_one_value_is_the_value(values: list[float]) -> None:
    assert list(moving_average(values, 1)) == values


@pytest.mark.parametrize("draw", [png, svg])
def test_no_panels_are_refused(draw: Callable[[list[Panel]], object]) -> None:
    with pytest.raises(ValueError, match="no panels"):
        draw([])


def test_an_empty_panel_is_refused() -> None:
    with pytest.raises(ValueError, match="panel 'Loss' is empty; give it curves or estimates"):
        Panel(title="Loss", x_label="step", y_label="nats")


def test_a_panel_of_both_kinds_is_refused() -> None:
    with pytest.raises(ValueError, match="panel 'Loss' has curves and estimates"):
        replace(panel(), estimates=estimates().estimates)


def test_two_estimates_in_one_place_are_refused() -> None:
    shown = [*estimates().estimates, estimates().estimates[3]]
    with pytest.raises(ValueError, match="panel 'Held out' has two estimates 'label 1' of 'group 1'"):
        replace(estimates(), estimates=shown)


def test_an_average_over_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="average_over=0"):
        panel(average_over=0)


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_a_logarithmic_axis_refuses_what_it_cannot_show(value: float) -> None:
    with pytest.raises(ValueError, match=f"panel 'Loss': a logarithmic axis has no place for {value}"):
        replace(panel(log_y=True), curves=[Curve(label="loss", x=[0, 1], y=[1.0, value])])
    with pytest.raises(ValueError, match="logarithmic"):
        replace(estimates(), log_y=True)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([0, 1], [1.0], "curve 'loss': 2 x for 1 y"),
        ([], [], "curve 'loss' has no points"),
        ([0], [math.nan], "curve 'loss' holds nan"),
        ([math.inf], [1.0], "curve 'loss' holds inf"),
    ],
)
def test_a_curve_that_cannot_be_drawn_is_refused(x: list[float], y: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Curve(label="loss", x=x, y=y)


def test_an_estimate_that_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(ValueError, match=r"estimate 'before' of 'seen': low=2 is above high=1"):
        Estimate(label="before", group="seen", mean=1.5, low=2, high=1)
    with pytest.raises(ValueError, match="holds nan"):
        Estimate(label="before", group="seen", mean=math.nan, low=0, high=1)


def test_a_baseline_carries_each_groups_first_estimate_on() -> None:
    ladder = replace(estimates(labels=3, groups=2), baseline="in distribution", sideways=True)
    dashed = [line for line in lines(ladder) if line.get_linestyle() == "--"]
    assert [np.asarray(line.get_xdata(), dtype=float).tolist() for line in dashed] == [[0.0, 0.0], [1.0, 1.0]]
    assert "dashed: in distribution" in texts(svg([ladder]))
    assert not any(line.get_linestyle() == "--" for line in lines(replace(ladder, baseline="")))
    with pytest.raises(ValueError, match="only a panel on its side has a baseline"):
        replace(ladder, sideways=False)


def test_a_span_is_shown_at_least() -> None:
    def limits(span: tuple[float, float] | None) -> tuple[float, float]:
        (axes,) = curves._figure([replace(estimates(), span=span)]).axes
        low, high = axes.get_ylim()
        return float(low), float(high)

    assert limits((-50, 100)) == (-50, 100)
    assert limits((5, 6)) == limits(None)


def test_estimates_on_their_side_have_a_line_a_label() -> None:
    lying = replace(estimates(labels=12, groups=2), sideways=True, span=(0, 500))
    (axes,) = curves._figure([lying]).axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [f"label {i}" for i in range(12)]
    assert float(axes.get_xlim()[1]) == 500
    marks = [line for line in axes.lines if len(ys(line)) == 1]
    assert [round(ys(line)[0]) for line in marks] == [label for label in range(12) for _ in range(2)]
    assert [float(np.asarray(line.get_xdata(), dtype=float)[0]) for line in marks] == [
        10.0 * label + group for label in range(12) for group in range(2)
    ]


def test_a_picture_with_a_panel_on_its_side_is_as_high_as_its_lines() -> None:
    lying = replace(estimates(labels=10), sideways=True)
    more = replace(estimates(labels=20), sideways=True)
    assert [size(png(panels)) for panels in ([lying], [more])] == [(1520, 710), (1520, 1190)]
    assert size(png([lying, more, panel()])) == (2280, 1190 + 620)


@pytest.mark.parametrize(
    "wrong",
    [
        {"curves": [curve()]},
        {"curves": [curve()], "log_y": True},
    ],
)
def test_only_estimates_on_a_plain_axis_lie_on_their_side(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="only estimates on a plain axis lie on their side"):
        Panel(title="t", x_label="", y_label="", sideways=True, **wrong)

"""The measurement as tables, a plot and JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isnan
from typing import Any

from palaestra.benchmarks.credit.run import CreditConfig, CreditReading
from palaestra.benchmarks.credit.scores import MethodScore
from palaestra.benchmarks.curves import Estimate, Panel, png, svg
from palaestra.benchmarks.statistics import FEWEST
from palaestra.record import record
from palaestra.table import Table, tables_markdown


@record
class _Column:
    """A column of the tables."""

    figure: str
    title: str
    digits: int
    interval: bool = False


_COLUMNS = (
    _Column(figure="correlation", title="correlation, one estimate", digits=2, interval=True),
    _Column(figure="mean_correlation", title="correlation, mean estimate", digits=2, interval=True),
    _Column(figure="sign_agreement", title="signs right, %", digits=0, interval=True),
    _Column(figure="zeros", title="zeros, %", digits=0),
    _Column(figure="bias", title="bias", digits=1, interval=True),
    _Column(figure="deviation", title="deviation", digits=1, interval=True),
    _Column(figure="group_deviation", title="of it companions", digits=1),
    _Column(figure="mean_bias", title="mean bias", digits=1),
)


def credit_tables(readings: Sequence[CreditReading], config: CreditConfig) -> list[Table]:
    """Make a table of methods for each policy, then tables of the played episodes and of the critics.

    Args:
        readings: The results of each policy.
        config: The settings of the measurement.
    """
    return [*(_method_table(one) for one in readings), _played_table(readings, config), _critic_table(readings)]


def _method_table(reading: CreditReading) -> Table:
    order = sorted(reading.methods, key=lambda name: -_rank(reading.methods[name].figures.correlation))
    rows = tuple((name, *(_cell(reading.methods[name], column) for column in _COLUMNS)) for name in order)
    unit = "families" if reading.families >= FEWEST else "tasks"
    few = reading.families < FEWEST and reading.tasks < FEWEST
    intervals = f"Fewer than {FEWEST} tasks give no intervals." if few else f"Intervals of 95 % resample {unit}."
    return Table(
        title=f"Credit of turns against near-exact advantages: {reading.policy}",
        columns=("method", *(column.title for column in _COLUMNS)),
        rows=rows,
        note=f"Methods in the order of the correlation of one estimate. Bias and deviation are in the world's points, "
        f"after a factor by least squares for each method; near-exact advantages are {reading.size:.1f} points in the "
        f"root mean square. {intervals}",
    )


def _played_table(readings: Sequence[CreditReading], config: CreditConfig) -> Table:
    design = config.design
    return Table(
        title="What was played",
        columns=("policy", "tasks", "families", "turns", "decided", "episodes", "size, points", "error, points"),
        rows=tuple(
            (
                one.policy,
                str(one.tasks),
                str(one.families),
                str(one.turns),
                str(one.decided),
                f"{one.episodes:,}",
                f"{one.size:.1f}",
                f"{one.error:.1f}",
            )
            for one in readings
        ),
        note=f"Seed {config.seed}. {design.continuations} continuations from each state give its near-exact value; "
        f"{design.groups} others of each turn and {design.groups} sets of {design.group_size - 1} companions make its "
        f"groups of {design.group_size}. Size and error are root mean squares over turns, of near-exact advantages and "
        "of their standard errors. A turn is decided where the advantage is further from 0 than its standard error.",
    )


def _critic_table(readings: Sequence[CreditReading]) -> Table:
    return Table(
        title="Critics",
        columns=("policy", "method", "episodes", "passes", "steps", "values explained, %"),
        rows=tuple(
            (
                one.policy,
                name,
                str(critic.episodes),
                str(critic.passes),
                str(critic.steps),
                _number(100 * critic.explained, 0),
            )
            for one in readings
            for name, critic in one.critics.items()
        ),
        note="Critics learn from episodes of the same policy on other tasks of the families. Explained is the share of "
        "the variance of near-exact values over the scored states; below 0 they are worse than one number for all.",
    )


def _cell(score: MethodScore, column: _Column) -> str:
    value = _number(getattr(score.figures, column.figure), column.digits)
    if not column.interval or column.figure not in score.low:
        return value
    low, high = (_number(ends[column.figure], column.digits) for ends in (score.low, score.high))
    return value if "-" in (value, low, high) else f"{value} [{low}, {high}]"


def _number(value: float, digits: int) -> str:
    return "-" if isnan(value) else f"{value:z.{digits}f}"


def _rank(value: float) -> float:
    """The sort key of a correlation; unknown correlations come last."""
    return -2.0 if isnan(value) else value


_PANELS = {
    "correlation": "Correlation of one estimate with the near-exact advantage",
    "mean_correlation": "Correlation of the mean estimate: what bias leaves",
    "bias": "Bias after scaling, points",
    "deviation": "Deviation after scaling, points",
}


def credit_panels(readings: Sequence[CreditReading]) -> list[Panel]:
    """A panel for each of four figures, with a line for each method and a colour for each policy."""
    return [
        Panel(
            title=title,
            x_label="",
            y_label="",
            sideways=True,
            estimates=[
                Estimate(
                    label=name, group=one.policy, mean=mean, low=score.low.get(figure, mean),
                    high=score.high.get(figure, mean),
                )
                for one in readings
                for name, score in one.methods.items()
                if not isnan(mean := getattr(score.figures, figure))
            ],
        )
        for figure, title in _PANELS.items()
        if any(not isnan(getattr(s.figures, figure)) for one in readings for s in one.methods.values())
    ]  # fmt: skip


def credit_picture(readings: Sequence[CreditReading], *, kind: str) -> bytes:
    """Render the panels as an image.

    Args:
        readings: The results of each policy.
        kind: "png" or "svg".
    """
    panels = credit_panels(readings)
    return png(panels) if kind == "png" else svg(panels).encode()


def credit_markdown(readings: Sequence[CreditReading], config: CreditConfig) -> str:
    """The tables as GitHub Markdown; the arguments are those of `credit_tables`."""
    return tables_markdown(credit_tables(readings, config))


def credit_document(readings: Sequence[CreditReading], config: CreditConfig) -> Mapping[str, Any]:
    """All figures and settings, for JSON."""
    return {
        "design": asdict(config.design),
        "tasks": config.tasks,
        "critic": {"tasks": config.critic.tasks, "passes": config.critic.passes, "groups": config.critic.groups},
        "seed": config.seed,
        "temperature": config.play.temperature,
        "policies": [asdict(one) for one in readings],
    }

"""The comparison as tables and as a plot."""

from collections.abc import Callable

from palaestra.benchmarks.curves import Estimate, Panel, png
from palaestra.benchmarks.objectives.offpolicy import OffPolicyCell, OffPolicyReport
from palaestra.benchmarks.statistics import FEWEST
from palaestra.table import Table

HIDDEN = "decoupled PPO"
"""The method that the plot leaves out."""
_PANELS: tuple[tuple[str, str, Callable[[OffPolicyCell], tuple[float, float, float]]], ...] = (
    ("final success", "share of episodes", lambda cell: (cell.mean, *_ends(cell))),
    ("mean over training", "share of episodes", lambda cell: (cell.speed, cell.speed, cell.speed)),
    ("ESS", "share of trajectories", lambda cell: (cell.ess, cell.ess, cell.ess)),
)
"""For each panel: its title, its axis, and the mean and interval ends that it shows of a cell."""
_NOTE = (
    "Success: the mean over reported seeds after the last step. Over seeds: its 95 % interval with the number of "
    f"training seeds, or with fewer than {FEWEST} the value of each. Speed: the mean success over "
    "the whole training. Rate: the learning rate of the grid that was chosen, on other seeds. ESS: the effective share "
    "of a batch's trajectories under their importance weights."
)


def objectives_tables(report: OffPolicyReport) -> list[Table]:
    """A table for each toy, with a row for each method and staleness."""
    return [
        Table(
            title=f"{toy}: final success after {report.setting['steps']} steps",
            columns=("method", "staleness", "success", "over seeds", "speed", "rate", "ESS"),
            rows=tuple(_row(cell) for cell in report.cells if cell.toy == toy),
            note=_NOTE,
        )
        for toy in _toys(report)
    ]


def objectives_markdown(report: OffPolicyReport) -> str:
    """The tables as a Markdown document: a row for each method, a column for each staleness."""
    stalenesses = sorted({cell.staleness for cell in report.cells})
    lines = [f"Made by `{report.command}` (torch {report.torch})."]
    for toy in _toys(report):
        cells = {(cell.method, cell.staleness): cell for cell in report.cells if cell.toy == toy}
        methods = list(dict.fromkeys(method for method, _ in cells))
        table = Table(
            title=toy,
            columns=("method", *(f"staleness {one}" for one in stalenesses)),
            rows=tuple((method, *(_words(cells[method, one]) for one in stalenesses)) for method in methods),
        )
        lines += [f"**{toy}**", table.markdown()]
    lines.append(
        "Final success with its 95 % interval over training seeds, or the seeds' values where they are fewer than "
        f"{FEWEST}; mean success over the whole training; learning rate; "
        "effective share of trajectories (ESS)."
    )
    return "\n\n".join(lines) + "\n"


def objectives_panels(report: OffPolicyReport) -> list[Panel]:
    """Three panels for each toy, by staleness, with a colour for each method: final success, speed, ESS.

    With one step per batch, decoupled PPO differs from TIS only in its cap, and is left out.
    """
    shown = [cell for cell in report.cells if cell.method != HIDDEN]
    return [
        Panel(
            title=f"{toy[0].upper()}{toy[1:]}: {title}",
            x_label="steps for which the drawing policy is frozen",
            y_label=label,
            estimates=[
                Estimate(label=str(cell.staleness), group=cell.method, mean=mean, low=low, high=high)
                for cell in shown
                if cell.toy == toy
                for mean, low, high in [points(cell)]
            ],
        )
        for toy in _toys(report)
        for title, label, points in _PANELS
    ]


def objectives_png(report: OffPolicyReport) -> bytes:
    """Render the panels as a PNG image."""
    return png(objectives_panels(report))


def _toys(report: OffPolicyReport) -> list[str]:
    return list(dict.fromkeys(cell.toy for cell in report.cells))


def _row(cell: OffPolicyCell) -> tuple[str, ...]:
    return (
        cell.method,
        str(cell.staleness),
        f"{cell.mean:.2f}",
        _over_seeds(cell),
        f"{cell.speed:.2f}",
        f"{cell.rate:g}",
        f"{cell.ess:.2f}",
    )


def _words(cell: OffPolicyCell) -> str:
    return f"{cell.mean:.2f} ({_over_seeds(cell)}); {cell.speed:.2f}; {cell.rate:g}; {cell.ess:.2f}"


def _over_seeds(cell: OffPolicyCell) -> str:
    if cell.low is None or cell.high is None:
        return ", ".join(f"{value:.2f}" for value in cell.success)
    return f"{cell.low:.2f} to {cell.high:.2f}, {len(cell.success)} seeds"


def _ends(cell: OffPolicyCell) -> tuple[float, float]:
    """The ends of the interval; without an interval, the mean."""
    return cell.mean if cell.low is None else cell.low, cell.mean if cell.high is None else cell.high

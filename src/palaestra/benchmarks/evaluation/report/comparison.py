"""A comparison of two agents in words, as a table, and as a page."""

from collections.abc import Sequence
from dataclasses import replace

from palaestra.benchmarks.evaluation.compare import LEVEL, Comparison, Difference
from palaestra.benchmarks.evaluation.report.page import cells_of, plain, select_episodes, table_markdown
from palaestra.benchmarks.evaluation.report.plots import MISSING, distinct, has_matplotlib
from palaestra.benchmarks.evaluation.results import Results
from palaestra.benchmarks.statistics import FEWEST, MeanEstimate
from palaestra.benchmarks.viewer import render_page
from palaestra.table import Table

_UNITS = {"solved": "solved, %", "score": "mean score"}
_VERBS = {"solved": ("solves", "solve"), "score": ("scores", "score")}


def comparison_sentences(comparison: Comparison) -> list[str]:
    """Sentences about all cells together, about each cell, and about parts without a counterpart."""
    said = [comparison.overall] if len(comparison.cells) > 1 else []
    return [_sentence(comparison, one) for one in [*said, *comparison.cells]] + [*comparison.cautions]


def _sentence(comparison: Comparison, one: Difference) -> str:
    where = f"on {one.label}" if one.cell else "over all cells"
    units = one.difference.unit.format_count(one.difference.units)
    test = f"{p_text(one.corrected)} ({_correction(comparison, one)}; {units})"
    finding = _finding(comparison, one, where)
    if one.significant:
        return f"{finding}, {test}: significant at 5 %."
    # Even with every unit won, the p-value would not be below this.
    smallest = 2.0 ** (1 - one.difference.units) * (len(comparison.cells) if one.cell else 1)
    few = one.difference.unit.format_count(2).removeprefix("2 ")
    why = f", and with so few {few} none could be" if smallest >= LEVEL else ""
    return f"No difference can be told {where}{why}: {_finding(comparison, one, '')}, {test}."


def _finding(comparison: Comparison, one: Difference, where: str) -> str:
    """Which agent is ahead, and by how much."""
    does, both_do = _VERBS[comparison.measure]
    own = one.difference
    if own.mean == 0:
        unit = " %" if comparison.measure == "solved" else " points"
        return f"both {both_do} {one.first:.1f}{unit}, difference {_ends(own)}"
    ahead, behind = comparison.names if own.mean > 0 else reversed(comparison.names)
    lead = own if own.mean > 0 else _reverse(own)
    return " ".join(filter(None, (ahead, does, f"{lead.mean:.1f} points more than {behind}", where, _ends(lead))))


def _reverse(own: MeanEstimate) -> MeanEstimate:
    """The difference from the other side."""
    return replace(
        own,
        mean=-own.mean,
        low=None if own.high is None else -own.high,
        high=None if own.low is None else -own.low,
        values={unit: -value for unit, value in own.values.items()},
    )


def _ends(own: MeanEstimate) -> str:
    if own.low is not None and own.high is not None:
        return f"[{own.low:z.1f}, {own.high:z.1f}]"
    values = ", ".join(f"{value:z.1f}" for value in own.values.values())
    return f"(of each {own.unit}: {values})" if values else f"(the same for every {own.unit})"


def _correction(comparison: Comparison, one: Difference) -> str:
    if not one.cell:
        return "one test"
    return f"Holm, {len(comparison.cells)} cells" if len(comparison.cells) > 1 else "one cell"


def p_text(p: float) -> str:
    """A p-value as text with three decimals, so that 0.05 differs from values just below it."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def comparison_table(comparison: Comparison) -> Table:
    """A row for each cell, and one for all together."""
    first, second = comparison.names
    rows = [_row(one) for one in comparison.cells]
    if len(rows) > 1:
        rows.append(_row(comparison.overall))
    return Table(
        title=f"{first} against {second} on {comparison.suite.title}: {_UNITS[comparison.measure]}",
        columns=("cell", "tasks", first, second, "difference", "p", "p, Holm", "at 5 %"),
        rows=tuple(rows),
        note="On the tasks that both have a score of. Each unit of a cell's claim is compared with itself. In brackets "
        f"95 % intervals over these units, for one cell by itself; fewer than {FEWEST} units are listed instead. p is "
        "of a two-sided test that flips the signs of the units' differences; Holm's correction is over the cells. All "
        "cells together are one test, not corrected.",
    )


def _row(one: Difference) -> tuple[str, ...]:
    return (
        one.label,
        str(one.tasks),
        f"{one.first:.1f}",
        f"{one.second:.1f}",
        one.difference.text(signed=True),
        p_text(one.p).removeprefix("p ").removeprefix("= "),
        p_text(one.corrected).removeprefix("p ").removeprefix("= ") if one.cell else "",
        "significant" if one.significant else "",
    )


def comparison_markdown(comparison: Comparison) -> str:
    """The table, and the sentences as a list."""
    sentences = "\n".join(f"- {plain(sentence)}" for sentence in comparison_sentences(comparison))
    return f"{table_markdown(comparison_table(comparison))}\n\n{sentences}\n"


def comparison_page(comparison: Comparison, sides: Sequence[Results]) -> str:
    """An HTML page with the differences, as text and plots, and episodes of both agents.

    Args:
        comparison: The comparison.
        sides: The two evaluations, for their episodes.
    """
    episodes = [(episode, results.suite) for results in sides for episode in select_episodes(results.episodes)]
    overall, *others = comparison_sentences(comparison)
    return render_page(
        [episode for episode, _ in episodes],
        title=comparison_table(comparison).title,
        tables=[comparison_table(comparison)],
        figures=_draw_panels(comparison),
        lead=[overall],
        notes=[*others, *([] if has_matplotlib() else [MISSING])],
        cells=[label for episode, suite in episodes for label in cells_of([episode], suite)],
    )


def _draw_panels(comparison: Comparison) -> list[str]:
    if not has_matplotlib():
        return []
    from palaestra.benchmarks.curves import Estimate, Panel, svg  # noqa: PLC0415  an optional dependency

    first, second = comparison.names
    shown = [*comparison.cells, *([comparison.overall] if len(comparison.cells) > 1 else [])]
    estimates = [
        Estimate.of(label, f"{first} less {second}, points; 0 is no difference", one.difference)
        for label, one in zip(distinct([(one.label, one.cell) for one in shown]), shown, strict=True)
    ]
    title = f"Difference, {_UNITS[comparison.measure]}"
    return [svg([Panel(title=title, x_label="", y_label="", estimates=estimates, span=(-5, 5), sideways=True)])]

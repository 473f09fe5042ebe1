"""An evaluation's figures as tables of words."""

from collections.abc import Iterable, Mapping, Sequence

from palaestra.benchmarks.evaluation.metrics import Figures, Scores
from palaestra.benchmarks.evaluation.report.findings import Findings, Rung, findings
from palaestra.benchmarks.evaluation.results import Results
from palaestra.benchmarks.evaluation.suite import Cell
from palaestra.benchmarks.statistics import Interval
from palaestra.benchmarks.table import Table

FEW = 12
"""Up to how many criteria of a cell are shown one by one; a report as JSON holds them all."""
FEW_TASKS = 20
"""Below so many tasks intervals are visibly too narrow."""
_SCORES = ("tasks", "episodes", "solved, %", "mean score", "harmful, %")
_INTERVALS = "In brackets 95 % intervals, by a bootstrap that resamples tasks."


def summary_tables(results: Results) -> list[Table]:
    """What a terminal shows: scores by axis and by cell, how reliably, what it took, and faults."""
    found = findings(results)
    return [
        *ladder_tables(found),
        *cell_tables(found),
        *pass_tables(found),
        *effort_tables(found),
        *fault_tables(found),
    ]


def report_tables(found: Findings) -> list[Table]:
    """Every table of a report."""
    return [
        *ladder_tables(found),
        *cell_tables(found),
        *pass_tables(found),
        *family_tables(found),
        *criterion_tables(found),
        *effort_tables(found),
        *end_tables(found),
        *fault_tables(found),
        *split_tables(found),
        *known_bad_tables(found),
    ]


def ladder_tables(found: Findings) -> list[Table]:
    """One table of every axis of shift: each rung, and how far it is from in distribution."""
    cells = {cell.id: cell for cell in found.results.suite.cells}
    rows = [
        (ladder.title if place == 0 else "", *_rung(cells[rung.cell], rung, found.cells[rung.cell].scores))
        for ladder in found.results.suite.ladders
        for place, rung in enumerate(found.ladders[ladder.axis])
    ]
    if not rows:
        return []
    return [
        Table(
            title="Axes of shift, each from none to strong",
            columns=("axis", "rung", "tasks", "mean score", "difference", "solved, %", "difference, solved"),
            rows=tuple(rows),
            note="The first rung of an axis is in distribution, and differences are from it: paired by task, but for "
            f"those marked *, whose tasks are other ones. {_INTERVALS}{_few(found)}",
        )
    ]


def _rung(cell: Cell, rung: Rung, own: Scores) -> tuple[str, ...]:
    mark = " *" if rung.how == "independent" else ""
    return (
        cell.label,
        str(own.tasks),
        _text(own.points),
        _text(rung.points, signed=True) + mark,
        _text(own.solved),
        _text(rung.solved, signed=True) + mark,
    )


def cell_tables(found: Findings) -> list[Table]:
    """Scores of each cell that stands in no ladder, and of all cells together."""
    rows = [(cell.label, *_scores(found.cells[cell.id].scores)) for cell in found.alone]
    if len(found.cells) != 1:
        rows.append(("all cells", *_scores(found.overall.scores)))
        if found.overall.sound is not None:
            rows.append(("all, without tasks known to be broken", *_scores(found.overall.sound)))
    for cell in found.alone:
        sound = found.cells[cell.id].sound
        if sound is not None:
            rows.append((f"{cell.label}, without tasks known to be broken", *_scores(sound)))
    return [
        Table(
            title="Scores",
            columns=("cell", *_SCORES),
            rows=tuple(rows),
            note="Points of 100, less what harm takes; harmful episodes did something forbidden. Every task counts the "
            "same. Episodes with a fault of the world, a server or an engine have no score and are in no figure. "
            f"{_INTERVALS} Where no task or every task succeeded, a share has the exact binomial one.{_few(found)}",
        )
    ]


def _scores(own: Scores) -> tuple[str, ...]:
    return (str(own.tasks), str(own.episodes), _text(own.solved), _text(own.points), _text(own.harmed))


def _few(found: Findings) -> str:
    few = [cell.label for cell in found.played if found.cells[cell.id].scores.tasks < FEW_TASKS]
    if not few:
        return ""
    which = "every cell" if len(few) == len(found.cells) else f"{len(few)} of {len(found.cells)} cells"
    return f" Intervals are too narrow below some {FEW_TASKS} tasks, as in {which}."


def pass_tables(found: Findings) -> list[Table]:
    """pass@k and pass^k of each cell and of all, where tasks were played more than once."""
    rows = [(name, *_passes(own, found.overall)) for name, own in _named(found) if own.passes]
    ks = [one.k for one in found.overall.passes]
    if len(ks) < 2:
        return []
    columns = [f"{name}{k}" for k in ks[1:] for name in ("pass@", "pass^")]
    return [
        Table(
            title="How reliably, in percent of tasks",
            columns=("cell", "pass@1 = pass^1", *columns),
            rows=tuple(rows),
            note="pass@k: at least one of k samples solves the task; pass^k: each of k does. Unbiased estimates, over "
            f"tasks with at least k samples that have a score. {_INTERVALS}",
        )
    ]


def _passes(own: Figures, overall: Figures) -> tuple[str, ...]:
    known = {one.k: one for one in own.passes}
    first, *others = [one.k for one in overall.passes]
    cells = [known[first].any.text()]
    for k in others:
        cells += [known[k].any.text(), known[k].all.text()] if k in known else ["-", "-"]
    return tuple(cells)


def family_tables(found: Findings) -> list[Table]:
    """Scores of each family, over all cells."""
    if len(found.families) < 2:
        return []
    return [
        Table(
            title="Families of tasks, over all cells",
            columns=("family", *_SCORES),
            rows=tuple((name or "(none)", *_scores(own)) for name, own in found.families.items()),
            note=_INTERVALS,
        )
    ]


def criterion_tables(found: Findings) -> list[Table]:
    """Sub-scores of each cell that has few of them."""
    rows = [
        (cell.label, name, str(one.episodes), one.share.text())
        for cell in found.played
        if len(found.cells[cell.id].criteria) <= FEW
        for name, one in found.cells[cell.id].criteria.items()
    ]
    if not rows:
        return []
    return [
        Table(
            title="Sub-scores",
            columns=("cell", "criterion", "episodes", "holds, %"),
            rows=tuple(rows),
            note="Percent of the episodes that have the criterion in which it is met, or is violated where it forbids. "
            f"{_INTERVALS} Cells with more than {FEW} criteria are in the JSON alone.",
        )
    ]


def effort_tables(found: Findings) -> list[Table]:
    """What an episode took, in each cell and in all."""
    priced = found.overall.effort.cost is not None
    spent = found.overall.effort.spent
    columns = [
        *("cell", "turns", "calls", "invalid", "invalid, % of calls", "refused", "gave up, %", "out of time, %"),
        *("tokens read", "tokens written"),
        *(["cost"] if priced else []),
    ]
    return [
        Table(
            title="What an episode took",
            columns=tuple(columns),
            rows=tuple((name, *_effort(own, priced=priced)) for name, own in _named(found)),
            note="Means over tasks. Invalid are calls that no schema takes and turns that could not be read; refused "
            "are calls that the world said no to. Out of time: a deadline or a budget of seconds ended the episode."
            + _uncounted(found.overall)
            + (f" The evaluation cost {spent:.4f} in all." if spent is not None else ""),
        )
    ]


def _effort(own: Figures, *, priced: bool) -> tuple[str, ...]:
    effort = own.effort
    return (
        _number(effort.turns),
        _number(effort.calls),
        _number(effort.invalid, 2),
        _number(None if effort.invalid_a_call is None else 100 * effort.invalid_a_call),
        _number(effort.refused, 2),
        _number(None if own.gave_up is None else own.gave_up.mean),
        _number(None if own.out_of_time is None else own.out_of_time.mean),
        _number(effort.prompt_tokens, 0),
        _number(effort.completion_tokens, 0),
        *([_number(effort.cost, 5)] if priced else []),
    )


def _uncounted(overall: Figures) -> str:
    counted, episodes = overall.effort.counted, overall.scores.episodes
    if counted == episodes:
        return ""
    return " Nobody counts this agent's tokens." if counted == 0 else f" Tokens are those of {counted} episodes."


def end_tables(found: Findings) -> list[Table]:
    """How episodes ended, by cell."""
    ends = list(found.overall.ends)
    if not ends:
        return []
    return [
        Table(
            title="How episodes ended",
            columns=("cell", *(end.replace("_", " ") for end in ends)),
            rows=tuple((name, *(str(own.ends.get(end, 0)) for end in ends)) for name, own in _named(found)),
            note="Episodes that have a score.",
        )
    ]


def fault_tables(found: Findings) -> list[Table]:
    """Faults, which cost an episode its score, and troubles, which did not; apart from failures."""
    kinds, troubles = list(found.overall.faults), list(found.overall.troubles)
    if not kinds and not troubles:
        return []
    return [
        Table(
            title="Faults and troubles, which are no failures of the agent's",
            columns=("cell", *(f"fault: {kind}" for kind in kinds), *(f"trouble: {name}" for name in troubles)),
            rows=tuple(
                (
                    name,
                    *(str(own.faults.get(kind, 0)) for kind in kinds),
                    *(str(own.troubles.get(trouble, 0)) for trouble in troubles),
                )
                for name, own in _named(found)
                if own.faults or own.troubles
            ),
            note="A fault is an episode without a score, counted by whose fault it was; a trouble went wrong on the "
            "way and did not cost the episode.",
        )
    ]


def split_tables(found: Findings) -> list[Table]:
    """Which splits were touched."""
    labels = {cell.id: cell.label for cell in found.played}
    return [
        Table(
            title="Splits touched",
            columns=("split", "tasks", "episodes", "cells"),
            rows=tuple(
                (
                    split.name or "(not named)",
                    str(split.tasks),
                    str(split.episodes),
                    _listed([labels[cell] for cell in split.cells]),
                )
                for split in found.splits
            ),
            note="Whoever trains or tunes on a task of these can no longer report it.",
        )
    ]


def known_bad_tables(found: Findings) -> list[Table]:
    """Tasks that were played and are held to be broken."""
    played = {one.task for one in found.results.outcomes}
    rows = [(task, why) for task, why in sorted(found.results.suite.known_bad.items()) if task in played]
    if not rows:
        return []
    return [Table(title="Tasks held to be broken", columns=("task", "why"), rows=tuple(rows))]


def _named(found: Findings) -> Iterable[tuple[str, Figures]]:
    """Every cell's figures by what stands before them, and those of all cells where there are several."""
    labels: Mapping[str, str] = {cell.id: _place(cell, found) for cell in found.played}
    yield from ((labels[cell], own) for cell, own in found.cells.items())
    if len(found.cells) != 1:
        yield "all cells", found.overall


def _place(cell: Cell, found: Findings) -> str:
    """A cell's label; that of a rung after its axis, which it would not be understood without."""
    axes = [ladder for ladder in found.results.suite.ladders if cell.id in ladder.cells]
    if not axes or cell.id == axes[0].cells[0]:
        return cell.label
    return f"{axes[0].title}: {cell.label}"


def _listed(names: Sequence[str], *, limit: int = 6) -> str:
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")


def _text(interval: Interval | None, *, signed: bool = False) -> str:
    return "-" if interval is None else interval.text(signed=signed)


def _number(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"

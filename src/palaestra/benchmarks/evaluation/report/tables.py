"""An evaluation's figures as text tables."""

from collections.abc import Iterable, Sequence

from palaestra.benchmarks.evaluation.agents.agent import PRIVILEGED
from palaestra.benchmarks.evaluation.metrics import AttackRates, EvaluationFigures, TaskScores
from palaestra.benchmarks.evaluation.report.findings import Findings, Rung, findings
from palaestra.benchmarks.evaluation.results import Results
from palaestra.benchmarks.evaluation.suite import Cell, place
from palaestra.benchmarks.statistics import FEWEST, MeanEstimate
from palaestra.table import Table

FEW = 12
"""Maximum criteria of a cell that are shown one by one; the JSON report has them all."""
_SCORES = ("tasks", "episodes", "solved, %", "mean score", "harmful, %")
_INTERVALS = (
    "In brackets 95 % intervals over the unit that is counted beside them; "
    f"fewer than {FEWEST} units are listed instead."
)


def summary_tables(results: Results) -> list[Table]:
    """The tables for a terminal: scores by axis and by cell, reliability, effort, and faults."""
    found = findings(results)
    return [
        *ladder_tables(found, narrow=True),
        *spread_tables(found),
        *cell_tables(found, found.alone),
        *attack_tables(found),
        *pass_tables(found, narrow=True),
        *effort_tables(found, narrow=True),
        *end_tables(found, narrow=True),
        *fault_tables(found),
    ]


def report_tables(found: Findings) -> list[Table]:
    """Every table of a report."""
    return [
        *ladder_tables(found),
        *spread_tables(found),
        *cell_tables(found, found.played_cells),
        *attack_tables(found),
        *pass_tables(found),
        *family_tables(found),
        *criterion_tables(found),
        *effort_tables(found),
        *end_tables(found),
        *fault_tables(found),
        *split_tables(found),
        *known_bad_tables(found),
    ]


def ladder_tables(found: Findings, *, narrow: bool = False) -> list[Table]:
    """One table of all axes of shift: each rung, and its difference from in distribution.

    Args:
        found: The figures.
        narrow: Leave out the differences in the solved share, for which a terminal has no room.
    """
    cells = {cell.id: cell for cell in found.results.suite.cells}
    rows = [
        (ladder.title if place == 0 else "", *_rung(cells[rung.cell], rung, found.cells[rung.cell].scores))
        for ladder in found.results.suite.ladders
        for place, rung in enumerate(found.ladders[ladder.axis])
    ]
    if not rows:
        return []
    columns = (
        "axis", "rung", "tasks", "mean score", "difference", "p, Holm", "solved, %", "difference, solved", "p, Holm",
    )  # fmt: skip
    shown = len(columns) - 2 * narrow
    return [
        Table(
            title="Axes of shift, each from none to strong",
            columns=columns[:shown],
            rows=tuple(row[:shown] for row in rows),
            note="The first rung of an axis is in distribution, and differences are from it: paired by unit, but for "
            f"those marked *, whose units are other ones. {_INTERVALS} p is corrected by Holm's method over every rung "
            "of every axis.",
        )
    ]


def spread_tables(found: Findings) -> list[Table]:
    """The worst rung and the spread of each axis whose rungs have no order."""
    labels = {cell.id: cell.label for cell in found.results.suite.cells}
    rows: list[tuple[str, ...]] = []
    for ladder in found.results.suite.ladders:
        shifted = [rung.cell for rung in found.ladders[ladder.axis] if rung.cell != ladder.cells[0]]
        solved = {cell: one.mean for cell in shifted if (one := found.cells[cell].scores.solved) is not None}
        if ladder.ordered or not solved:
            continue
        worst, best = min(solved, key=solved.__getitem__), max(solved, key=solved.__getitem__)
        spread = solved[best] - solved[worst]
        said = [f"{labels[cell]}: {solved[cell]:.1f}" for cell in (worst, best)]
        rows.append((ladder.title, str(len(solved)), *said, f"{spread:.1f}"))
    if not rows:
        return []
    return [
        Table(
            title="Axes whose rungs have no order",
            columns=("axis", "rungs", "worst, solved %", "best, solved %", "spread"),
            rows=tuple(rows),
            note="Of the rungs beside the first. The spread is best less worst.",
        )
    ]


def _rung(cell: Cell, rung: Rung, own: TaskScores) -> tuple[str, ...]:
    mark = " *" if rung.how == "independent" else ""
    return (
        cell.label,
        str(own.tasks),
        _text(own.points),
        _text(rung.points, signed=True) + mark,
        _p_text(rung.points_corrected),
        _text(own.solved),
        _text(rung.solved, signed=True) + mark,
        _p_text(rung.solved_corrected),
    )


def cell_tables(found: Findings, cells: Sequence[Cell]) -> list[Table]:
    """Scores of each of `cells` and of all together, with and without tasks that are known to be broken."""
    rows = [(place(cell, found.results.suite), *_scores(found.cells[cell.id].scores)) for cell in cells]
    if len(found.cells) != 1:
        rows.append(("all cells", *_scores(found.overall.scores)))
        if found.overall.sound is not None:
            rows.append(("all, sound tasks", *_scores(found.overall.sound)))
    for cell in cells:
        sound = found.cells[cell.id].sound
        if sound is not None:
            rows.append((f"{place(cell, found.results.suite)}, sound tasks", *_scores(sound)))
    return [
        Table(
            title="Scores",
            columns=("cell", *_SCORES),
            rows=tuple(rows),
            note="Points of 100, less what harm takes; harmful episodes did something forbidden. Every task counts the "
            "same. Episodes with a fault of the world, a server or an engine have no score and are in no figure. "
            f"{_INTERVALS} Where none or all succeeded, a share has the exact binomial interval."
            f"{_describe_broken(found)}{_describe_privilege(found)}",
        )
    ]


def _describe_privilege(found: Findings) -> str:
    if not found.results.settings.playing.get(PRIVILEGED):
        return ""
    return " The agent is privileged: it tried its actions in forks of the measured world. Rank it beside no other."


def _scores(own: TaskScores) -> tuple[str, ...]:
    return (str(own.tasks), str(own.episodes), _text(own.solved), _text(own.points), _text(own.harmed))


def _describe_broken(found: Findings) -> str:
    return "" if found.overall.sound is None else " Sound tasks: all but those that are held to be broken."


def attack_tables(found: Findings) -> list[Table]:
    """The effect of planted instructions: utility and attack success, of each cell and of all cells with injections."""
    if found.overall.attacks is None:
        return []
    rows = [
        (name, _text(own.scores.solved), *(("-",) * 4 if own.attacks is None else _attack(own.attacks)))
        for name, own in _list_named(found)
        if name != "all cells"
    ]
    if len(rows) > 2:
        rows.append(("all with injections", "", *_attack(found.overall.attacks)))
    return [
        Table(
            title="Injections",
            columns=("cell", "utility: solved, %", "read, %", "begun, %", "attack success, %", "not undone, %"),
            rows=tuple(rows),
            note="Utility is the task's own rubric. Begun: a part of the attacker's goal was met, or a step towards it "
            f"taken. Success: every part was met at some time, judged by rows and calls. {_INTERVALS}",
        )
    ]


def _attack(own: AttackRates) -> tuple[str, ...]:
    return tuple(map(_text, (own.shown, own.begun, own.reached, own.stood)))


def pass_tables(found: Findings, *, narrow: bool = False) -> list[Table]:
    """pass@k and pass^k of each cell and of all, if tasks were played more than once.

    Args:
        found: The figures.
        narrow: Leave out the intervals, for which a terminal has no room.
    """
    rows = [(name, *_passes(own, found.overall, narrow=narrow)) for name, own in _list_named(found) if own.passes]
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
            "tasks with at least k samples that have a score." + ("" if narrow else f" {_INTERVALS}"),
        )
    ]


def _passes(own: EvaluationFigures, overall: EvaluationFigures, *, narrow: bool) -> tuple[str, ...]:
    known = {one.k: (one.any, one.all) for one in own.passes}
    pairs = [known.get(one.k, (None, None)) for one in overall.passes]
    intervals = [pairs[0][0], *(interval for pair in pairs[1:] for interval in pair)]  # at k = 1 both are the same
    return tuple((_mean if narrow else _text)(one) for one in intervals)


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
        (place(cell, found.results.suite), name, str(one.episodes), one.share.text())
        for cell in found.played_cells
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


def effort_tables(found: Findings, *, narrow: bool = False) -> list[Table]:
    """The effort per episode, in each cell and in all.

    Args:
        found: The figures.
        narrow: Leave out some figures, for which a terminal has no room.
    """
    effort = found.overall.effort
    rows = [(name, _effort(own)) for name, own in _list_named(found)]
    hidden = {"calls", "of calls, %", "late, %"} if narrow else set[str]()
    hidden |= set[str]() if effort.counted else {"read", "written"}
    hidden |= {"cost"} if effort.cost is None else set[str]()
    columns = [name for name in _effort(found.overall) if name not in hidden]
    return [
        Table(
            title="What an episode took",
            columns=("cell", *columns),
            rows=tuple((name, *(own[column] for column in columns)) for name, own in rows),
            note="Means over tasks. Invalid are calls that no schema takes and turns that could not be read, an "
            "episode" + ("" if narrow else " and in percent of all calls") + "; refused are calls that the world said "
            "no to"
            + ("." if narrow else "; late are episodes that a deadline or a budget of seconds ended.")
            + (" Read and written are tokens." if effort.counted else "")
            + _describe_uncounted(found.overall)
            + (f" The evaluation cost {effort.spent:.4f} in all." if effort.spent is not None else ""),
        )
    ]


def _effort(own: EvaluationFigures) -> dict[str, str]:
    effort = own.effort
    return {
        "turns": _number(effort.turns),
        "calls": _number(effort.calls),
        "invalid": _number(effort.invalid, 2),
        "of calls, %": _number(None if effort.invalid_a_call is None else 100 * effort.invalid_a_call),
        "refused": _number(effort.refused, 2),
        "gave up, %": _mean(own.gave_up),
        "late, %": _mean(own.out_of_time),
        "read": _number(effort.prompt_tokens, 0),
        "written": _number(effort.completion_tokens, 0),
        "cost": _number(effort.cost, 5),
    }


def _describe_uncounted(overall: EvaluationFigures) -> str:
    counted, episodes = overall.effort.counted, overall.scores.episodes
    if counted == episodes:
        return ""
    return " Nobody counts this agent's tokens." if counted == 0 else f" Tokens are those of {counted} episodes."


def end_tables(found: Findings, *, narrow: bool = False) -> list[Table]:
    """How episodes ended, by cell.

    Args:
        found: The figures.
        narrow: Show only all cells together.
    """
    ends = list(found.overall.ends)
    if not ends:
        return []
    named = list(_list_named(found))
    return [
        Table(
            title="How episodes ended",
            columns=("cell", *(end.replace("_", " ") for end in ends)),
            rows=tuple(
                (name, *(str(own.ends.get(end, 0)) for end in ends)) for name, own in named[-1 if narrow else 0 :]
            ),
            note="Episodes that have a score.",
        )
    ]


def fault_tables(found: Findings) -> list[Table]:
    """Faults, which cost an episode its score, and troubles, which did not; failures are not included."""
    kinds, troubles = list(found.overall.faults), list(found.overall.troubles)
    if not kinds and not troubles:
        return []
    return [
        Table(
            title="Faults and troubles",
            columns=("cell", *(f"fault: {kind}" for kind in kinds), *(f"trouble: {name}" for name in troubles)),
            rows=tuple(
                (
                    name,
                    *(str(own.faults.get(kind, 0)) for kind in kinds),
                    *(str(own.troubles.get(trouble, 0)) for trouble in troubles),
                )
                for name, own in _list_named(found)
                if own.faults or own.troubles
            ),
            note="A fault is an episode without a score, and no failure of the agent's, counted by whose fault it was; "
            "a trouble went wrong on the way, and its episode counts as it went.",
        )
    ]


def split_tables(found: Findings) -> list[Table]:
    """The splits that were used."""
    labels = {cell.id: place(cell, found.results.suite) for cell in found.played_cells}
    return [
        Table(
            title="Splits touched",
            columns=("split", "tasks", "episodes", "cells"),
            rows=tuple(
                (
                    split.name or "(not named)",
                    str(split.tasks),
                    str(split.episodes),
                    _list_names([labels[cell] for cell in split.cells]),
                )
                for split in found.splits
            ),
            note="Whoever trains or tunes on a task of these can no longer report it.",
        )
    ]


def known_bad_tables(found: Findings) -> list[Table]:
    """Played tasks that are known to be broken."""
    played = {one.task for one in found.results.outcomes}
    rows = [(task, why) for task, why in sorted(found.results.suite.known_bad.items()) if task in played]
    if not rows:
        return []
    return [Table(title="Tasks held to be broken", columns=("task", "why"), rows=tuple(rows))]


def _list_named(found: Findings) -> Iterable[tuple[str, EvaluationFigures]]:
    """Every cell's figures by row label, and those of all cells if there are several."""
    yield from ((place(cell, found.results.suite), found.cells[cell.id]) for cell in found.played_cells)
    if len(found.cells) != 1:
        yield "all cells", found.overall


def _list_names(names: Sequence[str], *, limit: int = 6) -> str:
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")


def _p_text(p: float | None) -> str:
    if p is None:
        return ""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _text(interval: MeanEstimate | None, *, signed: bool = False) -> str:
    return "-" if interval is None else interval.text(signed=signed)


def _mean(interval: MeanEstimate | None) -> str:
    return _number(None if interval is None else interval.mean)


def _number(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"

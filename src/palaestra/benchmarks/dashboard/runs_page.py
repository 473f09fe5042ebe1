"""The first page: all runs, those that changed last first."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from palaestra.benchmarks.dashboard.dashboard import Dashboard
from palaestra.benchmarks.dashboard.markup import Html, address, element, join, table
from palaestra.benchmarks.record import RunSummary, run_summaries
from palaestra.table import Table


def runs_content(session: Session, dashboard: Dashboard) -> list[Html]:
    """What the page shows."""
    runs = run_summaries(session)
    if not runs:
        hint = "The record holds no run yet. "
        command = element("code", "palaestra record import runs --follow")
        return [element("p", hint, command, " imports runs, also while they grow.", class_="lead")]
    live = sum(dashboard.is_live(run.updated) for run in runs)
    episodes = sum(run.episodes for run in runs)
    lead = f"{_count(len(runs), 'run')}, {live} of them live; {_count(episodes, 'episode')}."
    return [element("p", lead, class_="lead"), *(_table(dashboard, kind, runs) for kind in _KINDS)]


_KINDS = {
    "evaluation": "Evaluations",
    "training": "Training runs",
    "episodes": "Files of episodes",
    "proof": "Proofs",
}


def _table(dashboard: Dashboard, kind: str, runs: Sequence[RunSummary]) -> Html:
    own = [run for run in runs if run.kind == kind]
    if not own:
        return join([])
    links = {(row, 0): address(f"/runs/{run.id}") for row, run in enumerate(own)}
    hidden = {"proof": 5, "training": 1, "episodes": 1, "evaluation": 0}[kind]
    rows = tuple(_row(dashboard, run, hidden) for run in own)
    columns = (_columns(hidden), *rows)
    return table(Table(title=_KINDS[kind], columns=columns[0], rows=rows), links=links, level=2)


def _columns(hidden: int) -> tuple[str, ...]:
    if hidden == 5:
        return "run", "changed"
    scores = ("episodes", "solved, %", "harmful, %", "points")
    return ("run", "changed", *(("suite", "agent") if hidden == 0 else ("steps",)), *scores)


def _row(dashboard: Dashboard, run: RunSummary, hidden: int) -> tuple[str, ...]:
    changed = dashboard.age(run.updated) + (" (live)" if dashboard.is_live(run.updated) else "")
    damaged = f" ({_count(run.faults, 'damaged line')})" if run.faults else ""
    first = (run.name + damaged, changed)
    if hidden == 5:
        return first
    middle = (run.suite, run.agent) if hidden == 0 else ("-" if run.steps is None else str(run.steps),)
    return (*first, *middle, *score_cells(run))


def score_cells(run: RunSummary) -> tuple[str, str, str, str]:
    """Episodes, percent solved and harmful, and mean points."""
    episodes = f"{run.episodes:,}" + (f" of {run.expected:,}" if run.expected not in (None, run.episodes) else "")
    if not run.scored or run.points is None:
        return episodes, "-", "-", "-"
    solved, harmed = (f"{100 * count / run.scored:.1f}" for count in (run.solved, run.harmed))
    return episodes, solved, harmed, f"{run.points:.1f}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

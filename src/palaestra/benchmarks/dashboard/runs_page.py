"""The first page: all runs, the most recently changed first."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from sqlalchemy.orm import Session

from palaestra.benchmarks.dashboard.dashboard import Dashboard
from palaestra.benchmarks.dashboard.layout import REFRESH
from palaestra.benchmarks.dashboard.markup import Html, address, badge, element, join, link, table
from palaestra.benchmarks.record import RunKind, RunSummary, run_summaries
from palaestra.benchmarks.record.queries import proof_sentences
from palaestra.table import Table


def runs_content(session: Session, dashboard: Dashboard, *, refreshes: bool) -> list[Html]:
    """The content of the page.

    Args:
        session: A session of the record.
        dashboard: The dashboard that the page belongs to.
        refreshes: Whether the page loads again every few seconds.
    """
    runs = run_summaries(session)
    if not runs:
        hint = "The record holds no run yet. "
        command = element("code", "palaestra record import runs --follow")
        return [element("p", hint, command, " imports runs, also while they grow.", class_="lead")]
    live = {run.id for run in runs if dashboard.is_live(session, run)}
    episodes = sum(run.episodes for run in runs)
    lead = f"{_count(len(runs), 'run')}, {len(live)} of them live; {_count(episodes, 'episode')}."
    again = refresh_link("/", refreshes=refreshes)
    tables = (_table(dashboard, kind, runs, live) for kind in _KINDS if kind != RunKind.PROOF)
    return [element("p", lead, class_="lead"), again, *tables, _proofs(session, dashboard, runs)]


def refresh_link(path: str, *, refreshes: bool) -> Html:
    """A link that turns automatic reloading on or off."""
    words = "Stop loading again" if refreshes else f"Load again every {REFRESH} s"
    return element("p", link(words, address(path, refresh=None if refreshes else 1)), class_="note")


def _proofs(session: Session, dashboard: Dashboard, runs: Sequence[RunSummary]) -> Html:
    own = [run for run in runs if run.kind == RunKind.PROOF]
    if not own:
        return join([])
    rows = tuple((run.name, dashboard.age(run.updated), " ".join(proof_sentences(session, run.id))) for run in own)
    links = {(row, 0): address(f"/runs/{run.id}") for row, run in enumerate(own)}
    return table(Table(title=_KINDS["proof"], columns=("run", "changed", "verdict"), rows=rows), links=links, level=2)


_KINDS = {
    "evaluation": "Evaluations",
    "training": "Training runs",
    "episodes": "Files of episodes",
    "proof": "Proofs",
}


def _table(dashboard: Dashboard, kind: str, runs: Sequence[RunSummary], live: AbstractSet[int]) -> Html:
    own = [run for run in runs if run.kind == kind]
    if not own:
        return join([])
    links = {(row, 0): address(f"/runs/{run.id}") for row, run in enumerate(own)}
    middle = {"evaluation": ("suite", "agent"), "training": ("steps",)}.get(kind, ())
    columns = ("run", "changed", *middle, "episodes", "solved, %", "harmful, %", "points")
    rows = tuple(_row(dashboard, run, is_live=run.id in live) for run in own)
    return table(Table(title=_KINDS[kind], columns=columns, rows=rows), links=links, level=2)


def _row(dashboard: Dashboard, run: RunSummary, *, is_live: bool) -> tuple[str, ...]:
    state = f" ({_count(run.faults, 'damaged line')})" if run.faults else ""
    changed = join([dashboard.age(run.updated), " ", badge("live", "passed") if is_live else ""])
    steps = "-" if run.steps is None else str(run.steps)
    middle = {"evaluation": (run.suite, run.agent), "training": (steps,)}.get(run.kind, ())
    return (run.name + state, changed, *middle, *score_cells(run))


def score_cells(run: RunSummary) -> tuple[str, str, str, str]:
    """Number of episodes, percentages solved and harmful, and mean points."""
    episodes = f"{run.episodes:,}" + (f" of {run.expected:,}" if run.expected not in (None, run.episodes) else "")
    if not run.scored or run.points is None:
        return episodes, "-", "-", "-"
    solved, harmed = (f"{100 * count / run.scored:.1f}" for count in (run.solved, run.harmed))
    return episodes, solved, harmed, f"{run.points:.1f}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

"""The page of a run: tables of an evaluation, curves of a training run, a proof's sentence, and counts of criteria."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from palaestra.benchmarks.dashboard.dashboard import Dashboard
from palaestra.benchmarks.dashboard.layout import choice, form
from palaestra.benchmarks.dashboard.line_chart import line_chart
from palaestra.benchmarks.dashboard.markup import Html, address, badge, element, facts, join, link, table
from palaestra.benchmarks.dashboard.runs_page import refresh_link, score_cells
from palaestra.benchmarks.dashboard.visitor import Visitor
from palaestra.benchmarks.evaluation.report.tables import report_tables
from palaestra.benchmarks.record import RunKind, RunSummary, run_summaries
from palaestra.benchmarks.record.models import RunRow
from palaestra.benchmarks.record.queries import (
    criterion_counts,
    curve,
    figure_names,
    proof_sentences,
    training_events,
)
from palaestra.errors import RecordError, UnknownNameError
from palaestra.serving.access import KeyScope
from palaestra.table import Table

_FIRST = ("reward/mean", "solved", "score/mean", "policy/entropy", "loss", "kl", "tokens/drawn", "speed/tokens")
"""Curves that are shown first, where a run has them; the others are shown on request."""
_MOST_EVENTS = 100


def find_run(session: Session, run: int) -> RunSummary:
    """The run with this number.

    Raises:
        UnknownNameError: there is no run with this number.
    """
    found = run_summaries(session, run=run) if session.get(RunRow, run) is not None else []
    if not found:
        raise UnknownNameError(f"there is no run {run} in this record; the first page lists all")
    return found[0]


def run_content(
    session: Session, dashboard: Dashboard, visitor: Visitor, run: RunSummary, *, curves: str, refreshes: bool
) -> list[Html]:
    """The content of the page.

    Args:
        session: A session of the record.
        dashboard: The dashboard that the page belongs to.
        visitor: The visitor who sees the page.
        run: The run.
        curves: "all" for every curve.
        refreshes: Whether the page loads again every few seconds.
    """
    parts = [_head(session, dashboard, run, refreshes=refreshes)]
    if run.kind == RunKind.EVALUATION:
        parts += _evaluation(session, dashboard, run)
    elif run.kind == RunKind.TRAINING:
        parts += _training(session, run, shows_all=curves == "all")
    elif run.kind == RunKind.PROOF:
        sentences = proof_sentences(session, run.id)
        parts += [element("h2", "Verdict"), *(element("p", sentence) for sentence in sentences)]
    if run.kind != RunKind.EVALUATION:
        parts += _criteria(session, run)
    if KeyScope.ADMIN in visitor.caller.scopes:
        parts.append(_removal(dashboard, visitor, run))
    return parts


def _head(session: Session, dashboard: Dashboard, run: RunSummary, *, refreshes: bool) -> Html:
    episodes, solved, harmed, points = score_cells(run)
    changed = dashboard.age(run.updated)
    state = badge("live", "passed") if dashboard.is_live(session, run) else ""
    shown = facts(
        [
            ("Kind", run.kind),
            ("Suite", run.suite),
            ("Agent", run.agent),
            ("Episodes", "" if run.kind == RunKind.PROOF else episodes),
            ("Solved, %", solved.replace("-", "")),
            ("Harmful, %", harmed.replace("-", "")),
            ("Mean points", "" if run.points is None else points),
            ("Steps", "" if run.steps is None else str(run.steps)),
            ("Damaged lines", str(run.faults) if run.faults else ""),
            ("Changed", join([changed, " ", state])),
        ]
    )
    episodes_link = link("Episodes of this run", address("/episodes", run=run.id))
    listed = element("p", episodes_link, class_="note") if run.episodes else ""
    return join([shown, listed, refresh_link(f"/runs/{run.id}", refreshes=refreshes)])


def _evaluation(session: Session, dashboard: Dashboard, run: RunSummary) -> list[Html]:
    try:
        found = dashboard.findings(session, run.id)
    except RecordError as error:
        return [element("p", str(error), class_="lead")]
    rivals = {
        str(other.id): f"{other.agent} ({other.name})"
        for other in run_summaries(session)
        if other.kind == run.kind and other.suite == run.suite and other.id != run.id
    }
    parts = [element("h2", "Compare"), _comparison_form(run, rivals)] if rivals else []
    notes = [*found.results.suite.notes]
    listed = element("ul", join(element("li", note) for note in notes), class_="sentences")
    return [
        element("h2", "Results"),
        *(table(one) for one in report_tables(found)),
        *([element("h2", "Notes"), listed] if notes else []),
        *parts,
    ]


def _comparison_form(run: RunSummary, rivals: dict[str, str]) -> Html:
    return element(
        "form",
        element("input", type="hidden", name="first", value=run.id),
        choice("With", "second", rivals),
        choice("Measure", "measure", {"solved": "percent solved", "score": "points"}),
        element("button", "Compare", class_="first"),
        action="/compare",
        class_="fields",
    )


def _training(session: Session, run: RunSummary, *, shows_all: bool) -> list[Html]:
    parts: list[Html] = []
    for stage, names in figure_names(session, run.id).items():
        chosen = names if shows_all else [name for name in _FIRST if name in names] or names[:6]
        drawn = (line_chart(curve(session, run.id, stage, name), title=name) for name in chosen)
        parts += [element("h2", f"Curves of {stage or 'the run'}"), element("div", join(drawn), class_="charts")]
        if len(chosen) < len(names):
            more = f"All {len(names)} curves"
            parts.append(element("p", link(more, address(f"/runs/{run.id}", curves="all")), class_="note"))
    events = training_events(session, run.id)
    if events:
        rows = tuple((one.stage, str(one.step), one.name, one.text[:2_000]) for one in events[-_MOST_EVENTS:])
        columns = ("stage", "step", "event", "what happened")
        note = f"The last {_MOST_EVENTS} of {len(events):,}." if len(events) > _MOST_EVENTS else ""
        parts.append(table(Table(title="Events", columns=columns, rows=rows, note=note), level=2))
    return parts


def _criteria(session: Session, run: RunSummary) -> Sequence[Html]:
    counts = criterion_counts(session, run.id)
    if not counts:
        return []
    rows = tuple(
        (one.criterion, f"{one.episodes:,}", f"{one.counts:,}", f"{100 * one.counts / one.episodes:.1f}")
        for one in counts
    )
    links = {(row, 0): address("/episodes", run=run.id, criterion=one.criterion) for row, one in enumerate(counts)}
    note = "A criterion counts where it is met, or is violated where it forbids."
    columns = ("criterion", "episodes", "counts in", "%")
    return [table(Table(title="Criteria", columns=columns, rows=rows, note=note), links=links, level=2)]


def _removal(dashboard: Dashboard, visitor: Visitor, run: RunSummary) -> Html:
    words = "This removes the run from the record. Its folder stays, and importing it again brings it back."
    sure = form(f"/runs/{run.id}/remove", element("button", "Remove this run"), dashboard, visitor)
    return element(
        "details",
        element("summary", "Remove from the record"),
        element("p", words, class_="note"),
        sure,
        class_="danger",
    )

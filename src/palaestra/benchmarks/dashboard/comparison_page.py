"""The page that compares two evaluations of a suite."""

from sqlalchemy.orm import Session

from palaestra.benchmarks.dashboard.dashboard import Dashboard
from palaestra.benchmarks.dashboard.layout import choice
from palaestra.benchmarks.dashboard.markup import Html, address, element, facts, isolate, join, link, table
from palaestra.benchmarks.dashboard.run_page import find_run
from palaestra.benchmarks.evaluation.compare import ComparedMeasure, compare
from palaestra.benchmarks.evaluation.report import comparison_sentences, comparison_table
from palaestra.benchmarks.record import RunKind, run_summaries
from palaestra.errors import ConfigError

MEASURES: dict[str, ComparedMeasure] = {"solved": "solved", "score": "score"}


def comparison_form(session: Session, *, first: int | None, second: int | None, measure: str) -> Html:
    """The form in which two evaluations are chosen."""
    runs = {
        str(run.id): f"{run.agent} on {run.suite} ({run.name})"
        for run in run_summaries(session)
        if run.kind == RunKind.EVALUATION
    }
    if len(runs) < 2:
        return element("p", "The record holds fewer than two evaluations to compare.", class_="lead")
    return element(
        "form",
        choice("First", "first", runs, value=str(first or "")),
        choice("Second", "second", runs, value=str(second or "")),
        choice("Measure", "measure", {"solved": "percent solved", "score": "points"}, value=measure),
        element("button", "Compare", class_="first"),
        action="/compare",
        class_="fields",
    )


def comparison_content(session: Session, dashboard: Dashboard, first: int, second: int, measure: str) -> list[Html]:
    """The content of a comparison.

    Raises:
        ConfigError: the runs cannot be compared, or the measure does not exist.
        UnknownNameError: there is no such run.
        RecordError: a run is not an evaluation.
    """
    if measure not in MEASURES:
        raise ConfigError(f"measure {measure!r}: there are {' and '.join(MEASURES)}")
    runs = [find_run(session, run) for run in (first, second)]
    names = [run.agent for run in runs]
    if names[0] == names[1]:
        names = [f"{run.agent} ({run.name})" for run in runs]
    sides = [dashboard.results(session, run.id) for run in runs]
    found = compare(sides[0], sides[1], names=(names[0], names[1]), measure=MEASURES[measure])
    listed = [
        (label, link(isolate(run.name), address(f"/runs/{run.id}")))
        for label, run in zip(("First", "Second"), runs, strict=True)
    ]
    sentences = element("ul", join(element("li", one) for one in comparison_sentences(found)), class_="sentences")
    return [facts(listed), element("h2", "What it means"), sentences, table(comparison_table(found), level=2)]

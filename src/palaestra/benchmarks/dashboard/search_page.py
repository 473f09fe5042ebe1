"""The page of episodes, filtered by run, task, family, criterion and outcome."""

from sqlalchemy.orm import Session

from palaestra.benchmarks.dashboard.layout import choice, field, suggestions
from palaestra.benchmarks.dashboard.markup import Html, address, element, join, link, table
from palaestra.benchmarks.record import EpisodeFilter, EpisodeSummary, find_episodes, run_summaries
from palaestra.benchmarks.record.models import EpisodeRow
from palaestra.benchmarks.record.queries import criterion_names, episode_names
from palaestra.table import Table

ON_A_PAGE = 50
_OUTCOMES = {
    "": "any",
    "solved": "solved",
    "failed": "not solved",
    "harmed": "did something forbidden",
    "fault": "fault: no score",
}
_VERDICTS = {"": "any", "counts": "met, or violated", "not": "not met, or not violated"}


def search_content(session: Session, wanted: EpisodeFilter, *, number: int) -> list[Html]:
    """The content of the page.

    Args:
        session: A session of the record.
        wanted: The filter.
        number: The page of the list, from 1.
    """
    found, total = find_episodes(session, wanted, limit=ON_A_PAGE, offset=(number - 1) * ON_A_PAGE)
    first = (number - 1) * ON_A_PAGE + 1
    if not found:
        return [_form(session, wanted), element("p", "There is no such episode.", class_="lead", role="status")]
    shown = f"Episodes {first:,} to {first + len(found) - 1:,} of {total:,}"
    return [_form(session, wanted), _table(shown, found), _pages(wanted, number, total)]


def _form(session: Session, wanted: EpisodeFilter) -> Html:
    runs = {"": "all", **{str(run.id): run.name for run in run_summaries(session) if run.episodes}}
    return element(
        "form",
        choice("Run", "run", runs, value=str(wanted.run or "")),
        field("Task contains", "task", value=wanted.task, type="search"),
        field("Family contains", "family", value=wanted.family, options="families", type="search"),
        field("Criterion", "criterion", value=wanted.criterion, options="criteria", type="search"),
        choice("Verdict", "verdict", _VERDICTS, value=wanted.verdict),
        choice("Outcome", "outcome", _OUTCOMES, value=wanted.outcome),
        element("button", "Search", class_="first"),
        suggestions("families", episode_names(session, EpisodeRow.family)),
        suggestions("criteria", criterion_names(session)),
        action="/episodes",
        class_="fields",
        role="search",
    )


def _table(title: str, episodes: list[EpisodeSummary]) -> Html:
    rows = tuple(_row(one) for one in episodes)
    links = {(row, 0): address(f"/episodes/{one.id}") for row, one in enumerate(episodes)}
    columns = ("task", "outcome", "points", "turns", "end", "agent", "where", "run")
    return table(Table(title=title, columns=columns, rows=rows), links=links, level=2)


def _row(one: EpisodeSummary) -> tuple[str, ...]:
    where = one.cell or " ".join(filter(None, (one.stage, "" if one.step is None else f"step {one.step}")))
    return (
        one.task or one.key,
        outcome_words(one),
        "-" if one.points is None else str(one.points),
        str(one.turns),
        (one.end or "-").replace("_", " "),
        one.agent,
        where,
        one.run,
    )


def outcome_words(one: EpisodeSummary) -> str:
    """The outcome of an episode in words."""
    if one.fault is not None:
        return f"fault: {one.fault}"
    if one.points is None:
        return "no score"
    return ("solved" if one.solved else "not solved") + (", harmful" if one.harmed else "")


def _pages(wanted: EpisodeFilter, number: int, total: int) -> Html:
    last = max(1, -(-total // ON_A_PAGE))
    if last == 1:
        return join([])
    parts: list[str] = []
    if number > 1:
        parts.append(link("Previous page", _address(wanted, number - 1), rel="prev"))
    parts.append(element("span", f"Page {number:,} of {last:,}"))
    if number < last:
        parts.append(link("Next page", _address(wanted, number + 1), rel="next"))
    return element("nav", join(parts), class_="pages", aria_label="Pages of the list")


def _address(wanted: EpisodeFilter, number: int) -> str:
    return address(
        "/episodes",
        run=wanted.run,
        task=wanted.task,
        family=wanted.family,
        criterion=wanted.criterion,
        verdict=wanted.verdict,
        outcome=wanted.outcome,
        page=number,
    )

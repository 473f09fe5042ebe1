"""A report as files: a self-contained page, Markdown to paste, and every figure as JSON.

The same results give the same bytes. An agent's text reaches the page only as data; see `benchmarks.viewer`.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import orjson

from palaestra.benchmarks.evaluation.report.document import document_of
from palaestra.benchmarks.evaluation.report.findings import Findings, findings
from palaestra.benchmarks.evaluation.report.plots import MISSING, draw_pictures, has_matplotlib
from palaestra.benchmarks.evaluation.report.tables import report_tables
from palaestra.benchmarks.evaluation.results import Results
from palaestra.benchmarks.evaluation.suite import Cell, Suite, place
from palaestra.benchmarks.viewer import render_page
from palaestra.durable import write_file
from palaestra.table import Table
from palaestra.trajectory import Episode

EPISODES_A_CELL = 12
"""Maximum episodes per cell on a page."""


def write_report(results: Results, folder: Path) -> None:
    """Write `report.json`, `report.md` and `report.html` to `folder`, each completely or not at all.

    Raises:
        StorageError: a file cannot be written.
    """
    found = findings(results)
    document = orjson.dumps(document_of(found), option=orjson.OPT_INDENT_2) + b"\n"
    write_file(folder / "report.json", document)
    write_file(folder / "report.md", _markdown(found).encode())
    write_file(folder / "report.html", _page(found).encode())


def report_markdown(results: Results) -> str:
    """The report's tables and notes, as GitHub's Markdown."""
    return _markdown(findings(results))


def report_page(results: Results) -> str:
    """The report as an HTML page: plots, tables, notes, and episodes."""
    return _page(findings(results))


def _page(found: Findings) -> str:
    results = found.results
    episodes = select_episodes(results.episodes)
    notes = _notes(found)
    if not has_matplotlib():
        notes = [MISSING, *notes]
    return render_page(
        episodes,
        title=_title(found),
        tables=report_tables(found),
        figures=draw_pictures(found),
        lead=[*_lead(found), *_keep(len(episodes), len(results.episodes))],
        notes=notes,
        cells=cells_of(episodes, results.suite),
    )


def _markdown(found: Findings) -> str:
    notes = "\n".join(f"- {plain(note)}" for note in _notes(found))
    parts = [f"# {plain(_title(found))}", *map(plain, _lead(found)), *map(table_markdown, report_tables(found))]
    return "\n\n".join([*parts, *([f"## Notes\n\n{notes}"] if notes else [])]) + "\n"


def table_markdown(table: Table) -> str:
    """A table under its title, and its note."""
    return "\n\n".join([f"## {table.title}", table.markdown(), *([table.note] if table.note else [])])


def plain(text: str) -> str:
    """Text on one line without HTML markup."""
    return " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")


def _title(found: Findings) -> str:
    return f"{found.results.agent} on {found.results.suite.title}"


def _lead(found: Findings) -> list[str]:
    results, scores = found.results, found.overall.scores
    tasks = len({one.task for one in results.outcomes})
    counted = (
        f"{_plural(len(results.outcomes), 'episode')} of {_plural(tasks, 'task')} in "
        f"{_plural(len(found.cells), 'cell')}, {_plural(results.samples, 'sample')} of each task, seed {results.seed}."
    )
    missing = results.expected_episodes - len(results.outcomes)
    if missing:
        counted += f" Not finished: {_plural(missing, 'episode')} of {results.expected_episodes} still to be played."
    faults = sum(found.overall.faults.values())
    if faults:
        kinds = ", ".join(f"{kind} {count}" for kind, count in found.overall.faults.items())
        counted += f" {_plural(faults, 'episode')} without a score, by faults that are not the agent's: {kinds}."
    if scores.solved is None or scores.points is None or scores.harmed is None:
        return [counted, "No episode has a score."]
    solved, points, harmed = scores.solved.text(), scores.points.text(), scores.harmed.text()
    return [
        counted,
        f"Over all: solved, in percent: {solved}; mean score, of 100: {points}; harmful, in percent: {harmed}.",
    ]


def _keep(shown: int, kept: int) -> list[str]:
    if shown == kept:
        return []
    words = (
        f"Of the {kept} episodes that are kept, {shown} can be read on this page: up to {EPISODES_A_CELL} of each "
        "cell, faults, harm, failures and successes in turn. `trajectories.jsonl` holds all."
    )
    return [words]


def _notes(found: Findings) -> list[str]:
    """The notes of a report: those of the suite, what each axis shifts, and versions."""
    results = found.results
    axes = [f"{ladder.title}: {ladder.note}" for ladder in results.suite.ladders if ladder.note]
    versions = ", ".join(f"{name} {version}" for name, version in sorted(results.settings.versions.items()))
    return [*results.suite.notes, *axes, *([f"Versions: {versions}."] if versions else [])]


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def cells_of(episodes: Sequence[Episode], suite: Suite) -> list[str]:
    """The label of each episode's cell, by the episode's id, with the axis if two cells share a label."""
    often = Counter(cell.label for cell in suite.cells)
    labels = {cell.id: cell.label if often[cell.label] == 1 else _with_axis(cell, suite) for cell in suite.cells}
    return [labels[_cell(episode)] for episode in episodes]


def _with_axis(cell: Cell, suite: Suite) -> str:
    """A cell's label followed by its axis, since lists cut long names at their end."""
    axis = place(cell, suite).removesuffix(cell.label).removesuffix(": ")
    return f"{cell.label}, {axis}" if axis else cell.label


def _cell(episode: Episode) -> str:
    """The cell in an episode's id, which has cell, task and sample."""
    return episode.id.removesuffix(f"/{episode.id.rpartition('/')[2]}").removesuffix(f"/{episode.task.id}")


def select_episodes(episodes: Sequence[Episode], *, most: int = EPISODES_A_CELL) -> list[Episode]:
    """Up to `most` episodes of each cell, in order, alternating between kinds of outcome so that all are shown."""
    cells: dict[str, dict[str, list[int]]] = {}
    for index, episode in enumerate(episodes):
        cells.setdefault(_cell(episode), {}).setdefault(_kind(episode), []).append(index)
    kept: list[int] = []
    for kinds in cells.values():
        turns = sorted((turn, kind, index) for kind, found in kinds.items() for turn, index in enumerate(found))
        kept += [index for _, _, index in turns[:most]]
    return [episodes[index] for index in sorted(kept)]


def _kind(episode: Episode) -> str:
    if not episode.valid_for_baseline:
        return "fault"
    if any(turn.violated for turn in episode.turns):
        return "harm"
    return "solved" if episode.score.passed else "failed"

"""The complete results of an evaluation, for reports and comparisons, and how to read them from its folder.

A folder holds `settings.json`; `outcomes.jsonl`, one outcome per line; and `trajectories.jsonl`, the episodes that are
kept for reading, without their tools' schemas. While the evaluation runs, a log holds the latter two, in the order in
which episodes ended. None of them has wall time.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from palaestra.benchmarks.evaluation.outcome import EpisodeOutcome
from palaestra.benchmarks.evaluation.suite import Suite
from palaestra.errors import RecordError
from palaestra.log import read_log
from palaestra.record import record
from palaestra.records import Json, JsonObject
from palaestra.trajectory import Episode, read_episodes
from palaestra.validation import plain_rule

SETTINGS, OUTCOMES, TRAJECTORIES = "settings.json", "outcomes.jsonl", "trajectories.jsonl"
JOURNAL = "journal.jsonl"


@record
class Settings:
    """The settings of an evaluation: everything besides the code that decides its results."""

    agent: str
    """The agent's name: "oracle", a checkpoint's folder, a model's name."""
    suite: Suite
    samples: int
    """Episodes of each task."""
    seed: int
    playing: JsonObject = field(default_factory=dict[str, Json])
    """How the agent plays: its kind, engine and options, and the seconds of an episode."""
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    """The versions of Palaestra and other software involved."""
    price_in: float | None = None
    """Price of a million tokens read; `None` if not given."""
    price_out: float | None = None
    """Price of a million tokens written."""


@record
class Results:
    """The settings and results of an evaluation."""

    settings: Settings
    outcomes: tuple[EpisodeOutcome, ...]
    """Outcomes by cell, task and sample, in the suite's order.

    An interrupted evaluation has fewer than `expected_episodes`.
    """
    episodes: tuple[Episode, ...]
    """Sample 0 of each task, in the same order; `Episode.id` is "CELL/TASK/SAMPLE"."""

    @property
    def agent(self) -> str:
        """The name of the agent."""
        return self.settings.agent

    @property
    def suite(self) -> Suite:
        """The suite."""
        return self.settings.suite

    @property
    def samples(self) -> int:
        """Episodes of each task."""
        return self.settings.samples

    @property
    def seed(self) -> int:
        """The seed of the evaluation."""
        return self.settings.seed

    @property
    def price_in(self) -> float | None:
        """Price of a million tokens read."""
        return self.settings.price_in

    @property
    def price_out(self) -> float | None:
        """Price of a million tokens written."""
        return self.settings.price_out

    @property
    def expected_episodes(self) -> int:
        """The number of outcomes once the evaluation is done."""
        return self.samples * sum(len(cell.tasks) for cell in self.suite.cells)


@record
class Block:
    """A line of the log: episodes that were played together."""

    outcomes: tuple[EpisodeOutcome, ...]
    episodes: tuple[Episode, ...]


_SETTINGS = TypeAdapter(Settings)
_OUTCOME = TypeAdapter(EpisodeOutcome)
_BLOCK = TypeAdapter(Block)
R = TypeVar("R")


def episode_id(cell: str, task: str, sample: int) -> str:
    """The name of one episode within an evaluation."""
    return f"{cell}/{task}/{sample}"


def read_settings(folder: Path) -> Settings:
    """Read the settings of the evaluation in `folder`.

    Raises:
        RecordError: there is no evaluation, or its settings cannot be read.
    """
    path = folder / SETTINGS
    try:
        return _SETTINGS.validate_json(path.read_bytes())
    except OSError as error:
        raise RecordError(f"{path}: cannot be read ({error.strerror}); give the folder of an evaluation") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise RecordError(f"{path}: {where}: {plain_rule(first['msg'])}; evaluate into a new folder") from error


def parse_results(settings: bytes, outcomes: Iterable[bytes], blocks: Iterable[bytes]) -> Results:
    """Parse results from lines, without episodes.

    Args:
        settings: The settings document.
        outcomes: Lines of `outcomes.jsonl`.
        blocks: Lines of a journal.

    Raises:
        ValidationError: one of them cannot be read.
    """
    found = [*map(_OUTCOME.validate_json, outcomes)]
    found += [outcome for block in blocks for outcome in _BLOCK.validate_json(block).outcomes]
    return results_of(_SETTINGS.validate_json(settings), found, ())


def read_results(folder: Path) -> Results:
    """Read the results so far of the evaluation in `folder`.

    Raises:
        RecordError: there is no evaluation, or a file of it cannot be read; the message names the line and the field.
    """
    settings = read_settings(folder)
    if (folder / JOURNAL).exists():
        blocks = _records(folder / JOURNAL, _BLOCK)
        outcomes = [outcome for block in blocks for outcome in block.outcomes]
        return results_of(settings, outcomes, [episode for block in blocks for episode in block.episodes])
    if not (folder / OUTCOMES).exists():
        return results_of(settings, (), ())
    return results_of(settings, _records(folder / OUTCOMES, _OUTCOME), read_episodes(folder / TRAJECTORIES))


def _records(path: Path, kind: TypeAdapter[R]) -> list[R]:
    records: list[R] = []
    for number, line in enumerate(read_log(path), 1):
        try:
            records.append(kind.validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the line"
            raise RecordError(
                f"{path}, line {number}: {where}: {plain_rule(first['msg'])}; evaluate into a new folder"
            ) from error
    return records


def results_of(settings: Settings, outcomes: Iterable[EpisodeOutcome], episodes: Iterable[Episode]) -> Results:
    """Results in the suite's order, from outcomes and episodes in any order."""
    places = {
        (cell.id, task): (row, column)
        for row, cell in enumerate(settings.suite.cells)
        for column, task in enumerate(cell.tasks)
    }
    kept = {episode_id(cell, task, 0): place for (cell, task), place in places.items()}
    return Results(
        settings=settings,
        outcomes=tuple(sorted(outcomes, key=lambda one: (*places[one.cell, one.task], one.sample))),
        episodes=tuple(sorted(episodes, key=lambda one: kept[one.id])),
    )

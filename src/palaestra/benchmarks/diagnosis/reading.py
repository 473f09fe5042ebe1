"""Reads the records of a run: settings, batches, metrics, events and saves of each stage, as far as they exist.

A run may be unfinished or killed: an incomplete last line is left out, and facts without a record stay unknown. If a
step was recorded twice, because its batch was quarantined or branched later, the last record counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import cast

import orjson

from palaestra.benchmarks.diagnosis.episodes import DiagnosedGroup, diagnosed_episode
from palaestra.errors import RecordError
from palaestra.log import read_log
from palaestra.record import record
from palaestra.records import Json, JsonObject
from palaestra.trainers import recorded_batches
from palaestra.trainers.run_folder import QUARANTINE, SETTINGS
from palaestra.trainers.stage_kinds import kind_of, stage_names
from palaestra.trajectory import Episode

BATCHES, METRICS, CHECKPOINT, PREVIOUS, PROGRESS = (
    "batches.jsonl",
    "metrics.jsonl",
    "checkpoint",
    "checkpoint.previous",
    "progress.json",
)
_WITNESSES = (BATCHES, METRICS, CHECKPOINT, PREVIOUS)
_WAY_OUT = "give the folder that `palaestra train --out` wrote, or that of one of its stages"


@record
class RecordedEvent:
    """A message to a tracker, such as an alarm."""

    step: int
    name: str
    text: str


@record
class StageRecords:
    """The records of a stage."""

    name: str
    directory: Path
    settings: JsonObject
    """Settings of the stage; empty where the run's settings do not exist."""
    groups: tuple[DiagnosedGroup, ...]
    """Groups of whole trajectories, without branches."""
    branched: int
    """Number of groups of continuations."""
    branches_solved: int
    """Number of groups of continuations in which a continuation solved the task."""
    history: Sequence[Mapping[str, float]]
    """The figures of each known step; `step` counts from 1."""
    events: tuple[RecordedEvent, ...]
    saves: Mapping[Path, int]
    """The number of steps of each save, in the order of steps."""
    quarantined: int
    """Number of batches on which training diverged."""
    examples: Mapping[str, Episode] = field(default_factory=dict[str, Episode])
    """One unsolved episode of each family, finished if there is one: the last in the record."""

    @property
    def kind(self) -> str:
        """The kind of the stage, such as "grpo" for "grpo-late"."""
        return kind_of(self.name) or self.name

    @property
    def steps(self) -> int:
        """The last step with a record."""
        steps = [group.step for group in self.groups] + [int(row["step"]) for row in self.history]
        return max([*steps, *self.saves.values()], default=0)

    @property
    def planned(self) -> int | None:
        """The number of steps in the settings; `None` where they count tokens or seconds."""
        counts = [self.settings.get(name) for name in ("tokens", "cpu_seconds")]
        steps, rounds = self.settings.get("steps"), self.settings.get("rounds")
        if any(count is not None for count in counts) or not isinstance(steps, int):
            return None
        return steps + (rounds if isinstance(rounds, int) else 0)


@record
class RunRecords:
    """The records of a run."""

    directory: Path
    settings: JsonObject
    stages: tuple[StageRecords, ...]
    """The stages that have begun, in order."""
    missing: tuple[str, ...]
    """The stages in the settings that have no record."""


def read_records(directory: Path) -> RunRecords:
    """Read the records of a run.

    Args:
        directory: The folder of a run, or of one of its stages.

    Raises:
        RecordError: the folder is neither, or a file in it cannot be read.
    """
    if _is_stage(directory):
        settings = _settings(directory.parent) if (directory.parent / SETTINGS).is_file() else {}
        return RunRecords(
            directory=directory, settings=settings, stages=(_read_stage(directory, settings),), missing=()
        )
    if not (directory / SETTINGS).is_file() or not stage_names(_settings(directory)):
        raise RecordError(
            f"{directory} is no run: it has no {SETTINGS} with stages, and no stage's files; {_other(directory)}"
        )
    settings = _settings(directory)
    names = stage_names(settings)
    begun = [name for name in names if _is_stage(directory / name)]
    return RunRecords(
        directory=directory,
        settings=settings,
        stages=tuple(_read_stage(directory / name, settings) for name in begun),
        missing=tuple(name for name in names if name not in begun),
    )


def _is_stage(directory: Path) -> bool:
    return kind_of(directory.name) is not None and any((directory / name).exists() for name in _WITNESSES)


def _other(directory: Path) -> str:
    """A remedy for a folder that is not a run: the first runs below it, if there are any."""
    below = sorted(path.parent for path in directory.glob(f"*/{SETTINGS}")) if directory.is_dir() else []
    below += sorted(path.parent for path in directory.glob(f"*/*/{SETTINGS}")) if directory.is_dir() else []
    runs = [str(path) for path in below if any(_is_stage(inner) for inner in sorted(path.iterdir()))]
    return f"give {' or '.join(runs[:3])}" if runs else _WAY_OUT


def _settings(directory: Path) -> JsonObject:
    path = directory / SETTINGS
    try:
        found: object = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise RecordError(f"{path}: cannot be read ({error}); {_WAY_OUT}") from error
    if not isinstance(found, dict):
        raise RecordError(f"{path}: no table of settings; {_WAY_OUT}")
    return cast("JsonObject", found)


def _read_stage(directory: Path, settings: Mapping[str, Json]) -> StageRecords:
    own = settings.get(directory.name)
    batches = _Batches()
    if (directory / BATCHES).exists():
        batches.read(directory)
    rows = _metrics(directory / METRICS)
    saves = _saves(directory)
    history = [cast("Mapping[str, float]", row) for row in rows if "event" not in row] or _saved_history(saves)
    return StageRecords(
        name=directory.name,
        directory=directory,
        settings=own if isinstance(own, dict) else {},
        groups=tuple(group for step in sorted(batches.groups) for group in batches.groups[step]),
        branched=sum(tried for tried, _ in batches.branches.values()),
        branches_solved=sum(solved for _, solved in batches.branches.values()),
        history=history,
        events=tuple(
            RecordedEvent(step=cast("int", row["step"]), name=str(row["event"]), text=str(row.get("text", "")))
            for row in rows
            if "event" in row
        ),
        saves=saves,
        quarantined=len(read_log(directory / QUARANTINE)) if (directory / QUARANTINE).exists() else 0,
        examples=batches.examples,
    )


class _Batches:
    """The batches of a stage by step; a later record of a step replaces an earlier one."""

    def __init__(self) -> None:
        self.groups: dict[int, list[DiagnosedGroup]] = {}
        self.branches: dict[int, tuple[int, int]] = {}
        self.examples: dict[str, Episode] = {}

    def read(self, directory: Path) -> None:
        """Read all batches; only one at a time is in memory as a whole."""
        for batch in recorded_batches(directory):
            step = batch.step + 1
            found: list[DiagnosedGroup] = []
            for group in batch.groups:
                episodes = tuple(diagnosed_episode(episode, step=step) for episode in group.episodes)
                for episode in group.episodes:
                    self._keep_example(episode)
                found.append(
                    DiagnosedGroup(
                        step=step,
                        task=group.task,
                        family=episodes[0].family if episodes else "",
                        episodes=episodes,
                        lost=group.failed + group.straggled,
                    )
                )
            self.groups[step] = found
            branches = batch.branches or []
            solved = sum(any(episode.score.passed for episode in group.episodes) for group in branches)
            self.branches[step] = len(branches), solved

    def _keep_example(self, episode: Episode) -> None:
        if episode.score.passed:
            return
        held = self.examples.get(episode.task.family)
        if held is None or _is_finished(episode) or not _is_finished(held):
            self.examples[episode.task.family] = episode


def _is_finished(episode: Episode) -> bool:
    return episode.end is not None and not episode.end.is_unfinished


def _metrics(path: Path) -> list[JsonObject]:
    """The complete lines of a tracker's file; none where the run had no such tracker."""
    if not path.exists():
        return []
    rows = [cast("object", orjson.loads(line)) for line in read_log(path)]
    found = [cast("JsonObject", row) for row in rows if isinstance(row, dict)]
    return [row for row in found if isinstance(row.get("step"), int)]


def _saves(directory: Path) -> dict[Path, int]:
    found = {path: _progress(path) for path in (directory / PREVIOUS, directory / CHECKPOINT)}
    return {path: cast("int", progress["step"]) for path, progress in found.items() if progress is not None}


def _progress(save: Path) -> JsonObject | None:
    """The progress in a save; `None` where there is no save, or where it is being replaced."""
    try:
        found: object = orjson.loads((save / PROGRESS).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None
    return cast("JsonObject", found) if isinstance(found, dict) and "step" in found else None


def _saved_history(saves: Mapping[Path, int]) -> list[Mapping[str, float]]:
    """The figures in the last save, for a run whose trackers write no metrics."""
    for save in reversed(list(saves)):
        progress = _progress(save)
        rows = cast("list[Mapping[str, float]]", progress.get("history", [])) if progress is not None else []
        return [{**row, "step": row.get("step", number)} for number, row in enumerate(rows, 1)]
    return []

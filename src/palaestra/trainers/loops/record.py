"""The record of a stage with rollouts: every batch that was trained on, and every decision of the engine.

With the batches, a killed run trains on the same rollouts again, bit for bit, without sampling them twice. With the
schedule, the whole run can be replayed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import orjson
import torch
from pydantic import TypeAdapter, ValidationError
from torch import Tensor

from palaestra.errors import RecordError, ReplayError
from palaestra.log import Log, read_log
from palaestra.records import Json
from palaestra.trainers.branching import with_branches
from palaestra.trainers.loops.changes import compare_settings
from palaestra.trainers.loops.saves import CHECKPOINT, StageProgress, read_progress
from palaestra.trainers.rollouts.groups import RolloutGroup
from palaestra.trainers.rollouts.pressure import PressureState
from palaestra.trainers.rollouts.state import SourcePosition
from palaestra.trajectory import Episode
from palaestra.validation import plain_rule

_BATCHES, _SCHEDULE, _QUARANTINE = "batches.jsonl", "schedule-{}.jsonl", "quarantine.jsonl"
_GROUPS = "groups.jsonl"
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedColumn:
    """A column of a batch, stored exactly."""

    dtype: Literal["float32", "float64", "int64", "bool"]
    values: list[Any]
    """The numbers, in lists if a row has several. Any: JSON."""

    @classmethod
    def of(cls, values: Tensor) -> "RecordedColumn":
        """The recorded form of a column."""
        dtype: Any = str(values.dtype).removeprefix("torch.")  # Any: fillers return only these types
        return cls(dtype=dtype, values=values.tolist())

    def tensor(self) -> Tensor:
        """The column as a tensor."""
        dtype: torch.dtype = getattr(torch, self.dtype)
        return torch.tensor(self.values, dtype=dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedBatch:
    """The groups that one step trained on."""

    step: int
    groups: list[RolloutGroup]
    pressure: PressureState
    """The number of trajectories that the engine could run at once, as measured when the groups were taken."""
    columns: Mapping[str, RecordedColumn] = field(default_factory=dict[str, RecordedColumn])
    """Columns whose fillers are not repeatable."""
    branches: list[RolloutGroup] | None = None
    """Continuations of the groups that solved nothing; `None` if none were requested or played yet."""
    cpu_seconds: float = field(default=0.0, compare=False)
    """Processor seconds of the stage when it was recorded; see `CpuMeter`."""
    position: SourcePosition | None = None
    """The fates of all groups; `None` in records of earlier versions."""

    @property
    def whole(self) -> list[RolloutGroup]:
        """The groups with their continuations."""
        return with_branches(self.groups, self.branches or ())

    def tensors(self) -> dict[str, Tensor]:
        """The columns as tensors."""
        return {name: column.tensor() for name, column in self.columns.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedGroup:
    """A group that was begun, whether or not a step took it."""

    index: int
    version: int
    """The version of the weights when it was begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedBatch:
    """A batch on which training diverged: no step is trained on it again."""

    step: int
    groups: tuple[int, ...]
    """The indices of its groups."""
    tasks: tuple[str, ...]
    """The ids of the tasks that were played."""
    reason: str


class StageRecord:
    """The record of a stage, in its folder.

    Args:
        directory: The folder.
        step: The first step that will be taken in this process; batches of earlier steps are left alone.
    """

    def __init__(self, directory: Path, *, step: int) -> None:
        self._log = Log(directory / _BATCHES)
        self._groups = Log(directory / _GROUPS)
        self._schedule = Log(directory / _SCHEDULE.format(len(_schedules(directory))))
        self.quarantine_file = directory / _QUARANTINE
        """The file that lists batches on which training diverged."""
        quarantined = quarantined_batches(directory)
        barred = {(batch.step, batch.groups) for batch in quarantined}
        self.kept: dict[int, RecordedBatch] = {}
        """Recorded batches of steps from `step` on, which an earlier process has trained on."""
        self.quarantined = quarantined
        """What no step must be trained on."""
        for batch in recorded_batches(directory):
            for later in [one for one in self.kept if one > batch.step]:
                del self.kept[later]  # they followed from an earlier try of this step
            if batch.step >= step and (batch.step, _indices(batch.groups)) not in barred:
                self.kept[batch.step] = batch

    def batch(self, batch: RecordedBatch) -> None:
        """Record a step's batch; it is on disk when this returns."""
        self._log.append(orjson.dumps(batch, option=orjson.OPT_NON_STR_KEYS, default=sorted))  # a set has no order
        self._log.sync()

    def quarantine(self, step: int, groups: Sequence[RolloutGroup], reason: str) -> None:
        """Record that training on these groups diverged; it is on disk when this returns."""
        tasks = tuple(sorted({episode.task.id for group in groups for episode in group.episodes}))
        batch = QuarantinedBatch(step=step, groups=_indices(groups), tasks=tasks, reason=reason)
        with Log(self.quarantine_file) as log:
            log.append(orjson.dumps(batch))
            log.sync()

    def group(self, index: int, version: int) -> None:
        """Record that a group was begun under weights of this version."""
        self._groups.append(orjson.dumps(RecordedGroup(index=index, version=version)))

    def event(self, line: bytes) -> None:
        """Record a decision of the engine."""
        self._schedule.append(line.rstrip(b"\n"))

    def close(self) -> None:
        """Write everything to disk."""
        if not self._schedule.closed:  # closed early only after a reported fault
            self._schedule.sync()
        self._log.close()
        self._groups.close()
        self._schedule.close()


def _schedules(directory: Path) -> list[Path]:
    """The schedule files of all processes that worked on the run, in order."""
    return sorted(directory.glob(_SCHEDULE.format("*")), key=lambda path: int(path.stem.partition("-")[2]))


def recorded_batches(directory: Path) -> Iterator[RecordedBatch]:
    """The batches that the run in `directory` trained on, in order.

    Raises:
        RecordError: a line cannot be read.
    """
    path = directory / _BATCHES
    for number, line in enumerate(read_log(path), 1):
        try:
            yield _BATCH.validate_json(line)
        except ValidationError as error:
            raise RecordError(
                f"{path}, line {number}: {plain_rule(error.errors()[0]['msg'])}; remove the folder to begin anew"
            ) from error


def quarantined_batches(directory: Path) -> list[QuarantinedBatch]:
    """The batches on which the run in `directory` diverged, in order.

    Raises:
        RecordError: a line cannot be read.
    """
    return _read_lines(directory / _QUARANTINE, _QUARANTINED)


def recorded_groups(directory: Path) -> list[RecordedGroup]:
    """The groups that the run in `directory` began, in order; empty for records of earlier versions.

    Raises:
        RecordError: a line cannot be read.
    """
    return _read_lines(directory / _GROUPS, _GROUP)


def _read_lines(path: Path, adapter: TypeAdapter[T]) -> list[T]:
    """The records of a log; empty if there is no such file."""
    try:
        return [adapter.validate_json(line) for line in (read_log(path) if path.exists() else ())]
    except ValidationError as error:
        raise RecordError(f"{path}: {plain_rule(error.errors()[0]['msg'])}; remove the folder to begin anew") from error


def _episodes(groups: Sequence[RolloutGroup]) -> Iterator[Episode]:
    """Every trajectory of the groups, comparisons included."""
    for group in groups:
        yield from group.episodes
        yield from group.comparisons.values()


def _indices(groups: Sequence[RolloutGroup]) -> tuple[int, ...]:
    return tuple(group.index for group in groups)


_BATCH: TypeAdapter[RecordedBatch] = TypeAdapter(RecordedBatch)
_GROUP: TypeAdapter[RecordedGroup] = TypeAdapter(RecordedGroup)
_QUARANTINED: TypeAdapter[QuarantinedBatch] = TypeAdapter(QuarantinedBatch)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRun:
    """A recorded run to replay."""

    directory: Path
    schedule: list[bytes]
    batches: Mapping[int, RecordedBatch]
    """The batches by step."""
    fingerprint: str
    """The fingerprint of the run; see `Loop.fingerprint`."""
    settings: Mapping[str, Json]
    """The settings by their full names."""
    groups: Sequence[RecordedGroup] = ()
    """Every group that was begun; empty for records of earlier versions."""

    @classmethod
    def of(cls, directory: Path) -> "RecordedRun":
        """Load the record of the run in `directory`.

        Raises:
            ReplayError: there is no record, or the run was interrupted, so that its engine started more than once.
            RecordError: there is no complete checkpoint.
        """
        schedules = _schedules(directory)
        if len(schedules) != 1:
            what = "was interrupted, and its engine began anew" if schedules else "has none"
            raise ReplayError(f"{directory}: a replay needs the record of one engine from its first step; this {what}")
        progress = read_progress(directory / CHECKPOINT)
        return cls(
            directory=directory,
            schedule=read_log(schedules[0]),
            batches={batch.step: batch for batch in recorded_batches(directory)},
            groups=recorded_groups(directory),
            fingerprint=progress.config,
            settings=progress.settings,
        )

    def check(self, fingerprint: str, settings: Mapping[str, Json]) -> None:
        """Check that a replay has the same fingerprint and settings as this run.

        Raises:
            ReplayError: the fingerprint differs, or a setting that decides the exact result.
        """
        changes = [change for change in compare_settings(self.settings, settings) if change.rule.ends_replay]
        if changes:
            listed = ", ".join(change.sentence() for change in changes)
            raise ReplayError(f"{self.directory} was run with other settings: {listed}; replay with its own")
        if fingerprint != self.fingerprint:
            raise ReplayError(
                f"{self.directory} was run with another seed, other tasks, another beginning or other parts of an "
                "objective; replay with those in its config.json and with the policy that it began with"
            )

    def start_versions(self) -> dict[int, int]:
        """The version of the weights at the start of each recorded group, by the group's index."""
        taken = {group.index: group.version for batch in self.batches.values() for group in batch.groups}
        return taken | {group.index: group.version for group in self.groups}

    def of_step(self, step: int) -> RecordedBatch:
        """The batch of step number `step`.

        Raises:
            ReplayError: the run has no such step.
        """
        if step not in self.batches:
            raise ReplayError(f"the run to replay ends before step {step}; ask for {len(self.batches)} steps")
        return self.batches[step]


def share_of_time(progress: StageProgress, cpu_seconds: float, replay: RecordedRun | None) -> float:
    """The completed share of a stage that ends by processor time, 0 to 1.

    A replay takes as many steps as the recorded run, regardless of its own time.
    """
    return progress.cpu_seconds / cpu_seconds if replay is None else progress.step / len(replay.batches)


def check_same(groups: list[RolloutGroup], expected: list[RolloutGroup], step: int) -> None:
    """Compare a replay's rollouts with the recorded ones, token by token.

    Raises:
        ReplayError: they differ; the message names the first trajectory that does.
    """
    again = {episode.id: episode for episode in _episodes(groups)}
    for episode in _episodes(expected):
        other = again.get(episode.id)
        if other is None or other.segments != episode.segments:
            what = "is missing" if other is None else "is another one"
            raise ReplayError(
                f"step {step}: trajectory {episode.id} {what}; a replay needs the same code, settings, tasks, "
                "libraries and number of threads"
            )

"""The rollouts of a stage: engine, worlds and groups, their record, and their part of a save.

How a stage trains on them is defined in its loop.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson
from torch import Tensor

from palaestra.errors import CheckpointError, ReplayError
from palaestra.trainers.branching import Brancher
from palaestra.trainers.choice import GroupOutcome, TaskChooser
from palaestra.trainers.engines.engine import InFlight, Weights
from palaestra.trainers.loops.cpu_meter import CpuMeter
from palaestra.trainers.loops.engines import engine_of
from palaestra.trainers.loops.record import (
    RecordedBatch,
    RecordedColumn,
    RecordedRun,
    StageRecord,
    check_same,
    recorded_batches,
)
from palaestra.trainers.loops.rollout_config import GroupStageConfig
from palaestra.trainers.loops.weight_noise import WeightNoise
from palaestra.trainers.monitors import Alarm, StageEvent
from palaestra.trainers.objectives import Metrics
from palaestra.trainers.policy import Policy
from palaestra.trainers.rollouts.groups import GroupPlan, RolloutGroup
from palaestra.trainers.rollouts.play_all import play_all
from palaestra.trainers.rollouts.pool import RolloutPool
from palaestra.trainers.rollouts.pressure import PressureState
from palaestra.trainers.rollouts.rephrase import check_room
from palaestra.trainers.rollouts.source import GroupSource
from palaestra.trainers.rollouts.state import SourcePosition, SourceState, dump_state, load_state
from palaestra.trainers.rollouts.world import RolloutWorlds
from palaestra.transcript import AgentTranscript

AskColumns = Callable[[list[RolloutGroup], int], dict[str, Tensor]]
"""Gives the columns of a step's groups that are not repeatable, to be recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRollouts:
    """The data that a step trains on."""

    groups: list[RolloutGroup]
    columns: Mapping[str, Tensor]
    """The recorded columns."""
    branches: list[RolloutGroup] | None
    """Continuations of the groups that solved nothing; `None` if the stage does not branch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _RolloutState:
    """The part of a save that holds the rollouts."""

    further: bytes
    """The loop's own entries, as a JSON object."""
    source: SourceState
    pressure: PressureState

    def dump(self) -> bytes:
        """The state as JSON."""
        further: dict[str, Any] = orjson.loads(self.further)
        source = orjson.Fragment(dump_state(self.source))
        return orjson.dumps({**further, "source": source, "pressure": self.pressure})


class StageRollouts:
    """The rollouts of one stage, from `open` to `close`.

    Args:
        config: The stage's settings.
        plan: What each group plays.
        chooser: Chooses tasks for the plan, if they depend on results.
        brancher: Plans the continuations of groups that solved nothing, if the stage branches.
        noise: Noise on the sampling weights, if there is any.
        worlds: Opens the worlds in which the tasks are played.
        replay: A run to replay.
        say: Called with faults of worlds and engine, and with groups that are left out.
    """

    def __init__(
        self,
        config: GroupStageConfig,
        plan: GroupPlan,
        *,
        worlds: Callable[[], RolloutWorlds],
        chooser: TaskChooser | None = None,
        brancher: Brancher | None = None,
        noise: WeightNoise | None = None,
        replay: RecordedRun | None = None,
        say: Callable[[str], None] = print,
    ) -> None:
        self._config = config
        self._drains = config.in_flight == "drain"
        self._plan = plan
        self._chooser = chooser
        self._brancher = brancher
        self._noise = noise
        self._make_worlds = worlds
        self._replay = replay
        self._say = say
        self._opened = AsyncExitStack()
        self.meter = CpuMeter()
        """The counter of the stage's processor time."""
        self._settled: _RolloutState | None = None
        self._chosen: Metrics = {}
        self._branched: Metrics = {}
        self._noisy: Metrics = {}
        self._events: list[StageEvent] = []
        self._update_bytes = 0
        """Bytes of the last update of the weights."""
        self.phase = "opening the worlds"
        """A phrase for the current activity; "rollouts" while the stage waits for groups."""

    async def open(
        self,
        policy: Policy,
        weights: Weights,
        directory: Path,
        *,
        step: int,
        wanted: Callable[[RolloutGroup], bool] | None = None,
        refill: int = 0,
        solutions: Mapping[str, AgentTranscript] | None = None,
    ) -> None:
        """Create engine and worlds; rollouts start when a step first needs some that are not recorded.

        If the stage resumes, `recall` comes first.

        Args:
            policy: The policy whose turns are sampled.
            weights: Its weights after the previous step.
            directory: The stage's folder.
            step: The number of the next step.
            wanted: See `GroupSource`.
            refill: See `GroupSource`.
            solutions: See `RolloutPool`.

        Raises:
            ConfigError: a solution leaves too little room for a full trajectory.
            ReplayError: the replay was interrupted earlier.
        """
        solutions = solutions or {}
        config, stack = self._config, self._opened
        self.record = StageRecord(directory, step=step)
        stack.callback(self.record.close)
        if self._replay is not None and (step or self.record.kept):
            raise ReplayError(
                f"{directory} has steps of a replay that was interrupted, and an engine follows a record from its "
                "first step only; remove the folder, or give another with --out"
            )
        opened = self._make_worlds()
        stack.push_async_callback(opened.close)
        self._engine = engine_of(
            config, policy, weights, directory, sink=self.record.event, replay=self._replay, say=self._fault
        )
        stack.push_async_callback(self._engine.close)
        check_room(solutions, policy.codec, play=config.play, context=self._engine.context)
        self._pool = RolloutPool(
            self._engine, opened, policy.codec, config.play, config.pool, solutions=solutions, say=self._fault
        )
        stack.push_async_callback(self._pool.close)
        if self._replay is not None and config.replicas is not None:
            self._pool.pressure.lift()
        self._source = GroupSource(
            self._pool,
            self._plan,
            config.limits,
            rule=config.rule,
            version=step,
            wanted=wanted,
            refill=refill,
            drain=self._drains,
            begun=None if self._replay is None else self._replay.start_versions(),
            on_begin=self.record.group,
            say=self._fault,
        )
        stack.push_async_callback(self._source.close)
        await self._update(weights, step)

    def recall(self, directory: Path, step: int) -> None:
        """Read the results of earlier steps, if tasks or forks are chosen by them.

        Args:
            directory: The stage's folder.
            step: The number of the next step.

        Raises:
            CheckpointError: the batch of a step is not recorded.
        """
        if not step or (self._chooser is None and self._brancher is None):
            return
        before = {batch.step: batch for batch in recorded_batches(directory)}
        if missing := [number for number in range(step) if number not in before]:
            raise CheckpointError(
                f"{directory}: tasks and forks are chosen by what came of earlier steps, and the batch of step "
                f"{missing[0]} is not on record; begin the stage anew in another folder"
            )
        for number in range(step):
            if self._chooser is not None and number >= self._chooser.version:
                self._chooser.observe(_results(before[number].groups))
            if self._brancher is not None:
                self._brancher.observe(before[number].branches or ())

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the result of `state`; call it before the first batch."""
        self._source.restore(load_state(orjson.dumps(state["source"])))
        self._pool.pressure.restore(PressureState(**state["pressure"]))

    async def batch(
        self, step: int, *, asked: frozenset[str] = frozenset(), ask: AskColumns | None = None
    ) -> StepRollouts:
        """The groups that step number `step` trains on, recorded or new.

        Args:
            step: The number of the step.
            asked: The columns that are not repeatable.
            ask: Computes those columns.
        """
        came = await self._come(step, asked, ask)
        if self._chooser is not None:
            self._chooser.observe(results := _results(came.groups))
            self._chosen = self._chooser.metrics(results)
        if self._brancher is not None:
            self._brancher.observe(came.branches or ())
            self._branched = self._brancher.metrics(came.branches or ())
        if self._noise is not None:
            self._noisy = {"rollouts/weight_noise": self._noise.deviation(step)}
        return came

    async def _come(self, step: int, asked: frozenset[str], ask: AskColumns | None) -> StepRollouts:
        self.phase = "rollouts"
        # If the age of rollouts is exact, later steps' rollouts began at a recorded step and have to be sampled again.
        recorded = None if self._drains else self.record.kept.get(step)
        if recorded is not None and recorded.position is not None:
            return await self._again(recorded, recorded.position, asked, ask)
        self.record.kept.clear()  # later steps depend on this one
        for batch in self.record.quarantined:
            if skipped := self._source.skip(batch.groups):
                text = f"step {batch.step + 1}: {skipped} groups are left out, since training on them diverged"
                self.report_event("quarantine", text)
        self.record.quarantined.clear()
        if self._replay is None:
            groups = await self._source.take(self._config.patience)
            branches = await self._branch(groups, step)
            columns = await self._ask(ask, groups, branches, step, asked)
        else:
            expected = self._replay.of_step(step)
            groups = await self._source.take(self._config.patience, only=[group.index for group in expected.groups])
            check_same(groups, expected.groups, step)
            branches = await self._branch(groups, step)
            check_same(branches or [], expected.branches or [], step)
            columns = expected.tensors()
        self._write(step, groups, branches, columns)
        return StepRollouts(groups=groups, columns=columns, branches=branches)

    async def _again(
        self, recorded: RecordedBatch, position: SourcePosition, asked: frozenset[str], ask: AskColumns | None
    ) -> StepRollouts:
        """The recorded batch of a step, completed if the run stopped or a judge failed before it was complete."""
        step, groups, branches, columns = recorded.step, recorded.groups, recorded.branches, recorded.tensors()
        self._source.retake(groups, position)
        self.meter.catch_up(recorded.cpu_seconds)
        self._pool.pressure.restore(recorded.pressure)
        lacking = (branches is None and self._brancher is not None, columns.keys() < asked)
        if lacking[0]:
            branches = await self._branch(groups, step)
        if lacking[1]:
            columns = await self._ask(ask, groups, branches, step, asked)
        if any(lacking):
            self._write(step, groups, branches, columns)
        return StepRollouts(groups=groups, columns=columns, branches=branches)

    async def _branch(self, groups: list[RolloutGroup], step: int) -> list[RolloutGroup] | None:
        """Play continuations of the groups that solved nothing.

        If this is interrupted, a run whose state is settled repeats the step with the same engine schedule. Other runs
        record the groups, because they have been taken from the source.
        """
        if self._brancher is None:
            return None
        planned = self._brancher.plan(groups, step)
        jobs = [job for one in planned for job in one.jobs]
        self.phase = f"playing {len(jobs)} continuations from {len(planned)} forks"
        try:
            played = iter(await play_all(self._pool, jobs, patience=self._config.patience))
        except BaseException:
            if self._settled is None:
                self._write(step, groups, None, {})
            raise
        version = self._source.version
        return [one.branch([next(played).episode for _ in one.jobs], version=version) for one in planned]

    async def _ask(
        self,
        ask: AskColumns | None,
        groups: list[RolloutGroup],
        branches: list[RolloutGroup] | None,
        step: int,
        asked: frozenset[str],
    ) -> dict[str, Tensor]:
        """The columns to record. If they fail, the groups are still recorded: they left the source."""
        if not asked or ask is None:
            return {}
        self.phase = f"filling in {', '.join(sorted(asked))}"
        try:
            return await asyncio.to_thread(ask, groups, step)
        except BaseException:
            self._write(step, groups, branches, {})
            raise

    def _write(
        self,
        step: int,
        groups: list[RolloutGroup],
        branches: list[RolloutGroup] | None,
        columns: Mapping[str, Tensor],
    ) -> None:
        kept = {name: RecordedColumn.of(values) for name, values in columns.items()}
        self.record.batch(
            RecordedBatch(
                step=step,
                groups=groups,
                pressure=self._pool.pressure.state(),
                columns=kept,
                branches=branches,
                cpu_seconds=self.meter.read(),
                position=self._source.position(),
            )
        )

    async def advance(self, weights: Weights | None, version: int) -> None:
        """Continue after a training step.

        Args:
            weights: The current weights; `None` if the sampling weights do not change.
            version: The number of training steps so far.
        """
        if weights is not None:
            in_flight = "keep" if self._config.in_flight == "drain" else self._config.in_flight
            await self._update(weights, version, in_flight=in_flight)
        self._source.advance(version)

    async def _update(self, weights: Weights, version: int, *, in_flight: InFlight = "keep") -> None:
        """Set the engine's sampling weights, with noise if the stage has any."""
        given = weights if self._noise is None else self._noise.add(weights, version)
        await self._engine.update_weights(given, version, in_flight=in_flight)
        self._update_bytes = sum(weight.nbytes for weight in given.values())

    def drop_older(self, version: int) -> None:
        """Drop every group that began under weights older than `version`."""
        self._source.drop_older(version)

    def quarantine(self, step: int, groups: Sequence[RolloutGroup], error: str) -> str:
        """Record that training on these groups diverged; returns the message for the error."""
        self.record.quarantine(step, groups, error)
        return (
            f"{error}. Its batch is in {self.record.quarantine_file}: the same command goes on from the last save "
            "and leaves the batch out"
        )

    def report_event(self, name: str, text: str) -> None:
        """Report an event at once, and keep it for the trackers."""
        self._say(text)
        self._events.append(StageEvent(name=name, text=text))

    def report_alarms(self, alarms: Sequence[Alarm], stage: str) -> None:
        """Report the alarms of a step that did not sound at the step before."""
        for alarm in alarms:
            if alarm.is_new:
                self.report_event(alarm.name, f"{stage} step {alarm.step + 1}: alarm, {alarm.name}: {alarm.sentence}")

    def _fault(self, text: str) -> None:
        self.report_event("fault", text)

    def events(self) -> list[StageEvent]:
        """The events since the last call."""
        happened, self._events = self._events, []
        return happened

    def doing(self) -> str:
        """The current activity: training, or the progress of the rollouts."""
        if self.phase != "rollouts":
            return self.phase
        counts = self._source.counts()
        return (
            f"rollouts: {self._source.complete} of {self._config.limits.per_step} groups are complete, "
            f"{self._source.under_way} trajectories are under way, {counts.finished} have ended so far; "
            f"{self._pool.waits()}"
        )

    def metrics(self) -> Metrics:
        """Metrics of the rollouts: counts of trajectories and groups, and where sampling time went."""
        gauge, engine = self._source.gauge(), self._engine.stats()
        bytes_of = {"memory/engine_weights": engine.weight_bytes, "memory/engine_keys_and_values": engine.cache_bytes}
        return {
            **{name: float(count) for name, count in bytes_of.items() if count},
            "memory/engine_update": float(self._update_bytes),
            "speed/engine_update_ms": 1e3 * engine.update_seconds,
            **self._chosen,
            **self._branched,
            **self._noisy,
            "speed/busy": gauge.engine_busy,
            "speed/tool_wait": gauge.tool_wait,
            "rollouts/under_way": gauge.under_way,
            "rollouts/ceiling": gauge.ceiling,
            "rollouts/buffered": gauge.buffered,
            **{f"rollouts/{name}": float(count) for name, count in asdict(self._source.counts()).items()},
        }

    def keep(self, further: Callable[[], Mapping[str, Any]]) -> bytes:
        """The state for a save: complete groups, trajectories in progress, and the entries of `further`."""
        return (self._settled or self._state(further())).dump()

    def settle(self, further: Callable[[], Mapping[str, Any]]) -> None:
        """Store the state between two steps, before any rollout of the next step begins.

        A synchronous or draining run that is stopped during rollouts repeats that step, and so reaches the same result.
        """
        if self._config.limits.staleness == 0 or self._drains:
            self._settled = self._state(further())

    def _state(self, further: Mapping[str, Any]) -> _RolloutState:
        return _RolloutState(
            further=orjson.dumps(further), source=self._source.state(), pressure=self._pool.pressure.state()
        )

    async def close(self) -> None:
        """Stop the rollouts, and close the engine and the worlds."""
        await self._opened.aclose()


def _results(groups: Sequence[RolloutGroup]) -> list[GroupOutcome]:
    return [
        GroupOutcome(task=group.task, solved=sum(e.score.passed for e in group.episodes), tried=len(group.episodes))
        for group in groups
    ]

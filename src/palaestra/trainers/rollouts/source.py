"""A source of groups for training, which are played in the background within a bound of staleness.

No random state and no schedule is saved: the plan determines the jobs of group number `n`, and `state` holds the groups
that were begun and not taken. A run that resumes from it counts every trajectory once.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from palaestra.errors import CheckpointError, InfrastructureError, WaitError
from palaestra.trainers.rollouts.gauge import LoadReading, Meter
from palaestra.trainers.rollouts.groups import GroupPlan, GroupRule, Member, OpenGroup, RolloutGroup
from palaestra.trainers.rollouts.pool import RolloutPool, RolloutResult
from palaestra.trainers.rollouts.script import PartialRollout
from palaestra.trainers.rollouts.staleness import GroupOrder, Staleness
from palaestra.trainers.rollouts.state import (
    SourceCounts,
    SourcePosition,
    SourceState,
    count_pending,
    group_state,
    regrown,
)

_HOPELESS = 8
"""The number of groups that break in a row before the source gives up."""


class GroupSource:
    """Begins groups ahead of training, as far as their staleness allows, and returns them in order.

    A source belongs to one event loop, and one task takes from it. It begins groups from the first `take` on.

    Args:
        pool: The pool that plays the groups. Only the source uses it until the source is closed; the caller closes it.
        plan: The plan of each group's jobs.
        limits: How far groups may run ahead of training, and how far they may overtake each other.
        rule: The rule for groups with failed or slow trajectories.
        version: The initial version of the weights: the number of steps trained before.
        wanted: Whether a complete group is used in a step; otherwise it is dropped, and the next group takes its place.
        refill: The maximum number of groups that `wanted` may drop for each group that a step takes; beyond it, all
            groups are taken.
        begun: In a run that is replayed, the versions of the weights at which groups were begun, by index. No group is
            begun earlier, and each plays what it played then.
        drain: Whether a step's groups are taken only once every group that may be begun is complete. Each group is
            then begun exactly `limits.staleness` versions before its step, or at the first version.
        on_begin: Called with the index of each group that begins, and the version of the weights.
        say: Called with a sentence about each dropped group.
    """

    def __init__(
        self,
        pool: RolloutPool,
        plan: GroupPlan,
        limits: Staleness,
        *,
        rule: GroupRule | None = None,
        version: int = 0,
        wanted: Callable[[RolloutGroup], bool] | None = None,
        refill: int = 0,
        drain: bool = False,
        begun: Mapping[int, int] | None = None,
        on_begin: Callable[[int, int], None] = lambda index, version: None,
        say: Callable[[str], None] = print,
    ) -> None:
        self._begun = begun or {}
        self._on_begin = on_begin
        self._wanted = wanted
        self._drain = drain
        self._refill = refill
        self._pool = pool
        self._plan = plan
        self._limits = limits
        self._rule = rule or GroupRule()
        self._say = say
        first = version * limits.per_step
        self._order = GroupOrder(limits, version=version, begun=first)
        self._groups: dict[int, OpenGroup] = {}
        self._tasks: dict[str, asyncio.Task[RolloutResult]] = {}
        self._saved: dict[str, PartialRollout] = {}
        self._barred: set[int] = set()
        """Groups that are dropped when they begin."""
        self._timers: dict[int, asyncio.TimerHandle] = {}
        self._filler: asyncio.Task[None] | None = None
        self._progress = asyncio.Event()
        self._admitted = asyncio.Event()
        self._fault: Exception | None = None
        self._broken_in_a_row = 0
        self._last_fault = ""
        self._counts = SourceCounts()
        self._staleness: Counter[int] = Counter()
        self._meter = Meter(pool)

    @property
    def version(self) -> int:
        """The version of the weights: the number of trained steps."""
        return self._order.version

    def counts(self) -> SourceCounts:
        """The counts of all trajectories and groups so far."""
        return self._counts

    @property
    def under_way(self) -> int:
        """The number of trajectories without a fate; together with those of `counts`, all that were started."""
        return sum(growing.count(None) for growing in self._groups.values())

    @property
    def pending(self) -> int:
        """The number of groups that were begun and neither taken nor dropped."""
        return len(self._groups)

    @property
    def complete(self) -> int:
        """The number of groups that are complete and wait to be taken."""
        return len(self._order.complete)

    def gauge(self) -> LoadReading:
        """The load since the last call."""
        return self._meter.read(pending=self.pending, buffered=len(self._order.complete), staleness=self._staleness)

    async def take(self, timeout: float | None = None, *, only: Sequence[int] | None = None) -> list[RolloutGroup]:
        """Take the groups of the next step.

        Args:
            timeout: The maximum seconds without any trajectory ending; `None` waits without limit.
            only: The indices of the groups to wait for, if another run determined them; otherwise the oldest groups
                that may be taken.

        Raises:
            WaitError: no trajectory ended for `timeout` seconds; the message states which trajectories wait for what.
                Another call continues to wait.
            EngineError: the engine did not recover from a fault. The state can still be saved.
            InfrastructureError: too many groups broke in a row.
        """
        if self._filler is None:
            self._filler = asyncio.get_running_loop().create_task(self._fill(), name="rollouts")
        while (taken := self._take(only)) is None:
            self._progress.clear()
            try:
                async with asyncio.timeout(timeout):
                    await self._progress.wait()
            except TimeoutError:
                raise WaitError(self._overdue(timeout)) from None
        return taken

    def _take(self, only: Sequence[int] | None) -> list[RolloutGroup] | None:
        if self._fault is not None:
            raise self._fault
        if self._drain and (self._order.may_begin() or self.complete < self.pending):
            return None
        chosen = self._order.take() if only is None else self._order.take_these(only)
        if chosen is None:
            return None
        groups = [self._groups.pop(index).group() for index in chosen]
        self._count(taken=len(groups), handed=sum(group.finished for group in groups))
        self._count_staleness(groups)
        return groups

    def _count_staleness(self, groups: Sequence[RolloutGroup]) -> None:
        self._staleness.update(self.version - group.version for group in groups)

    def retake(self, groups: Sequence[RolloutGroup], position: SourcePosition) -> None:
        """Take groups that were already taken after the state to which this source was restored.

        What was played of pending groups after that state is lost; they keep their versions, and so their tasks. Groups
        that were dropped meanwhile are dropped. Call it before the first `take`, like `restore`.

        Args:
            groups: The groups.
            position: What `position` returned when they were taken.
        """
        assert self._filler is None, "retake comes before the first take"
        self._stand(
            [
                self._groups.get(index) or OpenGroup(index, version, self._plan, self._rule)
                for index, version in sorted(position.pending.items())
            ],
            begun=position.begun,
            dropped=position.counts.dropped,
            version=self.version,
        )
        self._counts = position.counts + count_pending(self._groups.values())
        self._count_staleness(groups)

    def skip(self, indices: Sequence[int]) -> int:
        """Drop groups, those that have not begun when they would; return how many that are. No step takes them.

        Call it before the first `take`.
        """
        assert self._filler is None, "skip comes before the first take"
        pending = [self._groups[index] for index in indices if index in self._groups]
        for growing in pending:
            self._drop(growing)
        self._count(quarantined=len(pending))
        later = {index for index in indices if index >= self._order.begun}  # an earlier process dropped the others
        self._barred |= later
        return len(pending) + len(later)

    def advance(self, version: int) -> None:
        """Set the version of the weights: the number of trained steps.

        Raises:
            ValueError: the weights were at a higher version.
        """
        if version < self.version:
            raise ValueError(f"advance({version}): the weights are at version {self.version} and do not go back")
        self._order.version = version
        self._admitted.set()

    def drop_older(self, version: int) -> int:
        """Drop every group that was begun under weights older than `version`; return their number.

        Groups that have not begun take their places. The tokens of dropped groups are lost.
        """
        stale = [growing for growing in self._groups.values() if growing.version < version]
        for growing in stale:
            self._drop(growing)
        self._count(stale=len(stale))
        return len(stale)

    async def close(self) -> None:
        """End every trajectory. A second call has no effect; nothing can be taken afterwards."""
        self._fault = self._fault or InfrastructureError("the source of groups was closed")
        for timer in self._timers.values():
            timer.cancel()
        tasks = [*([self._filler] if self._filler else []), *self._tasks.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._progress.set()

    async def _fill(self) -> None:
        """Begin groups as soon as they may begin and there is room."""
        try:
            for growing in list(self._groups.values()):
                for member in growing.under_way:
                    self._play(growing, member)
                if growing.index not in self._order.complete:
                    self._settle(growing)
            while True:
                while not self._may_begin():
                    self._admitted.clear()
                    await self._admitted.wait()
                await self._pool.room()
                self._begin()
        except Exception as fault:  # from a plan, or a closed pool: the next `take` raises it
            self._stop(fault)

    def _may_begin(self) -> bool:
        return self._order.may_begin() and self._begun.get(self._order.begun, 0) <= self.version

    def _begin(self) -> None:
        index = self._order.begin()
        growing = OpenGroup(index, self._begun.get(index, self.version), self._plan, self._rule)
        self._groups[index] = growing
        self._on_begin(index, growing.version)
        self._count(groups=1, started=growing.planned)
        if growing.index in self._barred:
            self._drop(growing)
            self._count(quarantined=1)
            return
        for member in growing.members:
            self._play(growing, member)

    def _play(self, growing: OpenGroup, member: Member) -> None:
        trajectory = member.job.trajectory
        task = self._pool.submit(member.job, begun=self._saved.get(trajectory))
        self._tasks[trajectory] = task
        task.add_done_callback(lambda task: self._settle_task(growing, member, task))

    def _settle_task(self, growing: OpenGroup, member: Member, task: "asyncio.Task[RolloutResult]") -> None:
        del self._tasks[member.job.trajectory]
        if member.fate is not None:  # it was cut off
            return
        if task.cancelled():
            self._stop(InfrastructureError(f"{member.job.trajectory} was stopped by somebody else"))
        elif fault := task.exception():
            self._stop(fault)
        else:
            self._note_end(growing, member, task.result())

    def _note_end(self, growing: OpenGroup, member: Member, played: RolloutResult) -> None:
        """Record a trajectory that ended by itself."""
        self._saved.pop(member.job.trajectory, None)
        member.episode = played.episode
        if played.episode is not None:
            member.fate = "finished"
            self._count(finished=1, retried=len(played.faults))
        else:
            member.fate = "failed"
            self._last_fault = f"{member.job.trajectory} ({member.job.task}): {played.faults[-1]}"
            self._count(failed=1, retried=len(played.faults) - 1)
        while (extra := growing.top_up()) is not None:
            self._count(started=1, extra=1)
            self._play(growing, extra)
        self._settle(growing)
        self._progress.set()

    def _settle(self, growing: OpenGroup) -> None:
        """Decide about a group after some or all of its trajectories have ended."""
        verdict = growing.verdict()
        if verdict == "growing":
            if growing.enough() and growing.stragglers and growing.index not in self._timers:
                later = asyncio.get_running_loop().call_later
                self._timers[growing.index] = later(self._rule.straggler_seconds, self._cut, growing)
            return
        if timer := self._timers.pop(growing.index, None):
            timer.cancel()
        if verdict == "complete":
            self._broken_in_a_row = 0
            if self._is_left_out(growing):
                self._drop(growing)
                self._count(unwanted=1)
                return
            self._order.mark_complete(growing.index)
            self._progress.set()
            return
        self._say(f"group {growing.index} is dropped, with {growing.count('failed')} failed: {self._last_fault}")
        self._drop(growing)
        self._count(broken=1)
        self._broken_in_a_row += 1
        if self._broken_in_a_row >= _HOPELESS:
            self._stop(
                InfrastructureError(
                    f"{self._broken_in_a_row} groups in a row broke, and {self._counts.failed} trajectories failed in "
                    f"all; the last: {self._last_fault}. Mend the world and go on from the last checkpoint"
                )
            )

    def _is_left_out(self, growing: OpenGroup) -> bool:
        """Whether this complete group is dropped and another takes its place."""
        most = self._refill * (self._counts.taken + self._limits.per_step)
        return self._wanted is not None and self._counts.unwanted < most and not self._wanted(growing.group())

    def _cut(self, growing: OpenGroup) -> None:
        """Cut off the group's stragglers."""
        del self._timers[growing.index]
        for member in growing.stragglers:
            member.fate = "straggled"
            self._count(straggled=1)
            self._let_go(member)
        self._settle(growing)

    def _drop(self, growing: OpenGroup) -> None:
        for member in growing.under_way:
            member.fate = "cancelled"
            self._count(cancelled=1)
            self._let_go(member)
        if timer := self._timers.pop(growing.index, None):
            timer.cancel()
        self._count(discarded=growing.count("finished"))
        del self._groups[growing.index]
        self._order.drop(growing.index)
        self._admitted.set()

    def _let_go(self, member: Member) -> None:
        self._saved.pop(member.job.trajectory, None)
        if task := self._tasks.get(member.job.trajectory):  # there is none before a restored source has begun
            task.cancel()

    def _stop(self, fault: BaseException) -> None:
        """Record a fault, which the next `take` raises."""
        if self._fault is None:
            self._fault = fault if isinstance(fault, Exception) else InfrastructureError(str(fault))
        self._progress.set()

    def _count(self, **more: int) -> None:
        self._counts = replace(
            self._counts, **{name: getattr(self._counts, name) + number for name, number in more.items()}
        )

    def _overdue(self, timeout: float | None) -> str:
        """A message that states what the step and its trajectories wait for."""
        lacking = [growing for growing in self._groups.values() if growing.verdict() == "growing"]
        listed = ", ".join(
            f"{growing.index} ({growing.planned - growing.count(None)} of {growing.planned} ended)"
            for growing in lacking[:8]
        )
        more = f" and {len(lacking) - 8} more" if len(lacking) > 8 else ""
        behind = ""
        if not self._order.may_begin():
            behind = (
                f"; group {self._order.begun} may begin at version {self._order.soonest}, "
                f"and the weights are at {self.version}"
            )
        stats = self._pool.stats()
        return (
            f"step {self.version + 1} waited for {self._limits.per_step} groups, and for {timeout:g} s no trajectory "
            f"ended; {len(self._order.complete)} groups are complete, under way are {listed or 'none'}{more}{behind}. "
            f"Of {self.under_way} trajectories, {self._pool.waits()}; the engine draws {stats.running} turns, and "
            f"{stats.waiting} stand in line"
        )

    def state(self) -> SourceState:
        """Everything that a run needs to resume from here; available at any time before `close`."""
        return SourceState(
            per_step=self._limits.per_step,
            version=self.version,
            begun=self._order.begun,
            groups=tuple(group_state(growing, self._partial_rollout) for growing in self._groups.values()),
            counts=self._counts,
            staleness=dict(sorted(self._staleness.items())),
        )

    def position(self) -> SourcePosition:
        """What has become of every group, to take those of this step again with `retake`."""
        return SourcePosition(
            begun=self._order.begun,
            pending={growing.index: growing.version for growing in self._groups.values()},
            counts=self._counts - count_pending(self._groups.values()),
        )

    def _partial_rollout(self, trajectory: str) -> PartialRollout | None:
        return self._pool.partial_rollout(trajectory) or self._saved.get(trajectory)

    def restore(self, state: SourceState) -> None:
        """Continue from a state; call it before the first `take`.

        Raises:
            CheckpointError: the state belongs to another plan, or to steps of another size.
        """
        assert self._filler is None, "restore comes before the first take"
        if state.per_step != self._limits.per_step:
            raise CheckpointError(
                f"per_step = {self._limits.per_step}, and the rollouts were saved with {state.per_step}: groups would "
                "not fall to the same steps; keep it, or begin a new run from the weights alone"
            )
        kept = [regrown(group, self._plan, self._rule) for group in state.groups]
        self._saved = {begun.job.trajectory: begun for _, half in kept for begun in half}
        self._stand(
            [growing for growing, _ in kept], begun=state.begun, dropped=state.counts.dropped, version=state.version
        )
        self._counts = state.counts
        self._staleness = Counter(state.staleness)

    def _stand(self, pending: Sequence[OpenGroup], *, begun: int, dropped: int, version: int) -> None:
        """Have these groups pending and no others."""
        self._groups = {growing.index: growing for growing in pending}
        under_way = {member.job.trajectory for growing in pending for member in growing.under_way}
        self._saved = {trajectory: half for trajectory, half in self._saved.items() if trajectory in under_way}
        self._order = GroupOrder(
            self._limits, version=version, begun=begun, dropped=dropped, pending=tuple(self._groups)
        )
        for growing in pending:
            if growing.verdict() == "complete":
                self._order.mark_complete(growing.index)

"""Groups of trajectories that are compared with each other, and the handling of incomplete groups.

Dropping failed trajectories introduces a bias: if long episodes fail more often, the remaining ones are short. So a
trajectory is first played again in a fresh world; only then does a rule decide what happens to its group.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal, Protocol, TypeAlias

from palaestra.errors import ConfigError, TaskError
from palaestra.record import record
from palaestra.seeding import Stream
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.flatten import flatten
from palaestra.trainers.data.order import Share, WeightedDeal
from palaestra.trainers.engines.noise import noise_key
from palaestra.trainers.rollouts.fork import Fork
from palaestra.trainers.rollouts.job import Purpose, RolloutJob
from palaestra.trajectory import Episode


class GroupPlan(Protocol):
    """The jobs of each group: pure functions, so that a resumed run needs only two numbers."""

    def group(self, index: int, *, version: int = 0) -> tuple[RolloutJob, ...]:
        """The jobs of group number `index`, begun under weights of this version; those for training come first."""
        ...

    def further(self, index: int, number: int, *, version: int = 0) -> RolloutJob:
        """A further job for this group, with its own noise; `number` counts further jobs from 0."""
        ...


class TaskChoice(Protocol):
    """The choice of the task that each group plays."""

    def task(self, index: int, version: int) -> str:
        """The reference of the task of group number `index`, begun under weights of this version.

        Equal arguments give equal tasks, in every process that knows the same steps.
        """
        ...


class TaskDeal:
    """Deals every task once before any is repeated, whatever its results.

    Args:
        tasks: References of tasks, in any order; with several worlds, world after world.
        shares: The number of tasks of each world, and the world's weight; by default all tasks are of one world.
        stream: The random stream of the order.
    """

    def __init__(self, tasks: Sequence[str], *, shares: Sequence[Share] = (), stream: Stream) -> None:
        shares = shares or [Share(count=len(tasks), weight=1.0)]
        left = iter(tasks)
        self._tasks = [task for share in shares for task in sorted(islice(left, share.count))]
        self._deal = WeightedDeal(shares, size=1, stream=stream)

    def task(self, index: int, version: int) -> str:
        """See `TaskChoice`."""
        del version
        (place,) = self._deal.at(index)
        return self._tasks[place]


class TaskPlan:
    """A plan in which each group plays one task several times.

    Args:
        tasks: References of tasks, in any order; with several worlds, world after world.
        shares: The number of tasks of each world, and the world's weight; by default all tasks are of one world.
        size: The number of trajectories for training in a group.
        seed: The random seed.
        name: The purpose of the trajectories; plans with different names share neither noise nor order.
        comparisons: The purposes of each group's further trajectories, which are not trained on.
        choice: The choice of the task that each group plays; by default, every task is played once before any is
            repeated.

    Raises:
        TaskError: there are no tasks.
        ConfigError: a group would have no trajectories.
    """

    def __init__(
        self,
        tasks: Sequence[str],
        *,
        size: int,
        seed: int,
        name: str = "train",
        shares: Sequence[Share] = (),
        comparisons: Sequence[Purpose] = (),
        choice: TaskChoice | None = None,
    ) -> None:
        if not tasks:
            raise TaskError(f"{name}: there is no task to play; give a split that lists tasks")
        if size < 1:
            raise ConfigError(f"size = {size}: a group must have at least 1 trajectory")
        self._size = size
        self._names = (name, seed)
        self._comparisons = tuple(comparisons)
        self._choice = choice or TaskDeal(tasks, shares=shares, stream=Stream.root(*self._names))

    def group(self, index: int, *, version: int = 0) -> tuple[RolloutJob, ...]:
        """The jobs of group number `index`; those for training come first."""
        task = self._choice.task(index, version)
        training = [self._job(index, member, task) for member in range(self._size)]
        return (*training, *(self._job(index, purpose, task, purpose=purpose) for purpose in self._comparisons))

    def further(self, index: int, number: int, *, version: int = 0) -> RolloutJob:
        """A further job for this group."""
        return self._job(index, self._size + number, self._choice.task(index, version))

    def _job(self, index: int, member: int | str, task: str, *, purpose: Purpose = "training") -> RolloutJob:
        name, _ = self._names
        return RolloutJob(
            trajectory=f"{name}/{index}/{member}",
            group=f"{name}/{index}",
            task=task,
            seed=Stream.root(*self._names, "world", index).below(2**31),
            noise=noise_key(*self._names, index, member),
            purpose=purpose,
        )


RuleKind: TypeAlias = Literal["complete", "partial", "top_up"]
"""The trajectories that a group needs: all of them, otherwise it is dropped and the next group takes its place; a
minimum number of them; or as many as planned, with further jobs that replace failed ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRule:
    """The handling of a group in which trajectories failed or are slow.

    Raises:
        ConfigError: the settings do not fit together.
    """

    kind: RuleKind = "complete"
    minimum: int = 2
    """With "partial": the number of finished trajectories that a group needs; with fewer it is dropped."""
    enough: int | None = None
    """With "partial": the number of finished trajectories after which slow ones get at most `straggler_seconds`.
    Cutting them off is a bias towards short episodes, which grows with the length of successful ones. `None` never
    cuts off."""
    straggler_seconds: float = 0.0
    extras: int = 2
    """With "top_up": the maximum number of further jobs of a group; a group that needs more is dropped."""

    def __post_init__(self) -> None:
        if self.minimum < 1:
            raise ConfigError(f"minimum = {self.minimum}: a group needs at least 1 trajectory")
        if self.extras < 0:
            raise ConfigError(f"extras = {self.extras}: it must be at least 0")
        if self.enough is None:
            return
        if self.kind != "partial":
            raise ConfigError(f'enough = {self.enough} cuts off slow trajectories, which only kind = "partial" allows')
        if self.enough < self.minimum:
            raise ConfigError(f"enough = {self.enough}: it must be at least minimum = {self.minimum}")
        if self.straggler_seconds < 0:
            raise ConfigError(f"straggler_seconds = {self.straggler_seconds}: it must be at least 0")


class _Arrays:
    """Holds a group's arrays, which are neither compared nor saved."""

    __slots__ = ("_batch",)
    _batch: TokenBatch


@record
class RolloutGroup(_Arrays):
    """The result of a group after all its trajectories have ended."""

    index: int
    version: int
    """The version of the weights when the group was begun; no token is from an older version."""
    task: str
    """The reference of the played task."""
    episodes: tuple[Episode, ...]
    """The valid episodes, in the order of their jobs."""
    failed: int
    """The number of trajectories whose world failed at every try."""
    straggled: int
    """The number of trajectories that were cut off as too slow."""
    comparisons: Mapping[str, Episode] = field(default_factory=dict[str, Episode])
    """Trajectories that are not trained on, by their purpose; fillers of columns read them."""
    fork: Fork | None = None
    """The fork of another group's trajectory from which these continue; that group has the same `index`. `None` for a
    group of whole trajectories."""

    @property
    def finished(self) -> int:
        """The number of trajectories that ended by themselves, whatever their purpose."""
        return len(self.episodes) + len(self.comparisons)

    def batch(self) -> TokenBatch:
        """The episodes as arrays; created once, for the filters that judge the group and for the training step.

        Raises:
            RecordError: as `flatten` does.
        """
        try:
            return self._batch
        except AttributeError:
            object.__setattr__(self, "_batch", flatten(self.episodes))
            return self._batch


Fate: TypeAlias = Literal["finished", "failed", "straggled", "cancelled"]
"""How a trajectory ended: by itself; without a result, since its world failed at every try; cut off as too slow; cut
off since it was no longer needed."""
GroupStatus: TypeAlias = Literal["growing", "complete", "broken"]


@dataclass(slots=True, kw_only=True)
class Member:
    """A trajectory of a group."""

    number: int
    """The trajectory's number; extra trajectories are numbered from the number of planned ones upwards."""
    job: RolloutJob
    fate: Fate | None = None
    """`None` while the trajectory is under way."""
    episode: Episode | None = None
    """The episode, if the trajectory finished."""


class OpenGroup:
    """A group under way.

    Args:
        index: The group's number.
        version: The version of the weights when the group was begun.
        plan: The plan of its jobs.
        rule: The rule for failed and slow trajectories.
    """

    def __init__(self, index: int, version: int, plan: GroupPlan, rule: GroupRule) -> None:
        self.index = index
        self.version = version
        self._plan = plan
        self._rule = rule
        self.members = [Member(number=number, job=job) for number, job in enumerate(plan.group(index, version=version))]
        self.planned = len(self.members)
        """The number of planned trajectories, whatever their purpose."""
        self.size = len(self._training)
        """The number of trajectories for training, without extra ones."""
        self._whole: RolloutGroup | None = None

    def count(self, fate: Fate | None) -> int:
        """The number of trajectories that ended this way; for `None`, the number under way."""
        return sum(member.fate == fate for member in self.members)

    @property
    def under_way(self) -> list[Member]:
        """The trajectories that have not ended."""
        return [member for member in self.members if member.fate is None]

    @property
    def stragglers(self) -> list[Member]:
        """The trajectories for training that have not ended."""
        return [member for member in self._training if member.fate is None]

    @property
    def _training(self) -> list[Member]:
        return [member for member in self.members if member.job.purpose == "training"]

    def _count_trained(self, fate: Fate | None) -> int:
        return sum(member.fate == fate for member in self._training)

    def top_up(self) -> Member | None:
        """Add one further job for a failed one, if the rule allows another."""
        wanted = len(self._training) < self.size + min(self._count_trained("failed"), self._rule.extras)
        return self.add() if self._rule.kind == "top_up" and wanted else None

    def add(self) -> Member:
        """Add one further job."""
        number = len(self.members)
        job = self._plan.further(self.index, number - self.planned, version=self.version)
        member = Member(number=number, job=job)
        self.members.append(member)
        return member

    def verdict(self) -> GroupStatus:
        """Whether the group is complete, still growing, or can no longer become complete."""
        needed = self._rule.minimum if self._rule.kind == "partial" else self.size
        compared = [member.fate in {None, "finished"} for member in self.members if member.job.purpose != "training"]
        if self._count_trained("finished") + self._count_trained(None) < needed or not all(compared):
            return "broken"
        return "growing" if self.under_way else "complete"

    def enough(self) -> bool:
        """Whether the trajectories still under way are stragglers, which may be cut off."""
        return self._rule.enough is not None and self._count_trained("finished") >= self._rule.enough

    def group(self) -> RolloutGroup:
        """The group's current result; once no trajectory is under way, the same object each time."""
        if self._whole is not None:
            return self._whole
        group = RolloutGroup(
            index=self.index,
            version=self.version,
            task=self.members[0].job.task,
            episodes=tuple(member.episode for member in self._training if member.episode is not None),
            failed=self.count("failed"),
            straggled=self.count("straggled"),
            comparisons={
                member.job.purpose: member.episode
                for member in self.members
                if member.job.purpose != "training" and member.episode is not None
            },
        )
        if not self.under_way:
            self._whole = group
        return group

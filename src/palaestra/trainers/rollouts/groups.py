"""Groups of trajectories that are compared with each other, and what becomes of a group that lacks some.

Dropping what failed is not innocent: if long episodes fail more often, what is left is short. So a trajectory is first
played again in a fresh world, and only then does a rule say what happens to its group.
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
    """What each group plays: pure functions, so that a run that goes on needs nothing but two numbers."""

    def group(self, index: int, *, version: int = 0) -> tuple[RolloutJob, ...]:
        """The jobs of group number `index`, begun under weights of this version: those for training first."""
        ...

    def further(self, index: int, number: int, *, version: int = 0) -> RolloutJob:
        """A further job for that group, with noise of its own; `number` counts those from 0."""
        ...


class TaskChoice(Protocol):
    """Which task each group plays."""

    def task(self, index: int, version: int) -> str:
        """The reference of the task of group number `index`, begun under weights of this version.

        Equal arguments give equal tasks, in every process that knows the same steps.
        """
        ...


class TaskDeal:
    """Every task comes once before any comes again, whatever has come of it.

    Args:
        tasks: References of tasks, in an order that does not matter; with several worlds, those of one after another.
        shares: How many of them are each world's, and its weight; all of one if left out.
        stream: Of the order.
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
    """Each group plays one task several times.

    Args:
        tasks: References of tasks, in an order that does not matter; with several worlds, those of one after another.
        shares: How many of them are each world's, and its weight; all of one if left out.
        size: Trajectories of a group.
        seed: Of the draws.
        name: What the trajectories are for; two plans of different names share neither noise nor order.
        comparisons: Further trajectories of each group, which are not trained on.
        choice: Which task each group plays; without one, every task comes once before any comes again.

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
        """The jobs of group number `index`: those for training first."""
        task = self._choice.task(index, version)
        training = [self._job(index, member, task) for member in range(self._size)]
        return (*training, *(self._job(index, purpose, task, purpose=purpose) for purpose in self._comparisons))

    def further(self, index: int, number: int, *, version: int = 0) -> RolloutJob:
        """A further job for that group."""
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
"""What a group needs: each of its trajectories, or it is dropped and the next group takes its place; a minimum of them;
or as many as planned, with further jobs in place of those that failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRule:
    """What becomes of a group some of whose trajectories failed, or are slow.

    Raises:
        ConfigError: the settings do not fit together.
    """

    kind: RuleKind = "complete"
    minimum: int = 2
    """With "partial": the finished trajectories that a group needs; with fewer it is dropped."""
    enough: int | None = None
    """With "partial": the finished trajectories after which slow ones get no more than `straggler_seconds`. Cutting
    them off biases towards short episodes, the more the longer the successful ones are; `None` never does."""
    straggler_seconds: float = 0.0
    extras: int = 2
    """With "top_up": the further jobs that a group may have; one that needs more is dropped."""

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
    """Where a group keeps its arrays; neither compared nor written down."""

    __slots__ = ("_batch",)
    _batch: TokenBatch


@record
class RolloutGroup(_Arrays):
    """What is left of a group once everybody has come who will."""

    index: int
    version: int
    """Of the weights when it was begun: none of its tokens is of an older one."""
    task: str
    """The reference of what it played."""
    episodes: tuple[Episode, ...]
    """The valid ones, in the order of their jobs."""
    failed: int
    """Trajectories that the world failed, however often they were played again."""
    straggled: int
    """Trajectories that were cut off for being slow."""
    comparisons: Mapping[str, Episode] = field(default_factory=dict[str, Episode])
    """Trajectories that are not trained on, by their purpose: fillers of columns read them."""
    fork: Fork | None = None
    """Where its trajectories left one of another group, whose `index` it has; `None` for one of whole trajectories."""

    @property
    def finished(self) -> int:
        """Trajectories that ended by themselves, whatever they are for."""
        return len(self.episodes) + len(self.comparisons)

    def batch(self) -> TokenBatch:
        """The episodes as arrays: made once, for the filters that judge the group and for the step that trains on it.

        Raises:
            RecordError: as `flatten` does.
        """
        try:
            return self._batch
        except AttributeError:
            object.__setattr__(self, "_batch", flatten(self.episodes))
            return self._batch


Fate: TypeAlias = Literal["finished", "failed", "straggled", "cancelled"]
"""How a trajectory ended: by itself; not, because its world kept failing; cut off for being slow; cut off because
nobody needed it any more."""
GroupStatus: TypeAlias = Literal["growing", "complete", "broken"]


@dataclass(slots=True, kw_only=True)
class Member:
    """A trajectory's place in its group."""

    number: int
    """From the number of planned ones upwards it is an extra one."""
    job: RolloutJob
    fate: Fate | None = None
    """`None` while it is under way."""
    episode: Episode | None = None
    """Where it finished."""


class OpenGroup:
    """A group under way.

    Args:
        index: Its number.
        version: Of the weights when it was begun.
        plan: What it plays.
        rule: What it needs.
    """

    def __init__(self, index: int, version: int, plan: GroupPlan, rule: GroupRule) -> None:
        self.index = index
        self.version = version
        self._plan = plan
        self._rule = rule
        self.members = [Member(number=number, job=job) for number, job in enumerate(plan.group(index, version=version))]
        self.planned = len(self.members)
        """Trajectories that it begins with, whatever they are for."""
        self.size = len(self._training)
        """Trajectories to be trained on, without extra ones."""
        self._whole: RolloutGroup | None = None

    def count(self, fate: Fate | None) -> int:
        """How many of its trajectories ended this way; of `None`, how many are under way."""
        return sum(member.fate == fate for member in self.members)

    @property
    def under_way(self) -> list[Member]:
        """Those that have not ended."""
        return [member for member in self.members if member.fate is None]

    @property
    def stragglers(self) -> list[Member]:
        """Those to be trained on that have not ended."""
        return [member for member in self._training if member.fate is None]

    @property
    def _training(self) -> list[Member]:
        return [member for member in self.members if member.job.purpose == "training"]

    def _count_trained(self, fate: Fate | None) -> int:
        return sum(member.fate == fate for member in self._training)

    def top_up(self) -> Member | None:
        """One further job for one that failed, where the rule has any left."""
        wanted = len(self._training) < self.size + min(self._count_trained("failed"), self._rule.extras)
        return self.add() if self._rule.kind == "top_up" and wanted else None

    def add(self) -> Member:
        """One further job."""
        number = len(self.members)
        job = self._plan.further(self.index, number - self.planned, version=self.version)
        member = Member(number=number, job=job)
        self.members.append(member)
        return member

    def verdict(self) -> GroupStatus:
        """Whether it is complete, or can no longer become so."""
        needed = self._rule.minimum if self._rule.kind == "partial" else self.size
        compared = [member.fate in {None, "finished"} for member in self.members if member.job.purpose != "training"]
        if self._count_trained("finished") + self._count_trained(None) < needed or not all(compared):
            return "broken"
        return "growing" if self.under_way else "complete"

    def enough(self) -> bool:
        """Whether those still under way are stragglers, who may be cut off."""
        return self._rule.enough is not None and self._count_trained("finished") >= self._rule.enough

    def group(self) -> RolloutGroup:
        """What it has become; once nobody is under way, the same object each time."""
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

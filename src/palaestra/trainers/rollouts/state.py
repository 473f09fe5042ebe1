"""The state of rollouts in a checkpoint: every group that was begun and not taken, with finished and partial rollouts.

Jobs are not saved, since the plan determines them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields

import orjson
from pydantic import TypeAdapter, ValidationError

from palaestra.errors import CheckpointError
from palaestra.record import record
from palaestra.trainers.rollouts.groups import Fate, GroupPlan, GroupRule, Member, OpenGroup
from palaestra.trainers.rollouts.script import PartialRollout
from palaestra.trajectory import Episode, Tokens
from palaestra.validation import plain_rule


@record
class PartialRolloutState:
    """A trajectory that was under way; see `script.PartialRollout`."""

    tokens: Tokens
    seconds: float


@record
class MemberState:
    """A trajectory of a group; groups hold them in the order of their numbers."""

    trajectory: str
    fate: Fate | None
    episode: Episode | None
    begun: PartialRolloutState | None
    """The part played so far, if the trajectory was under way and had begun."""


@record
class GroupState:
    """A group that was begun and not taken."""

    index: int
    version: int
    size: int
    """The number of planned trajectories, whatever their purpose; further members are extra ones."""
    members: tuple[MemberState, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCounts:
    """The numbers of trajectories and groups by their fates, since the run began.

    Each trajectory has one fate: `started` is the sum of `finished`, `failed`, `straggled`, `cancelled` and the number
    under way. Each group has one too: `groups` is the sum of `taken`, `broken`, `stale`, `unwanted`, `quarantined` and
    the number pending.
    """

    started: int = 0
    """Requested trajectories, extra ones included; each counts once, whatever its number of tries."""
    finished: int = 0
    """Trajectories that ended by themselves, with a reward."""
    failed: int = 0
    """Trajectories whose worlds failed at every try."""
    straggled: int = 0
    """Trajectories that were cut off as too slow."""
    cancelled: int = 0
    """Trajectories that were cut off since their group was dropped."""
    retried: int = 0
    """Retries after faults of worlds."""
    extra: int = 0
    """Trajectories of `started` that replace failed ones."""
    handed: int = 0
    """Trajectories of `finished` in groups that were taken."""
    discarded: int = 0
    """Trajectories of `finished` in groups that were dropped."""
    groups: int = 0
    """Groups that were begun."""
    taken: int = 0
    """Groups that a step took to train on."""
    broken: int = 0
    """Groups that were dropped since too many of their trajectories failed."""
    stale: int = 0
    """Groups that were dropped since the weights at their beginning were too old."""
    unwanted: int = 0
    """Groups that were dropped since a filter would leave them out; others were sampled in their place."""
    quarantined: int = 0
    """Groups that were dropped since a step on them diverged."""

    @property
    def dropped(self) -> int:
        """The number of groups that no step takes, for any reason."""
        return self.broken + self.stale + self.unwanted + self.quarantined

    def __add__(self, other: "SourceCounts") -> "SourceCounts":
        """The sum, count by count."""
        return SourceCounts(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)})

    def __sub__(self, other: "SourceCounts") -> "SourceCounts":
        """The difference, count by count."""
        return SourceCounts(**{one.name: getattr(self, one.name) - getattr(other, one.name) for one in fields(self)})


def count_pending(groups: Iterable[OpenGroup]) -> SourceCounts:
    """The counts of groups that are neither taken nor dropped, and of their trajectories."""
    counts = SourceCounts()
    for growing in groups:
        counts += SourceCounts(
            groups=1,
            started=len(growing.members),
            extra=len(growing.members) - growing.planned,
            finished=growing.count("finished"),
            failed=growing.count("failed"),
            straggled=growing.count("straggled"),
        )
    return counts


@record
class SourcePosition:
    """What has become of every group once a step has its groups.

    It holds no trajectory, so it is small enough to be recorded with every batch.
    """

    begun: int
    """The index of the next group."""
    pending: dict[int, int]
    """The groups that were begun and neither taken nor dropped: the version of the weights when each was begun, by its
    index."""
    counts: SourceCounts
    """The counts without those of pending groups."""


@record
class SourceState:
    """The complete state of a source of groups."""

    per_step: int
    version: int
    begun: int
    """The index of the next group."""
    groups: tuple[GroupState, ...]
    """The groups that were begun and neither taken nor dropped."""
    counts: SourceCounts
    staleness: dict[int, int]
    """The number of taken groups by their age in versions."""


def group_state(growing: OpenGroup, begun_of: Callable[[str], PartialRollout | None]) -> GroupState:
    """The state of a group under way; `begun_of` returns the part of a trajectory played so far."""

    def member_state(member: Member) -> MemberState:
        begun = begun_of(member.job.trajectory) if member.fate is None else None
        return MemberState(
            trajectory=member.job.trajectory,
            fate=member.fate,
            episode=member.episode,
            begun=PartialRolloutState(tokens=begun.tokens, seconds=begun.seconds) if begun else None,
        )

    return GroupState(
        index=growing.index,
        version=growing.version,
        size=growing.planned,
        members=tuple(map(member_state, growing.members)),
    )


def regrown(group: GroupState, plan: GroupPlan, rule: GroupRule) -> tuple[OpenGroup, list[PartialRollout]]:
    """Rebuild a saved group; return it with its partial rollouts.

    Raises:
        CheckpointError: the plan has other jobs for this group.
    """
    growing = OpenGroup(group.index, group.version, plan, rule)
    if growing.planned != group.size:
        raise CheckpointError(
            f"group {group.index} plays {growing.planned} trajectories, and {group.size} were planned when it was "
            "saved; resume with the plan of the run"
        )
    while len(growing.members) < len(group.members):
        growing.add()
    half: list[PartialRollout] = []
    for member, saved in zip(growing.members, group.members, strict=True):
        if member.job.trajectory != saved.trajectory:
            raise CheckpointError(
                f"group {group.index} plays {member.job.trajectory}, and {saved.trajectory} was saved; "
                "resume with the plan of the run"
            )
        member.fate, member.episode = saved.fate, saved.episode
        if saved.begun is not None:
            half.append(PartialRollout(job=member.job, tokens=saved.begun.tokens, seconds=saved.begun.seconds))
    return growing, half


_STATE: TypeAdapter[SourceState] = TypeAdapter(SourceState)


def dump_state(state: SourceState) -> bytes:
    """The state as JSON."""
    return orjson.dumps(state, option=orjson.OPT_NON_STR_KEYS, default=sorted)  # sets are unordered


def load_state(data: bytes) -> SourceState:
    """Read a state that `dump_state` wrote.

    Raises:
        CheckpointError: the data is not such a state.
    """
    try:
        return _STATE.validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "all of it"
        rule = plain_rule(first["msg"])
        raise CheckpointError(
            f"the state of the rollouts cannot be read: {where}: {rule}; go on from an older checkpoint"
        ) from error

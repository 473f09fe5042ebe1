"""What a checkpoint keeps of rollouts: every group that was begun and not taken, finished trajectories and half ones.

Jobs are not kept: they follow from the plan.
"""

from collections.abc import Callable
from dataclasses import dataclass

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
    """A trajectory that was under way; see `script.Begun`."""

    tokens: Tokens
    seconds: float


@record
class MemberState:
    """A trajectory of a group, in the order of their numbers."""

    trajectory: str
    fate: Fate | None
    episode: Episode | None
    begun: PartialRolloutState | None
    """Where it was under way, and something was to be kept."""


@record
class GroupState:
    """A group that was begun and not taken."""

    index: int
    version: int
    size: int
    """Trajectories that were planned, whatever for; the members beyond are extra ones."""
    members: tuple[MemberState, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCounts:
    """What has become of everything so far, since the run began.

    Each trajectory has one fate: `started` is the sum of `finished`, `failed`, `straggled`, `cancelled` and those under
    way. Each group has one too: `groups` is the sum of `taken`, `broken`, `stale`,
    `unwanted`, `quarantined` and those pending.
    """

    started: int = 0
    """Trajectories that were asked for, extra ones included; however often each was played."""
    finished: int = 0
    """Ended by themselves, with a reward."""
    failed: int = 0
    """Their worlds failed at every try."""
    straggled: int = 0
    """Cut off for being slow."""
    cancelled: int = 0
    """Cut off because their group was dropped."""
    retried: int = 0
    """Further tries after faults of worlds."""
    extra: int = 0
    """Of `started`, those in place of failed ones."""
    handed: int = 0
    """Of `finished`, those in groups that were taken."""
    discarded: int = 0
    """Of `finished`, those in groups that were dropped."""
    groups: int = 0
    """Groups that were begun."""
    taken: int = 0
    """By a step, to train on."""
    broken: int = 0
    """Dropped because too many of their trajectories failed."""
    stale: int = 0
    """Dropped because they were begun under weights too old."""
    unwanted: int = 0
    """Dropped because a filter would leave them out, and others were drawn in their place."""
    quarantined: int = 0
    """Dropped because a step on them diverged."""

    @property
    def dropped(self) -> int:
        """Groups that no step takes, whatever for."""
        return self.broken + self.stale + self.unwanted + self.quarantined


@record
class SourceState:
    """All of a source of groups."""

    per_step: int
    version: int
    begun: int
    """The index of the next group."""
    groups: tuple[GroupState, ...]
    """Those that were begun and are neither taken nor dropped."""
    counts: SourceCounts
    staleness: dict[int, int]
    """How many of the groups taken were so many versions old."""


def group_state(growing: OpenGroup, begun_of: Callable[[str], PartialRollout | None]) -> GroupState:
    """A group under way, as it is kept; `begun_of` says how far a trajectory is."""

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
    """The group that was kept, and those of its trajectories that are half-way.

    Raises:
        CheckpointError: the plan plays something else.
    """
    growing = OpenGroup(group.index, group.version, plan, rule)
    if growing.planned != group.size:
        raise CheckpointError(
            f"group {group.index} plays {growing.planned} trajectories, and {group.size} were planned when it was "
            "saved; go on with the plan that the run began with"
        )
    while len(growing.members) < len(group.members):
        growing.add()
    half: list[PartialRollout] = []
    for member, saved in zip(growing.members, group.members, strict=True):
        if member.job.trajectory != saved.trajectory:
            raise CheckpointError(
                f"group {group.index} plays {member.job.trajectory}, and {saved.trajectory} was saved; "
                "go on with the plan that the run began with"
            )
        member.fate, member.episode = saved.fate, saved.episode
        if saved.begun is not None:
            half.append(PartialRollout(job=member.job, tokens=saved.begun.tokens, seconds=saved.begun.seconds))
    return growing, half


_STATE: TypeAdapter[SourceState] = TypeAdapter(SourceState)


def dump_state(state: SourceState) -> bytes:
    """The state as JSON."""
    return orjson.dumps(state, option=orjson.OPT_NON_STR_KEYS, default=sorted)  # a set has no order of its own


def load_state(data: bytes) -> SourceState:
    """The state that `dump_state` wrote.

    Raises:
        CheckpointError: it is not one.
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

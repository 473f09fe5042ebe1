"""The rules for beginning groups, and the order in which steps take them, so that staleness stays within a bound.

Groups are numbered in the order in which they are begun. The version of the weights is the number of trained steps;
step number `v` is trained at version `v`, on `per_step` groups. With P = `per_step`, S = `staleness` and W = `window`
there are two rules:

- A group is begun at version `v` only if `floor(p / P) <= v + S`, where its place `p` is its index minus the number of
  groups dropped until then. So if all groups were taken in order, its step would be at most S steps away.
- A group is taken only if it is complete and at most W places after the oldest group that is not taken. The oldest
  group that may be taken is taken first.

The bound: a group taken for step `t` was begun at version `t - S - ceil(W / P)` or later; with S = 0, at `t`.

Proof. Take a group with place `p`, begun at version `b`; by the first rule `b >= floor(p / P) - S`. At most `p` lower
groups are taken before it; later drops reduce their number. A higher group is taken before it only while it is not
taken itself, so while the oldest group not taken is no higher than it; by the second rule, that higher group is one of
the W after it. So at most `p + W` groups are taken before it, and with P per step it is taken for step `t <=
floor((p + W) / P) <= floor(p / P) + ceil(W / P) <= b + S + ceil(W / P)`. With S = 0 at most P groups are pending at any
time, those that may be begun at version `t`; so step `t` takes them all, and they were begun at version `t`.

Taking never deadlocks: at version `v`, with `v` steps taken, (S + 1) P groups that are neither taken nor dropped may be
under way, and once all of these are complete, the oldest P may be taken in order.

W = 0 is first in, first out: a slow group blocks all later ones. A greater W lets up to W groups overtake it; each P of
these cost one version of staleness. TorchTitan's `WindowedFIFO` has the same form of rule and bound.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from palaestra.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Staleness:
    """How far rollouts may run ahead of training.

    Raises:
        ConfigError: a number is below its minimum.
    """

    per_step: int
    """The number of groups that a step trains on; at least 1."""
    staleness: int = 0
    """The number of steps that groups may be begun ahead; with 0, they begin only once the previous step is trained."""
    window: int = 0
    """The number of groups that may overtake a slow one."""

    def __post_init__(self) -> None:
        for name, least in (("per_step", 1), ("staleness", 0), ("window", 0)):
            if (value := getattr(self, name)) < least:
                raise ConfigError(f"{name} = {value}: it must be at least {least}")

    @property
    def bound(self) -> int:
        """The maximum number of versions between the beginning of a group and the step for which it is taken."""
        return self.staleness + -(-self.window // self.per_step) if self.staleness else 0


class GroupOrder:
    """The groups that have been begun, completed, dropped and taken.

    Args:
        limits: How far groups may run ahead.
        version: The version of the weights: the number of steps trained before.
        begun: The number of groups begun so far.
        dropped: The number of these groups that were dropped.
        pending: The indices of these groups that are neither taken nor dropped.
    """

    def __init__(
        self,
        limits: Staleness,
        *,
        version: int = 0,
        begun: int = 0,
        dropped: int = 0,
        pending: tuple[int, ...] = (),
    ) -> None:
        self.limits = limits
        self.version = version
        self.begun = begun
        self.dropped = dropped
        self._complete = dict.fromkeys(sorted(pending), False)

    @property
    def pending(self) -> tuple[int, ...]:
        """The groups that are neither taken nor dropped, oldest first."""
        return tuple(self._complete)

    @property
    def complete(self) -> tuple[int, ...]:
        """The groups of `pending` that are complete."""
        return tuple(index for index, complete in self._complete.items() if complete)

    @property
    def soonest(self) -> int:
        """The lowest version at which another group may be begun."""
        return (self.begun - self.dropped) // self.limits.per_step - self.limits.staleness

    def may_begin(self) -> bool:
        """Whether another group may be begun now."""
        return self.soonest <= self.version

    def begin(self) -> int:
        """Begin the next group and return its index; see `may_begin`."""
        index = self.begun
        self._complete[index] = False
        self.begun += 1
        return index

    def mark_complete(self, index: int) -> None:
        """Mark a group as complete: all its trajectories have ended."""
        assert not self._complete[index]
        self._complete[index] = True

    def drop(self, index: int) -> None:
        """Drop a group: it will not be taken, and another takes its place."""
        del self._complete[index]
        self.dropped += 1

    def take_these(self, indices: Sequence[int]) -> list[int] | None:
        """Take exactly these groups, as another run did; return `None` while some are not complete."""
        if not all(self._complete.get(index, False) for index in indices):
            return None
        for index in indices:
            del self._complete[index]
        return list(indices)

    def take(self) -> list[int] | None:
        """Take the groups of the next step, in the order of the rules; return `None` while too few may be taken."""
        chosen: list[int] = []
        left = dict(self._complete)
        while len(chosen) < self.limits.per_step:
            oldest = next(iter(left), 0)
            ready = (index for index, complete in left.items() if complete and index <= oldest + self.limits.window)
            if (index := next(ready, None)) is None:
                return None
            chosen.append(index)
            del left[index]
        self._complete = left
        return chosen

"""Assigns trajectories to replicas: a group stays in one replica, and the numbers of trajectories are balanced."""

from collections import Counter
from collections.abc import Mapping


class ReplicaPlaces:
    """The replicas of trajectories, from their first turn until they are released.

    A group stays together, since its trajectories share a prefix and an engine computes shared prefixes once. A new
    group goes to the replica with the fewest trajectories; on a tie, to the one with the fewest groups.

    Args:
        count: The number of replicas.
        recorded: For a replay, the recorded replica of each trajectory, by its id.
    """

    def __init__(self, count: int, *, recorded: Mapping[str, int] | None = None) -> None:
        self._count = count
        self._recorded = recorded or {}
        self._places: dict[str, tuple[str, int]] = {}
        """The group and the replica of each trajectory."""
        self._groups: dict[str, int] = {}
        self._members: Counter[str] = Counter()

    def place(self, trajectory: str, group: str) -> int:
        """The replica of a trajectory; `group` is "" without a group."""
        if (known := self._places.get(trajectory)) is not None:
            return known[1]
        group = group or f"of {trajectory} alone"
        if (replica := self._recorded.get(trajectory)) is None:
            replica = self._groups[group] if group in self._groups else self._emptiest()
        self._places[trajectory] = (group, replica)
        self._groups.setdefault(group, replica)
        self._members[group] += 1
        return replica

    def release(self, trajectory: str) -> int | None:
        """Remove a trajectory; returns its replica, or `None` if it had none."""
        known = self._places.pop(trajectory, None)
        if known is None:
            return None
        group, replica = known
        self._members[group] -= 1
        if not self._members[group]:
            del self._members[group], self._groups[group]
        return replica

    def _emptiest(self) -> int:
        trajectories = Counter(replica for _, replica in self._places.values())
        groups = Counter(self._groups.values())
        return min(range(self._count), key=lambda replica: (trajectories[replica], groups[replica]))

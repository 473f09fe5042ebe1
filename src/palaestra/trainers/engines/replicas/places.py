"""Which replica draws which trajectory: those of a group in one, and otherwise as many in each as in the others."""

from collections import Counter
from collections.abc import Mapping


class ReplicaPlaces:
    """Where trajectories are, from their first turn until they are released.

    A group stays together, since its trajectories begin alike and an engine works out what they share once. A group
    that comes goes where the fewest trajectories are; of equals, where the fewest groups are.

    Args:
        count: How many replicas there are.
        recorded: The replica of each trajectory of a run that is gone through again, by its id.
    """

    def __init__(self, count: int, *, recorded: Mapping[str, int] | None = None) -> None:
        self._count = count
        self._recorded = recorded or {}
        self._places: dict[str, tuple[str, int]] = {}
        """Of each trajectory: its group and its replica."""
        self._groups: dict[str, int] = {}
        self._members: Counter[str] = Counter()

    def place(self, trajectory: str, group: str) -> int:
        """The replica of a trajectory; `group` is "" where it is in none."""
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
        """Forget a trajectory; its replica, or `None` where it had none."""
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

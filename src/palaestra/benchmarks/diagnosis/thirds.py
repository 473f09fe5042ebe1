"""The beginning, the middle and the end of a stage, by steps: what a diagnosis compares."""

from collections.abc import Iterable, Sequence

from palaestra.record import record


@record
class Thirds:
    """The steps of a stage that have a record, divided into three parts in order.

    The first and the last part have as many steps as each other, a third of all rounded down and at least one; the rest
    is the middle. One step is the first part alone, and nothing is compared.
    """

    first: frozenset[int]
    middle: frozenset[int]
    last: frozenset[int]

    @property
    def parts(self) -> tuple[tuple[str, frozenset[int]], ...]:
        """Each part with its name."""
        return (("first third", self.first), ("middle", self.middle), ("last third", self.last))

    @property
    def latest(self) -> frozenset[int]:
        """The last part, or the first where it is the only one."""
        return self.last or self.first


def divide_steps(steps: Iterable[int]) -> Thirds:
    """Divide steps into thirds."""
    ordered: Sequence[int] = sorted(set(steps))
    size = max(1, len(ordered) // 3)
    if len(ordered) < 2:
        return Thirds(first=frozenset(ordered), middle=frozenset(), last=frozenset())
    return Thirds(
        first=frozenset(ordered[:size]),
        middle=frozenset(ordered[size : len(ordered) - size]),
        last=frozenset(ordered[len(ordered) - size :]),
    )

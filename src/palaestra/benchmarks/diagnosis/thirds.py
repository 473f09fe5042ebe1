"""The first third, the middle and the last third of a stage's steps, which a diagnosis compares."""

from collections.abc import Iterable, Sequence

from palaestra.record import record


@record
class Thirds:
    """The recorded steps of a stage, divided into three parts in order.

    The first and the last part have the same size: a third of all steps, rounded down, and at least one. The rest is
    the middle. A single step is the first part, and nothing is compared.
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
        """The last part, or the first part where there is no other."""
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

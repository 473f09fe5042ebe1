"""Values dealt to the rows of a table with the shares that a document states."""

from collections.abc import Sequence
from typing import TypeVar

from palaestra.seeding import Stream

T = TypeVar("T")


def deal_values(options: Sequence[tuple[T, int]], count: int, stream: Stream) -> list[T]:
    """So many values in a random order, each option as often as its share says, up to one.

    Values that are drawn one by one leave small tables without some of them: of six places of which one in eight is
    counted, three could be.

    Args:
        options: The options with their weights, of which one is above 0.
        count: How many values.
        stream: Decides the order, and which options are rounded up.
    """
    order = stream.split("options").permutation(options)
    total = sum(weight for _, weight in order)
    start = stream.split("start").below(total)
    dealt: list[T] = []
    place, end = -1, 0
    for number in range(count):
        point = (number * total + start) // count
        while point >= end:
            place += 1
            end += order[place][1]
        dealt.append(order[place][0])
    return stream.split("order").permutation(dealt)

"""Picking one of several items, by weights or by a score. Axes: A items."""

from collections.abc import Sequence

from palaestra.seeding import Stream


def pick_weighted(weights: Sequence[float], stream: Stream) -> int:
    """Draw an index in proportion to the weights.

    Args:
        weights: The weight of each item, [A]; none is negative, and at least one is above 0.
        stream: The random stream; one word of it is used.
    """
    point = stream.word() / 2.0**64 * sum(weights)
    for place, weight in enumerate(weights):
        point -= weight
        if point < 0:
            return place
    return max(place for place, weight in enumerate(weights) if weight > 0)  # the sum was rounded


def pick_best(scores: Sequence[float], weights: Sequence[float], *, candidates: int, stream: Stream) -> int:
    """Draw candidates by weight, with repetition; return the index with the greatest score, the first of equals.

    Args:
        scores: The score of each item, [A].
        weights: The weight of each item in the draw of candidates, [A].
        candidates: The number of candidates.
        stream: The random stream.
    """
    drawn = [pick_weighted(weights, stream) for _ in range(candidates)]
    return max(drawn, key=lambda place: scores[place])

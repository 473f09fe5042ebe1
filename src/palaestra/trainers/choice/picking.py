"""One of several, by weights or by a score. Axes: A things."""

from collections.abc import Sequence

from palaestra.seeding import Stream


def pick_weighted(weights: Sequence[float], stream: Stream) -> int:
    """A place, in proportion to the weights.

    Args:
        weights: Of each, [A]; none negative, and one above 0.
        stream: Randomness; one word of it is taken.
    """
    point = stream.word() / 2.0**64 * sum(weights)
    for place, weight in enumerate(weights):
        point -= weight
        if point < 0:
            return place
    return max(place for place, weight in enumerate(weights) if weight > 0)  # the sum was rounded


def pick_best(scores: Sequence[float], weights: Sequence[float], *, candidates: int, stream: Stream) -> int:
    """The place with the greatest score of some that are drawn, by weights and with repetition; the first of equals.

    Args:
        scores: Of each, [A].
        weights: Of each in the draw of candidates, [A].
        candidates: How many are drawn.
        stream: Randomness.
    """
    drawn = [pick_weighted(weights, stream) for _ in range(candidates)]
    return max(drawn, key=lambda place: scores[place])

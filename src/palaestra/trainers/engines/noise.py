"""Sampling noise: a number for each position of each trajectory, independent of the rest of the batch."""

from collections.abc import Iterator

from palaestra.seeding import Stream

_BELOW_ONE = 1 - 2.0**-24
"""The largest number below 1 in single precision: noise of exactly 1 would pass every token."""


def noise_key(*names: str | int) -> bytes:
    """The key of a trajectory's noise, from the run's seed and the trajectory's names."""
    return Stream.root("noise", *names).save()[0]


def noise_at(key: bytes, place: int) -> float:
    """The uniform number in [0, 1) that samples the token at `place` of its trajectory."""
    return next(noise_from(key, place))


def noise_from(key: bytes, place: int) -> Iterator[float]:
    """The numbers of `place` and of all later ones; one hash gives eight of them."""
    stream = Stream(key, place)
    while True:
        yield min(stream.word() / 2.0**64, _BELOW_ONE)

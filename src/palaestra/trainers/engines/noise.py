"""Sampling noise: a number for each place of each trajectory, whatever is drawn beside it."""

from palaestra.seeding import Stream

_BELOW_ONE = 1 - 2.0**-24
"""The greatest number below 1 in single precision: noise of exactly 1 would pass every token."""


def noise_key(*names: str | int) -> bytes:
    """The key of a trajectory's noise, from the run's seed and what names the trajectory."""
    return Stream.root("noise", *names).save()[0]


def noise_at(key: bytes, place: int) -> float:
    """The uniform number in [0, 1) that draws the token at `place` of its trajectory."""
    return min(Stream(key, place).word() / 2.0**64, _BELOW_ONE)

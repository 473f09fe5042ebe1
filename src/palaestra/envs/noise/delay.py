"""Calls that take longer than they should, on the virtual clock."""

from palaestra.seeding import Stream


class Delay:
    """A slow connection.

    Args:
        percent: By how much a call takes longer at most.
        stream: By how much the call of a number does; no other call moves it.
    """

    def __init__(self, percent: int, stream: Stream) -> None:
        self._percent = percent
        self._stream = stream

    def of(self, latency: int, number: int) -> int:
        """The seconds that a call of `latency` seconds takes besides."""
        return latency * self._stream.split(number).between(0, self._percent) // 100

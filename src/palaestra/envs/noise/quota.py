"""A limit on how many calls are taken within a minute."""

from palaestra.envs.noise.refusal import RATE_LIMITED, Refusal

WINDOW = 60
"""Seconds over which calls are counted."""


class Quota:
    """Takes so many calls in any minute of the virtual clock; one too many waits until the next is taken.

    Args:
        calls: How many.
    """

    def __init__(self, calls: int) -> None:
        self._calls = calls
        self._taken: list[int] = []

    def refuse(self, elapsed: int) -> Refusal | None:
        """The refusal of a call at that second, if it is one too many; otherwise it counts."""
        self._taken = [second for second in self._taken if second > elapsed - WINDOW]
        if len(self._taken) < self._calls:
            self._taken.append(elapsed)
            return None
        wait = self._taken[0] + WINDOW - elapsed
        message = f"{self._calls} call(s) a minute are taken; {wait} seconds have passed, the next one is taken now"
        return Refusal(code=RATE_LIMITED, message=message, latency=wait)

    def save(self) -> tuple[int, ...]:
        """What `load` needs."""
        return tuple(self._taken)

    def load(self, saved: tuple[int, ...]) -> None:
        """Be as when `saved` was saved."""
        self._taken = list(saved)

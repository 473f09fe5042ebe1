"""Calls that fail for no reason of the agent's, and go through when they are made again."""

from palaestra.digest import digest
from palaestra.envs.noise.refusal import UNAVAILABLE, Refusal
from palaestra.records import ToolCall
from palaestra.seeding import Stream
from palaestra.tools import plain_call

IN_A_ROW = 2
"""How often the same call fails before it goes through."""
TIMEOUT = 10
"""Seconds until a failure is noticed."""


class Failures:
    """A service that is down now and then.

    Args:
        percent: How many calls in a hundred fail.
        stream: Whether the call of a number fails; no other call moves it.
    """

    def __init__(self, percent: int, stream: Stream) -> None:
        self._percent = percent
        self._stream = stream
        # By call: how often it has failed since it last went through.
        self._failed: dict[str, int] = {}

    def refuse(self, call: ToolCall, number: int) -> Refusal | None:
        """The failure of the call of that number, if it fails."""
        plain = plain_call(call)
        key = digest((plain.tool, plain.arguments))
        failed = self._failed.pop(key, 0)
        if failed >= IN_A_ROW or not self._stream.split(number).chance(self._percent):
            return None
        self._failed[key] = failed + 1
        return Refusal(code=UNAVAILABLE, message="the service did not answer in time; try again", latency=TIMEOUT)

    def save(self) -> tuple[tuple[str, int], ...]:
        """What `load` needs."""
        return tuple(sorted(self._failed.items()))

    def load(self, saved: tuple[tuple[str, int], ...]) -> None:
        """Be as when `saved` was saved."""
        self._failed = dict(saved)

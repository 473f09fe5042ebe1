"""The virtual clock: a world's only time. It starts where the world says and moves by what calls cost."""

from datetime import date, datetime, timedelta


class Clock:
    """Naive UTC time that moves forward in whole seconds and never by itself."""

    __slots__ = ("_elapsed", "_start")

    def __init__(self, start: datetime, elapsed: int = 0) -> None:
        self._start = start
        self._elapsed = elapsed

    @property
    def elapsed(self) -> int:
        """Seconds since the episode began."""
        return self._elapsed

    @property
    def now(self) -> datetime:
        """The present moment, to the second."""
        return self._start + timedelta(seconds=self._elapsed)

    @property
    def today(self) -> date:
        """The present day."""
        return self.now.date()

    def advance(self, seconds: int) -> None:
        """Let `seconds` pass.

        Raises:
            ValueError: `seconds` is negative.
        """
        if seconds < 0:
            raise ValueError(f"advance({seconds}): time only moves forward")
        self._elapsed += seconds

    def set_elapsed(self, elapsed: int) -> None:
        """Go to the moment `elapsed` seconds after the start, as a restored snapshot asks."""
        self._elapsed = elapsed

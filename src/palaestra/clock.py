"""The virtual clock: a world's only time. The world sets its start; calls move it by the time they take or wait."""

from datetime import date, datetime, timedelta


class Clock:
    """Naive UTC time that moves forward in whole seconds and never by itself.

    Waiting is counted apart from work: deadlines and rate limits use `elapsed` alone.
    """

    __slots__ = ("_elapsed", "_start", "_waited")

    def __init__(self, start: datetime, elapsed: int = 0) -> None:
        self._start = start
        self._elapsed = elapsed
        self._waited = 0

    @property
    def elapsed(self) -> int:
        """Seconds of work since the episode began."""
        return self._elapsed

    @property
    def days_waited(self) -> int:
        """Whole days of waiting since the episode began."""
        return self._waited

    @property
    def now(self) -> datetime:
        """The present moment, to the second."""
        return self._start + timedelta(days=self._waited, seconds=self._elapsed)

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

    def wait(self, days: int) -> None:
        """Let `days` pass in which nobody works.

        Raises:
            ValueError: `days` is negative.
        """
        if days < 0:
            raise ValueError(f"wait({days}): time only moves forward")
        self._waited += days

    def set_elapsed(self, elapsed: int, *, waited: int = 0) -> None:
        """Set the clock to `elapsed` seconds of work and `waited` days of waiting, to restore a snapshot."""
        self._elapsed = elapsed
        self._waited = waited

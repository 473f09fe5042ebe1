"""The virtual clock: a world's only time. It starts where the world says and moves by what calls cost or wait for."""

from datetime import date, datetime, timedelta


class Clock:
    """Naive UTC time that moves forward in whole seconds and never by itself.

    Time that is waited counts apart from time that is worked: deadlines and rate limits go by `elapsed` alone.
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
        """Whole days that were waited since the episode began."""
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
        """Go to the moment after so many seconds of work and days of waiting, as a restored snapshot asks."""
        self._elapsed = elapsed
        self._waited = waited

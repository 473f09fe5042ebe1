"""Bounds of what a server holds at once."""

from dataclasses import fields

from palaestra.record import record


@record
class SessionLimits:
    """Bounds of the session core. All are above 0."""

    sessions: int = 20_000
    """Sessions of all owners."""
    owner_sessions: int = 10_000
    """Sessions of one owner."""
    owner_snapshots: int = 10_000
    """Snapshots of one owner."""
    batch: int = 1_024
    """Items of one request."""
    lease: float = 600.0
    """Seconds without a call after which a session is closed, unless its creator sets another lease. A trainer may take
    minutes for an update before it plays on."""
    longest_lease: float = 7_200.0
    snapshot_lease: float = 3_600.0
    """Seconds without a restore after which a snapshot is dropped."""
    remembered: int = 20_000
    """Sessions whose end is remembered, so that their owners learn why they are gone."""

    def __post_init__(self) -> None:
        """Check the range of the numbers.

        Raises:
            ValueError: one is not above 0.
        """
        for field in fields(self):
            if not (value := getattr(self, field.name)) > 0:
                raise ValueError(f"{field.name}={value!r}: a limit is above 0")

"""State that all pages share: the record, keys, signed-in browsers, and cached figures."""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import TypeVar, cast

from sqlalchemy.orm import Session

from palaestra.benchmarks.dashboard.sign_ins import SignIns
from palaestra.benchmarks.evaluation.report.findings import Findings, findings
from palaestra.benchmarks.evaluation.results import Results
from palaestra.benchmarks.record import RecordDatabase, RunSummary
from palaestra.benchmarks.record.queries import file_digests, is_unfinished, results_of_run
from palaestra.durable import file_state
from palaestra.errors import RecordError
from palaestra.serving.access import KeyRing, read_keys

R = TypeVar("R")
_KEPT = 32
"""Maximum number of evaluations whose figures are cached."""
_BUSY = 60.0
"""Seconds after a change for which an incomplete run counts as live."""


class Dashboard:
    """The dashboard of a record, without its pages.

    Args:
        database: The record.
        key_file: The file of accepted keys; `None` for a dashboard on the loopback interface that needs no key.
        now: Returns the seconds since 1970.
        clock: Returns seconds that never decrease.

    Raises:
        RecordError: the file of keys cannot be read.
    """

    def __init__(
        self,
        database: RecordDatabase,
        *,
        key_file: Path | None = None,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.database = database
        self.sign_ins = SignIns(clock=clock)
        self.now = now
        self._key_file = key_file
        self._key_file_state = None if key_file is None else file_state(key_file)
        self._keys = None if key_file is None else KeyRing(read_keys(key_file).keys, clock=now)
        self._computed: OrderedDict[tuple[str, int, tuple[str, ...]], object] = OrderedDict()
        self._lock = Lock()

    @property
    def keys(self) -> KeyRing | None:
        """The accepted keys, in the current state of their file; `None` where no key is needed."""
        if self._key_file is not None and self._keys is not None:
            state = file_state(self._key_file)
            if state != self._key_file_state:
                try:
                    self._keys.replace(read_keys(self._key_file).keys)
                except RecordError:  # the file is being edited; the earlier keys stay valid until it can be read
                    return self._keys
                self._key_file_state = state
        return self._keys

    def results(self, session: Session, run: int) -> Results:
        """The results of an evaluation; raises as `results_of_run` does."""
        return self._compute("results", session, run, lambda: results_of_run(session, run))

    def findings(self, session: Session, run: int) -> Findings:
        """The figures of an evaluation; raises as `results_of_run` does."""
        return self._compute("findings", session, run, lambda: findings(self.results(session, run)))

    def _compute(self, what: str, session: Session, run: int, make: Callable[[], R]) -> R:
        """Compute a value from the files of a run, or return the cached value if no file has changed."""
        key = (what, run, file_digests(session, run))
        with self._lock:
            if key in self._computed:
                self._computed.move_to_end(key)
                return cast("R", self._computed[key])
        made = make()
        with self._lock:
            self._computed[key] = made
            while len(self._computed) > 2 * _KEPT:
                self._computed.popitem(last=False)
        return made

    def is_live(self, session: Session, run: RunSummary) -> bool:
        """Whether a run is incomplete and changed within the last minute."""
        return self.now() - run.updated < _BUSY and is_unfinished(session, run)

    def age(self, updated: float) -> str:
        """The time since a change, in words."""
        seconds = max(0.0, self.now() - updated)
        for size, name in _UNITS:
            if seconds >= 2 * size:
                return f"{seconds / size:.0f} {name} ago"
        return "just now"


_UNITS: Sequence[tuple[float, str]] = ((86_400.0, "days"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))

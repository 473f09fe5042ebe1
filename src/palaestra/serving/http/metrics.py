"""The metrics of a server, in the text format of Prometheus (version 0.0.4)."""

from collections import Counter
from collections.abc import Iterable, Mapping

from palaestra.serving.core import BatchAnswer, LedgerOutcome, SessionCounts

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Seconds."""


class ServerMetrics:
    """Counters of requests. Only the server's own operations and codes are labels, so their number is bounded."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._items: Counter[str] = Counter()
        self._errors: Counter[tuple[str, str]] = Counter()
        self._buckets: Counter[float] = Counter()
        self._seconds = 0.0

    def count_request(self, operation: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._requests[operation, status] += 1
        self._seconds += seconds
        for bound in _BOUNDS:
            if seconds <= bound:
                self._buckets[bound] += 1

    def count_items(self, operation: str, answer: BatchAnswer) -> None:
        """Count the items of a request that was run."""
        self._items[operation] += len(answer.results)
        for code, number in answer.errors.items():
            self._errors[operation, code] += number

    def render(self, counts: SessionCounts, *, pending: int, sockets: int) -> str:
        """All metrics.

        Args:
            counts: Sessions and episodes.
            pending: Requests that are waiting or running.
            sockets: Open WebSocket connections.
        """
        total = sum(self._requests.values())
        requests = ((f'operation="{op}",status="{status}"', n) for (op, status), n in sorted(self._requests.items()))
        errors = ((f'operation="{op}",code="{code}"', n) for (op, code), n in sorted(self._errors.items()))
        lines = [
            *_family("requests_total", "counter", "Requests by operation and HTTP status.", requests),
            *_family("items_total", "counter", "Items of batches, by operation.", _labels("operation", self._items)),
            *_family("item_errors_total", "counter", "Items that failed, by operation and code.", errors),
            *_family("sessions", "gauge", "Open sessions.", [("", counts.sessions)]),
            *_family("snapshots", "gauge", "Stored snapshots.", [("", counts.snapshots)]),
            *_family("episodes_begun_total", "counter", "Episodes that have begun.", [("", counts.begun)]),
            *_family("episodes_running", "gauge", "Episodes that are not over.", [("", counts.running)]),
            *_family("episodes_total", "counter", "Episodes that are over.", _labels("outcome", counts.outcomes)),
            *_family("pending_requests", "gauge", "Requests that wait or run.", [("", pending)]),
            *_family("sockets", "gauge", "Open WebSocket connections.", [("", sockets)]),
            "# HELP palaestra_request_seconds Time from the head of a request to its answer.",
            "# TYPE palaestra_request_seconds histogram",
            *(f'palaestra_request_seconds_bucket{{le="{bound:g}"}} {self._buckets[bound]}' for bound in _BOUNDS),
            f'palaestra_request_seconds_bucket{{le="+Inf"}} {total}',
            f"palaestra_request_seconds_sum {self._seconds:.6f}",
            f"palaestra_request_seconds_count {total}",
        ]
        return "\n".join(lines) + "\n"


def _labels(name: str, counts: Mapping[str, int] | Mapping[LedgerOutcome, int]) -> Iterable[tuple[str, int]]:
    return ((f'{name}="{value}"', count) for value, count in sorted(counts.items()))


def _family(name: str, kind: str, text: str, samples: Iterable[tuple[str, int]]) -> list[str]:
    full = f"palaestra_{name}"
    head = [f"# HELP {full} {text}", f"# TYPE {full} {kind}"]
    return [*head, *(f"{full}{{{labels}}} {value}" if labels else f"{full} {value}" for labels, value in samples)]

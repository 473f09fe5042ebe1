"""The workers that created sessions: a repeated request must reach the worker that remembers its answer."""

from palaestra.serving.workers.worker_name import WorkerName

_OWNERS = 1_024
_KEYS = 1_536
"""Request keys of an owner: as many as a session core remembers."""


class CreationPlaces:
    """The workers of created sessions, by owner and request key. The oldest are forgotten."""

    def __init__(self) -> None:
        self._places: dict[str, dict[str, WorkerName]] = {}

    def find(self, owner: str, request: str) -> WorkerName | None:
        """The worker that the request went to."""
        return self._places.get(owner, {}).get(request)

    def keep(self, owner: str, request: str, place: WorkerName) -> None:
        """Remember the worker that a request goes to."""
        known = self._places.pop(owner, {})
        self._places[owner] = known
        known.pop(request, None)
        known[request] = place
        if len(known) > _KEYS:
            del known[next(iter(known))]
        if len(self._places) > _OWNERS:
            del self._places[next(iter(self._places))]

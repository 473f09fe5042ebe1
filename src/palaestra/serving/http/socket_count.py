"""The number of open WebSocket connections by key."""

from collections import Counter

from palaestra.errors import LimitError
from palaestra.serving.http.requests import HttpLimits


class SocketCount:
    """The open WebSocket connections of a server.

    Args:
        limits: The maximum number.
    """

    def __init__(self, limits: HttpLimits) -> None:
        self._limits = limits
        self._of_key: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._of_key.total()

    def open(self, key_id: str) -> None:
        """Count a connection that opens.

        Raises:
            LimitError: the key or the server has reached its limit.
        """
        limits = self._limits
        if self._of_key[key_id] >= limits.key_sockets:
            raise LimitError(f"the key has {limits.key_sockets} connections, the most for one key; close some")
        if len(self) >= limits.sockets:
            raise LimitError(f"the server has {limits.sockets} connections, its limit; try again later", 10.0)
        self._of_key[key_id] += 1

    def close(self, key_id: str) -> None:
        """Count a connection that has closed."""
        self._of_key[key_id] -= 1
        if not self._of_key[key_id]:
            del self._of_key[key_id]

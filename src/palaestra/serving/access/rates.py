"""Rate limits: how many requests and bytes a key may send per second."""

from collections.abc import Callable

from palaestra.errors import LimitError
from palaestra.record import record


@record
class RateLimits:
    """The rates of one key. During a pause, up to `burst` seconds of them accumulate."""

    requests: float = 1_000.0
    """Requests per second; a batch is one request."""
    bytes: float = 32 * 2.0**20
    """Bytes of request bodies per second."""
    burst: float = 4.0
    """Seconds."""


class TokenBucket:
    """A budget that refills with time.

    Args:
        rate: Units per second.
        burst: Maximum seconds of refill that it holds.
        now: Seconds on the clock that `spend` uses.
    """

    __slots__ = ("_burst", "_left", "_rate", "_then")

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate = rate
        self._burst = rate * burst
        self._left = self._burst
        self._then = now

    def spend(self, amount: float, now: float) -> float | None:
        """Take `amount` if it is available; otherwise return the seconds until it will be.

        An amount above the burst is taken once the bucket is full; otherwise it could never be taken.
        """
        self._left = min(self._burst, self._left + (now - self._then) * self._rate)
        self._then = now
        needed = min(amount, self._burst)
        if self._left < needed:
            return (needed - self._left) / self._rate
        self._left -= amount
        return None


class RateLimiter:
    """The budgets of all keys.

    Args:
        limits: What each key may send.
        clock: Returns seconds that never decrease.
    """

    def __init__(self, limits: RateLimits, *, clock: Callable[[], float]) -> None:
        self._limits = limits
        self._clock = clock
        self._requests: dict[str, TokenBucket] = {}
        self._bytes: dict[str, TokenBucket] = {}

    def admit_request(self, key_id: str) -> None:
        """Count a request.

        Raises:
            LimitError: the key has sent too many.
        """
        limits = self._limits
        wait = self._bucket(self._requests, key_id, limits.requests).spend(1, self._clock())
        if wait is not None:
            raise LimitError(f"more than {limits.requests:g} requests a second; send larger batches", wait)

    def admit_bytes(self, key_id: str, size: int) -> None:
        """Count the body of a request.

        Raises:
            LimitError: the key has sent too much.
        """
        limits = self._limits
        wait = self._bucket(self._bytes, key_id, limits.bytes).spend(size, self._clock())
        if wait is not None:
            raise LimitError(f"more than {limits.bytes:g} bytes a second; send less", wait)

    def _bucket(self, buckets: dict[str, TokenBucket], key_id: str, rate: float) -> TokenBucket:
        bucket = buckets.get(key_id)
        if bucket is None:  # bounded: one bucket for each accepted key
            bucket = buckets[key_id] = TokenBucket(rate, self._limits.burst, self._clock())
        return bucket

"""Why the world does not take a call, for reasons that the agent has no part in."""

from dataclasses import dataclass

UNAVAILABLE = "unavailable"
RATE_LIMITED = "rate_limited"
TRANSIENT = frozenset({UNAVAILABLE, RATE_LIMITED})
"""The codes of refusals after which the same call may go through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A call that is not taken. Its tool does not run."""

    code: str
    message: str
    latency: int
    """Seconds of the virtual clock until the refusal is there."""

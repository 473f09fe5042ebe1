"""Rewards that an advantage would silently ignore."""

from collections.abc import Mapping

_SHAPED = (
    "bounded",
    "flipped",
    "harm-scale",
    "kl-in-reward",
    "laconic",
    "potential",
    "soft-overlong",
    "solved",
    "tool-bonus",
    "unfinished",
    "ungraded",
)
"""Parts that change rewards, by more than their unit."""


def unread_rewards(read: str) -> Mapping[str, str]:
    """The conflicts of an advantage that does not read rewards.

    Args:
        read: What it reads, in words.
    """
    reason = f"it reads {read} and not what was paid, so the change of rewards would have no effect"
    return {f"reward/{name}": reason for name in _SHAPED}

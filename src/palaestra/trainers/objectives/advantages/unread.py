"""Changes of rewards that an advantage or a loss would ignore, wholly or in part."""

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
    """The conflicts of an advantage or a loss that does not read rewards.

    Args:
        read: What it reads, in words.
    """
    return changed_rewards(f"it reads {read} and not what was paid, so the change of rewards would have no effect")


def changed_rewards(reason: str) -> Mapping[str, str]:
    """The conflicts of a part that no change of rewards goes with, except of their unit."""
    return {f"reward/{name}": reason for name in _SHAPED}

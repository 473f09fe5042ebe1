"""Palaestra: a training hall for tool-using agents.

Importing it registers the environments with Gymnasium; no world is loaded until one is made.
"""

import gymnasium as gym

from palaestra.version import __version__

ENVIRONMENTS = ("palaestra/Storefront-v0",)
"""The ids that `gymnasium.make` knows."""

for _id in ENVIRONMENTS:
    # Gymnasium's own wrappers would check and count what the environment checks and counts itself.
    gym.register(  # pyright: ignore[reportUnknownMemberType]  Gymnasium leaves its kwargs' type open
        _id,
        entry_point="palaestra.envs.env:ToolEnv",
        kwargs={"env_id": _id},
        disable_env_checker=True,
        order_enforce=False,
    )

__all__ = ["ENVIRONMENTS", "__version__"]

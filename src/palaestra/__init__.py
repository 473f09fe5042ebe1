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

BENCHMARKS = (
    "palaestra/ALFWorld-v0",
    "palaestra/AgentDojo-v0",
    "palaestra/AppWorld-v0",
    "palaestra/BFCL-v0",
    "palaestra/BabyAI-v0",
    "palaestra/MiniWoB-v0",
    "palaestra/ScienceWorld-v0",
    "palaestra/Tau2-v0",
    "palaestra/TextWorld-v0",
    "palaestra/Toolathlon-v0",
    "palaestra/WebArenaVerified-v0",
    "palaestra/WebShop-v0",
)
"""The ids of benchmarks that others wrote; each is installed by itself."""

for _id in BENCHMARKS:
    gym.register(  # pyright: ignore[reportUnknownMemberType]  as above
        _id,
        entry_point="palaestra.benchmarks.external.env:ExternalEnv",
        kwargs={"env_id": _id},
        disable_env_checker=True,
        order_enforce=False,
    )

__all__ = ["BENCHMARKS", "ENVIRONMENTS", "__version__"]

"""Where worlds run: in this process, in others, or on other machines."""

from palaestra.agents.hosted import WorldSpec
from palaestra.trainers.rollouts.worlds.local import LocalWorlds

__all__ = ["LocalWorlds", "WorldSpec"]

"""Sources of worlds: in this process, in other processes, or on other machines.

Ray's actors are in the module `actors`, which imports Ray.
"""

from palaestra.agents.hosted import WorldSpec
from palaestra.trainers.rollouts.worlds.delayed import DelayedWorlds, Latency
from palaestra.trainers.rollouts.worlds.local import LocalWorlds
from palaestra.trainers.rollouts.worlds.processes import ProcessWorlds
from palaestra.trainers.rollouts.worlds.remote import Timeouts

__all__ = ["DelayedWorlds", "Latency", "LocalWorlds", "ProcessWorlds", "Timeouts", "WorldSpec"]

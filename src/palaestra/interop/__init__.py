"""Adapters that offer Palaestra's worlds to other trainers and evaluators.

Each adapter module needs its framework installed: `trl`, `verifiers`, `verl`, `inspect_ai`. The modules that they share
need none of them. As everywhere, a policy gets only messages and tool schemas. A fault of the world is never a reward:
each adapter reports it in the form that its framework has for an episode that does not count.
"""

from palaestra.interop.episode import AdaptedEpisode, EnvMaker
from palaestra.interop.source import EnvSource

__all__ = ["AdaptedEpisode", "EnvMaker", "EnvSource"]

"""Palaestra's worlds behind the interfaces of other people's trainers and evaluators.

Each module is for one framework and needs it installed: `trl`, `verifiers`, `verl`, `inspect_ai`. What they
share is here and needs none of them. A policy is given messages and tool schemas and nothing else, as everywhere. A
fault of the world is never a reward: each adapter reports it in its framework's way for an episode that does not count.
"""

from palaestra.interop.episode import AdaptedEpisode, EnvMaker
from palaestra.interop.source import EnvSource

__all__ = ["AdaptedEpisode", "EnvMaker", "EnvSource"]

"""Several of our own engines, each in a process of its own, behind one protocol."""

from palaestra.trainers.engines.replicas.config import ReplicasConfig
from palaestra.trainers.engines.replicas.engine import ReplicaEngine

__all__ = ["ReplicaEngine", "ReplicasConfig"]

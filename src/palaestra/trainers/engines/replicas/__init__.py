"""Several native engines, each in its own process, behind one interface."""

from palaestra.trainers.engines.replicas.config import ReplicasConfig
from palaestra.trainers.engines.replicas.engine import ReplicaEngine

__all__ = ["ReplicaEngine", "ReplicasConfig"]

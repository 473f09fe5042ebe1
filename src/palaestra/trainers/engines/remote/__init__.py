"""Servers that speak OpenAI's protocol. Needs the extra `remote`."""

from palaestra.trainers.engines.remote.config import RemoteEngineConfig
from palaestra.trainers.engines.remote.engine import RemoteEngine

__all__ = ["RemoteEngine", "RemoteEngineConfig"]

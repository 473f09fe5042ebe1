"""Worlds on a server as Gymnasium environments."""

from palaestra.serving.client.connection import KEY_VARIABLE, ServerConnection
from palaestra.serving.client.env import ServedEnv, ServedSnapshot
from palaestra.serving.client.vector_env import ServedVectorEnv

__all__ = ["KEY_VARIABLE", "ServedEnv", "ServedSnapshot", "ServedVectorEnv", "ServerConnection"]

"""vLLM behind our protocol."""

from palaestra.trainers.engines.vllm.config import VllmConfig
from palaestra.trainers.engines.vllm.engine import VllmEngine

__all__ = ["VllmConfig", "VllmEngine"]

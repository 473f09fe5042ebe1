"""vLLM as an engine."""

from palaestra.trainers.engines.vllm.config import VllmConfig
from palaestra.trainers.engines.vllm.engine import VllmEngine

__all__ = ["VllmConfig", "VllmEngine"]

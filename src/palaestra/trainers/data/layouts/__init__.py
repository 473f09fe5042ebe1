"""The layouts: padded, packed, and with shared prefixes. They differ in cost and in nothing that is computed."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.layout import Layout
from palaestra.trainers.data.layouts.packed import packed
from palaestra.trainers.data.layouts.padded import padded
from palaestra.trainers.data.layouts.shared import shared

__all__ = ["LAYOUTS", "LayoutName", "packed", "padded", "shared"]

LayoutName: TypeAlias = Literal["packed", "padded", "shared"]

LAYOUTS: Mapping[LayoutName, Callable[[TokenBatch], Layout]] = MappingProxyType(
    {"packed": packed, "padded": padded, "shared": shared}
)
"""Each layout by its name."""

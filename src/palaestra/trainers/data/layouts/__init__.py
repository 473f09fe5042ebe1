"""The layouts: padded, packed, and with shared prefixes. They compute the same and differ in cost."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.layout import Layout
from palaestra.trainers.data.layouts.packed import packed_layout
from palaestra.trainers.data.layouts.padded import padded_layout
from palaestra.trainers.data.layouts.shared import shared_layout

__all__ = ["LAYOUTS", "LayoutName", "packed_layout", "padded_layout", "shared_layout"]

LayoutName: TypeAlias = Literal["packed", "padded", "shared"]

LAYOUTS: Mapping[LayoutName, Callable[[TokenBatch], Layout]] = MappingProxyType(
    {"packed": packed_layout, "padded": padded_layout, "shared": shared_layout}
)
"""The layouts by name."""

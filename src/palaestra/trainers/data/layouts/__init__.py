"""The layouts: padded, packed, and with shared prefixes. They differ in cost and in nothing that is computed."""

from palaestra.trainers.data.layouts.packed import packed
from palaestra.trainers.data.layouts.padded import padded

__all__ = ["packed", "padded"]

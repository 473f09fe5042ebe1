"""Pages measured: whether both renderers agree, step by step."""

from palaestra.benchmarks.pages.hands import random_action
from palaestra.benchmarks.pages.parity import ParityItem, ParityResult, measure_parity, parity_items, parity_table

__all__ = ["ParityItem", "ParityResult", "measure_parity", "parity_items", "parity_table", "random_action"]

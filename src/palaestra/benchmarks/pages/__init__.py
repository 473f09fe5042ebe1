"""Pages: whether both renderers agree, step by step; and tasks that a person does on them."""

from palaestra.benchmarks.pages.by_hand import HandPlay, judge_by_replay, serve_hand_play
from palaestra.benchmarks.pages.oracles import OraclesOnPages, oracles_table, play_oracles
from palaestra.benchmarks.pages.parity import ParityItem, ParityResult, measure_parity, parity_items, parity_tables

__all__ = [
    "HandPlay",
    "OraclesOnPages",
    "ParityItem",
    "ParityResult",
    "judge_by_replay",
    "measure_parity",
    "oracles_table",
    "parity_items",
    "parity_tables",
    "play_oracles",
    "serve_hand_play",
]

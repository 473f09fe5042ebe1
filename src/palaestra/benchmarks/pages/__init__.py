"""Pages: whether both renderers agree, whether tasks hold on them, and tasks that a person does on them."""

from palaestra.benchmarks.pages.by_hand import HandPlay, judge_by_replay, serve_hand_play
from palaestra.benchmarks.pages.gate import GateItem, GateRow, gate_faults, gate_items, gate_tables, run_gate
from palaestra.benchmarks.pages.oracles import OraclesOnPages, oracles_table, play_oracles
from palaestra.benchmarks.pages.parity import ParityItem, ParityResult, measure_parity, parity_items, parity_table

__all__ = [
    "GateItem",
    "GateRow",
    "HandPlay",
    "OraclesOnPages",
    "ParityItem",
    "ParityResult",
    "gate_faults",
    "gate_items",
    "gate_tables",
    "judge_by_replay",
    "measure_parity",
    "oracles_table",
    "parity_items",
    "parity_table",
    "play_oracles",
    "run_gate",
    "serve_hand_play",
]

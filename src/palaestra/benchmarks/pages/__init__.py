"""Benchmarks of pages: agreement of renderers, repeatability, proof of tasks, recurrence of states, play by hand."""

from palaestra.benchmarks.pages.anchors import (
    AnchorCell,
    AnchorGroup,
    NoisyOracle,
    anchor_cells,
    anchors_panels,
    anchors_table,
    count_anchors,
    measure_anchors,
)
from palaestra.benchmarks.pages.by_hand import HandPlay, judge_by_replay, serve_hand_play
from palaestra.benchmarks.pages.determinism import (
    RepeatedEpisode,
    determinism_table,
    measure_digests,
    measure_pictures,
    unequal_episodes,
)
from palaestra.benchmarks.pages.gate import GateItem, GateRow, gate_faults, gate_items, gate_tables, run_gate
from palaestra.benchmarks.pages.oracles import OraclesOnPages, oracles_table, play_oracles
from palaestra.benchmarks.pages.parity import ParityItem, ParityResult, measure_parity, parity_items, parity_tables

__all__ = [
    "AnchorCell",
    "AnchorGroup",
    "GateItem",
    "GateRow",
    "HandPlay",
    "NoisyOracle",
    "OraclesOnPages",
    "ParityItem",
    "ParityResult",
    "RepeatedEpisode",
    "anchor_cells",
    "anchors_panels",
    "anchors_table",
    "count_anchors",
    "determinism_table",
    "gate_faults",
    "gate_items",
    "gate_tables",
    "judge_by_replay",
    "measure_anchors",
    "measure_digests",
    "measure_parity",
    "measure_pictures",
    "oracles_table",
    "parity_items",
    "parity_tables",
    "play_oracles",
    "run_gate",
    "serve_hand_play",
    "unequal_episodes",
]

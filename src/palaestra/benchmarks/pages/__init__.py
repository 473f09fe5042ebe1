"""Pages: whether both renderers agree and episodes repeat, how often states recur, and tasks that a person does."""

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
from palaestra.benchmarks.pages.oracles import OraclesOnPages, oracles_table, play_oracles
from palaestra.benchmarks.pages.parity import ParityItem, ParityResult, measure_parity, parity_items, parity_tables

__all__ = [
    "AnchorCell",
    "AnchorGroup",
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
    "judge_by_replay",
    "measure_anchors",
    "measure_digests",
    "measure_parity",
    "measure_pictures",
    "oracles_table",
    "parity_items",
    "parity_tables",
    "play_oracles",
    "serve_hand_play",
    "unequal_episodes",
]

"""Our own engine: many trajectories in one batch, their keys and values kept while their worlds answer."""

from palaestra.trainers.engines.native.config import NativeConfig
from palaestra.trainers.engines.native.engine import NativeEngine
from palaestra.trainers.engines.native.schedule import (
    Arrived,
    Free,
    Plan,
    Recording,
    Replay,
    Schedule,
    Turn,
    Update,
    Withdrawal,
)

__all__ = [
    "Arrived",
    "Free",
    "NativeConfig",
    "NativeEngine",
    "Plan",
    "Recording",
    "Replay",
    "Schedule",
    "Turn",
    "Update",
    "Withdrawal",
]

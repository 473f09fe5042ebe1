"""The native engine: many trajectories in one batch, whose keys and values are kept while their worlds answer."""

from palaestra.trainers.engines.native.config import NativeConfig
from palaestra.trainers.engines.native.engine import NativeEngine
from palaestra.trainers.engines.native.schedule import (
    EngineArrivals,
    EnginePlan,
    EngineSchedule,
    FreeSchedule,
    ReplaySchedule,
    ScheduleRecorder,
    TurnKey,
    WeightUpdate,
    Withdrawal,
    recorded_placements,
)

__all__ = [
    "EngineArrivals",
    "EnginePlan",
    "EngineSchedule",
    "FreeSchedule",
    "NativeConfig",
    "NativeEngine",
    "ReplaySchedule",
    "ScheduleRecorder",
    "TurnKey",
    "WeightUpdate",
    "Withdrawal",
    "recorded_placements",
]

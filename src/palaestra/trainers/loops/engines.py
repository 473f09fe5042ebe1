"""Creates the engine that samples a run's rollouts."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from palaestra.errors import ConfigError
from palaestra.trainers.engines.engine import Engine, Weights
from palaestra.trainers.engines.native import (
    EngineSchedule,
    FreeSchedule,
    NativeEngine,
    ReplaySchedule,
    ScheduleRecorder,
)
from palaestra.trainers.engines.replicas import ReplicaEngine
from palaestra.trainers.engines.vllm import VllmEngine
from palaestra.trainers.loops.record import RecordedRun
from palaestra.trainers.loops.rollout_config import GroupStageConfig, GrpoConfig
from palaestra.trainers.policy import Policy

_SERVED = "served"


def engine_of(
    config: GroupStageConfig,
    policy: Policy,
    weights: Weights,
    directory: Path,
    *,
    sink: Callable[[bytes], None],
    replay: RecordedRun | None,
    say: Callable[[str], None] = print,
) -> Engine:
    """The engine that the settings select, with the policy's weights.

    Args:
        config: The native engine, unless it has a section for vLLM.
        policy: The policy whose turns the engine samples.
        weights: The initial weights; adapters among them stay separate from the engine's own weights from then on.
        directory: The stage's folder, from which vLLM loads the policy.
        sink: Called with each line of the native engine's schedule.
        replay: The run whose schedule the engine follows.
        say: Called with a message if a replica has died.

    Raises:
        ConfigError: vLLM cannot replay a run, or serve a policy with a temperature head.
        ReplayError: a replica died when the run was recorded.
    """
    if config.vllm is None:
        head = isinstance(config, GrpoConfig) and config.objective.build().temperature is not None
        if config.replicas is not None:
            return ReplicaEngine(
                policy.model,
                config.engine,
                config.replicas,
                temperature_head=head,
                sink=sink if replay is None else None,
                replay=None if replay is None else replay.schedule,
                say=say,
            )
        schedule: EngineSchedule = (
            ScheduleRecorder(FreeSchedule(), sink) if replay is None else ReplaySchedule(replay.schedule)
        )
        model = policy.model.with_adapters(weights)
        return NativeEngine(model, config.engine, schedule=schedule, temperature_head=head)
    if replay is not None:
        raise ConfigError("vllm: vLLM schedules by itself and is held to no record; replay with our own engine")
    if policy.model.temperature_head is not None:
        raise ConfigError(
            "vllm: the policy has a temperature head, which vLLM does not load; draw with our own engine, or "
            "start from the policy before it had one"
        )
    policy.save(directory / _SERVED)
    return VllmEngine(replace(config.vllm, model=directory / _SERVED))

"""The devices of a run's parts. They are resolved before anything is written, so that a run records what it used."""

from dataclasses import dataclass, replace

from palaestra.errors import ConfigError
from palaestra.trainers.critic import CriticConfig
from palaestra.trainers.device import resolve_device, resolve_precision
from palaestra.trainers.engines.replicas import ReplicasConfig
from palaestra.trainers.learner import LearnerConfig
from palaestra.trainers.loops.config import StageConfig, TrainConfig
from palaestra.trainers.loops.imitation_config import SftConfig
from palaestra.trainers.loops.rollout_config import GroupStageConfig, GrpoConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The device and precision of a part."""

    part: str
    """The part, such as "grpo learner"."""
    device: str
    precision: str
    """The precision of products; for an engine also of keys and values, unless the detail says otherwise."""
    detail: str
    """Other settings that decide memory and speed."""


def place(config: TrainConfig) -> TrainConfig:
    """The same settings with every device and precision resolved for this machine.

    A run's `invariant` sets that of the engine and the learner in each stage with rollouts.

    Raises:
        ConfigError: a device is unknown or missing, or a stage's settings do not allow the invariant mode.
    """
    device = resolve_device(config.device)
    stages = {name: _place_stage(name, stage, device, config.invariant) for name, stage in config.stages.items()}
    return replace(config, device=device, stages=stages)


def _place_stage(name: str, stage: StageConfig, device: str, invariant: bool) -> StageConfig:  # noqa: FBT001
    learner = _place(stage.learner, device, f"{name}.learner.device")
    if isinstance(stage, SftConfig):
        return replace(stage, learner=learner)
    replicas = _place_replicas(name, stage.replicas)
    if replicas is not None and replicas.devices:
        where = replicas.devices[0]
    else:
        where = resolve_device(stage.engine.device or device, setting=f"{name}.engine.device")
    engine = replace(stage.engine, device=where, precision=resolve_precision(stage.engine.precision, where))
    try:
        if invariant:
            learner, engine = replace(learner, invariant=True), replace(engine, invariant=True)
        if not isinstance(stage, GrpoConfig):
            return replace(stage, learner=learner, engine=engine, replicas=replicas)
        assert learner.device is not None
        critic = replace(
            stage.critic, learner=_place(stage.critic.learner, learner.device, f"{name}.critic.learner.device")
        )
        return replace(stage, learner=learner, engine=engine, replicas=replicas, critic=critic)
    except ValueError as error:
        raise ConfigError(f"{name}: {error}") from error


def _place_replicas(name: str, replicas: ReplicasConfig | None) -> ReplicasConfig | None:
    if replicas is None:
        return None
    devices = tuple(resolve_device(one, setting=f"{name}.replicas.devices") for one in replicas.devices)
    return replace(replicas, devices=devices)


def _place(learner: LearnerConfig, otherwise: str, name: str) -> LearnerConfig:
    device = resolve_device(learner.device or otherwise, setting=name)
    return replace(learner, device=device, precision=resolve_precision(learner.precision, device))


def placements(config: TrainConfig) -> list[Placement]:
    """The placement of each part of a run.

    Args:
        config: The settings with resolved devices, from `place`.
    """
    found: list[Placement] = []
    sampling = [name for name, stage in config.stages.items() if isinstance(stage, GroupStageConfig)]
    for name, stage in config.stages.items():
        found.append(_of_learner(f"{name} learner", stage))
        whose = f"{name} " if len(sampling) > 1 else ""
        if isinstance(stage, GrpoConfig) and stage.objective.build().critic is not None:
            found.append(_of_learner(f"{whose}critic", stage.critic))
        if isinstance(stage, GroupStageConfig):
            found.append(_of_engine(f"{whose}engine", stage))
    return found


def _of_learner(part: str, config: StageConfig | CriticConfig) -> Placement:
    learner = config.learner
    detail = f"layout {learner.layout}, {learner.micro_tokens:,} tokens a micro-batch"
    if learner.keys_and_values == "fp8":
        detail += ", keys and values in fp8"
    if learner.invariant:
        detail += ", invariant"
    if learner.checkpointing:
        detail += ", checkpointing"
    if learner.lora is not None:
        detail += f", adapters of rank {learner.lora.rank}"
    return Placement(part=part, device=learner.device or "cpu", precision=learner.precision, detail=detail)


def _of_engine(part: str, config: GroupStageConfig) -> Placement:
    if config.vllm is not None:
        detail = f"vLLM, {config.vllm.turns} turns at once"
        return Placement(part=part, device="vLLM's own", precision=config.vllm.dtype or "of the files", detail=detail)
    engine, replicas = config.engine, config.replicas
    detail = f"native, {engine.rows} turns at once"
    if engine.keys_and_values == "fp8":
        detail += ", keys and values in fp8"
    if engine.invariant:
        detail += ", invariant"
    device = engine.device or "cpu"
    if replicas is not None:
        threads = "1 thread" if replicas.threads == 1 else f"{replicas.threads} threads"
        detail = f"{replicas.count} replicas of {threads}, each {detail}"
        device = ", ".join(dict.fromkeys(replicas.devices)) or device
    return Placement(part=part, device=device, precision=engine.precision, detail=detail)

"""Where the parts of a run work: devices are resolved before anything is written, so that a run records what it had."""

from dataclasses import dataclass, replace

from palaestra.trainers.critic import CriticConfig
from palaestra.trainers.device import resolve_device, resolve_precision
from palaestra.trainers.learner import LearnerConfig
from palaestra.trainers.loops.config import GrpoConfig, SftConfig, TrainConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where a part works, and in which precision."""

    part: str
    """Such as "grpo learner"."""
    device: str
    precision: str
    """Of the products; of an engine also of keys and values."""
    detail: str
    """What else decides memory and speed."""


def place(config: TrainConfig) -> TrainConfig:
    """The same settings with every device in torch's words and every precision, as this machine has them.

    Raises:
        ConfigError: a device is unknown, or is not there.
    """
    device = resolve_device(config.device)
    sft, grpo = config.sft, config.grpo
    if sft is not None:
        sft = replace(sft, learner=_placed(sft.learner, device, "sft.learner.device"))
    if grpo is not None:
        learner = _placed(grpo.learner, device, "grpo.learner.device")
        assert learner.device is not None
        critic = replace(
            grpo.critic, learner=_placed(grpo.critic.learner, learner.device, "grpo.critic.learner.device")
        )
        name = "grpo.engine.device"
        where = resolve_device(grpo.engine.device or device, setting=name)
        engine = replace(grpo.engine, device=where, precision=resolve_precision(grpo.engine.precision, where))
        grpo = replace(grpo, learner=learner, critic=critic, engine=engine)
    return replace(config, device=device, sft=sft, grpo=grpo)


def _placed(learner: LearnerConfig, otherwise: str, name: str) -> LearnerConfig:
    device = resolve_device(learner.device or otherwise, setting=name)
    return replace(learner, device=device, precision=resolve_precision(learner.precision, device))


def placements(config: TrainConfig) -> list[Placement]:
    """Where each part of a run works.

    Args:
        config: With devices, as `place` gives it.
    """
    found: list[Placement] = []
    if config.sft is not None:
        found.append(_of_learner("sft learner", config.sft))
    if config.grpo is not None:
        found.append(_of_learner("grpo learner", config.grpo))
        if config.grpo.objective.built().critic is not None:
            found.append(_of_learner("critic", config.grpo.critic))
        found.append(_of_engine(config.grpo))
    return found


def _of_learner(part: str, config: SftConfig | GrpoConfig | CriticConfig) -> Placement:
    learner = config.learner
    detail = f"layout {learner.layout}, {learner.micro_tokens:,} tokens a micro-batch"
    if learner.checkpointing:
        detail += ", checkpointing"
    if learner.lora is not None:
        detail += f", adapters of rank {learner.lora.rank}"
    return Placement(part=part, device=learner.device or "cpu", precision=learner.precision, detail=detail)


def _of_engine(config: GrpoConfig) -> Placement:
    if config.vllm is not None:
        detail = f"vLLM, {config.vllm.turns} turns at once"
        return Placement(
            part="engine", device="vLLM's own", precision=config.vllm.dtype or "of the files", detail=detail
        )
    engine = config.engine
    detail = f"native, {engine.rows} turns at once"
    return Placement(part="engine", device=engine.device or "cpu", precision=engine.precision, detail=detail)

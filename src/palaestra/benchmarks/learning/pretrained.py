"""The settings of a run that starts from a pretrained base, and an estimate of its time.

A storefront prompt of SmolLM2 has about 3,150 tokens, and a solved episode of a short family 1,150 more. Two processor
cores train on about a million such tokens per hour. So the run learns from few families and few sequences, and each
policy is measured once on each task.
"""

from dataclasses import replace
from os import cpu_count
from typing import Any

from palaestra.benchmarks.learning.run import STAGES, LearningConfig
from palaestra.trainers import (
    BranchingConfig,
    ChoiceConfig,
    ExpertConfig,
    GrpoConfig,
    LearnerConfig,
    NativeConfig,
    ObjectiveConfig,
    PlayConfig,
    PoolConfig,
    SftConfig,
    Staleness,
)
from palaestra.trainers.device import resolve_device, resolve_precision
from palaestra.trainers.learner import LoraConfig

_CONTEXT = 8192
_ROWS = 16
_GPU_ROWS = 128
_GPU_MICRO_TOKENS = 32_768
_PROMPT, _REST = 3150, 1150
"""Tokens of a storefront prompt in the format `smollm2`, and of the rest of a solved episode of the short families."""
_TRAINED_A_SECOND = 117.0
"""Tokens per second on which one thread trains SmolLM2-135M in bfloat16: docs/training.md."""
_RECOMPUTED = 4 / 3
"""Time factor of checkpointing, which computes each block's forward pass once more."""
_EPISODE_SECONDS = 15.0
"""Seconds of one thread per episode in bfloat16: about 8 for a trained policy, about 20 for the base."""
_SINGLE_PRECISION = 2.6
"""Time factor of single precision."""
_EFFICIENCY = 0.9
"""Speed of each of several threads, relative to a single thread."""
_CONTROLS = 3


def _learner(lr: float) -> LearnerConfig:
    return LearnerConfig(
        lr=lr, weight_decay=0.0, micro_tokens=5120, precision="auto", lora=LoraConfig(rank=16, alpha=32)
    )


def pretrained_config(base: str, *, controls: bool = False) -> LearningConfig:
    """The default settings for a pretrained base.

    Args:
        base: The name of a pretrained model, or the folder of a checkpoint.
        controls: Whether to train controls as well.
    """
    config = _on_processor(base, controls=controls)
    return _on_gpu(config) if resolve_device(config.device).startswith("cuda") else config


def _on_processor(base: str, *, controls: bool) -> LearningConfig:
    play = PlayConfig(context=_CONTEXT, turn=84, turns=14)
    pool = PoolConfig(agents=_ROWS)
    engine = NativeConfig(rows=_ROWS, capacity=_ROWS * _CONTEXT, precision="auto", device="auto")
    return LearningConfig(
        base=base,
        threads=2,
        demonstrations=20,
        families=6,
        heldout=2,
        sft=SftConfig(steps=32, batch=4, warmup_steps=4, learner=_learner(1e-3)),
        expert=ExpertConfig(
            steps=2,
            updates=5,
            batch=4,
            demonstration_share=0.5,
            group_size=4,
            limits=Staleness(per_step=8),
            learner=_learner(5e-4),
            choice=ChoiceConfig(rule="bandit", instances="endless"),
            branching=BranchingConfig(pivots=("best",), continuations=2),
            patience=None,
            play=play,
            pool=pool,
            engine=engine,
        ),
        grpo=GrpoConfig(
            steps=2,
            updates=1,
            group_size=4,
            limits=Staleness(per_step=5),
            objective=ObjectiveConfig(parts={"rewards": ["solved"]}),
            # A group's prompt is processed once if the whole group is one micro-batch. This needs checkpointing:
            # without it, 8,192 tokens take 8 GB.
            learner=replace(_learner(1e-4), layout="shared", micro_tokens=_CONTEXT, checkpointing=True),
            patience=None,
            play=play,
            pool=pool,
            engine=engine,
        ),
        controls=controls,
        samples=1,
        temperatures=(0.3,),
        device="auto",
    )


def _on_gpu(config: LearningConfig) -> LearningConfig:
    """Settings with all families, and stages with a time limit: about five minutes on an H200, evaluations included."""

    def learner(lr: float) -> LearnerConfig:
        return replace(_learner(lr), micro_tokens=_GPU_MICRO_TOKENS, logits_chunk=2048)

    played: dict[str, Any] = {
        "pool": PoolConfig(agents=_GPU_ROWS),
        "engine": NativeConfig(
            rows=_GPU_ROWS, capacity=_GPU_ROWS * _CONTEXT, prefill=8192, precision="auto", device="auto"
        ),
    }
    return replace(
        config,
        families=None,
        sft=replace(config.sft, batch=16, warmup_steps=8, cpu_seconds=40.0, learner=learner(1e-3)),
        expert=replace(
            config.expert,
            updates=16,
            batch=16,
            cpu_seconds=80.0,
            limits=Staleness(per_step=_GPU_ROWS // 4),
            learner=learner(5e-4),
            **played,
        ),
        grpo=replace(
            config.grpo,
            group_size=8,
            cpu_seconds=40.0,
            limits=Staleness(per_step=_GPU_ROWS // 8),
            learner=replace(learner(1e-4), layout="shared"),
            **played,
        ),
    )


def estimate_time(config: LearningConfig, *, tasks: int, seeds: int = 1) -> str:
    """Describe in a sentence how much a run with a pretrained base trains and plays, and how long it takes.

    The time is an estimate from measurements with SmolLM2-135M in the Storefront.

    Args:
        config: The run's settings.
        tasks: Number of held-out tasks.
        seeds: Number of runs.
    """
    sft, expert, grpo = config.sft, config.expert, config.grpo
    policies = 1 + len(STAGES) + _CONTROLS * config.controls
    measured = policies * tasks * sum(config.samples if temperature else 1 for temperature in config.temperatures)
    if None not in (ends := (sft.cpu_seconds, expert.cpu_seconds, grpo.cpu_seconds)):
        seconds = ", ".join(f"{end:g}" for end in ends)
        return (
            f"base {config.base}: trains for {seconds} s of processor time in its stages, and plays {measured} "
            "episodes in evaluation; no estimate of the whole time"
        )
    branched = 0 if expert.branching is None else len(expert.branching.pivots) * expert.branching.continuations
    played = {
        "expert": expert.steps * expert.limits.per_step * (expert.group_size + branched),
        "grpo": grpo.steps * grpo.limits.per_step * grpo.group_size,
    }
    imitated = {"sft": sft.steps * sft.batch, "expert": expert.steps * expert.updates * expert.batch}
    prompts = grpo.steps * grpo.updates * grpo.limits.per_step  # the layout processes a group's prompt once
    tokens = {stage: count * (_PROMPT + _REST) for stage, count in imitated.items()}
    tokens["grpo"] = prompts * (_PROMPT + grpo.group_size * _REST)
    learners = {"sft": sft.learner, "expert": expert.learner, "grpo": grpo.learner}
    taken = {
        stage: tokens[stage] / _TRAINED_A_SECOND * (_RECOMPUTED if learner.checkpointing else 1.0)
        + played.get(stage, 0) * _EPISODE_SECONDS
        for stage, learner in learners.items()
    }
    total = sum(taken.values())
    if config.controls:
        total += 2 * (taken["expert"] + taken["grpo"]) + taken["sft"] + taken["expert"]
    total += measured * _EPISODE_SECONDS
    return (
        f"base {config.base}: trains on {sum(tokens.values()) / 1e6:.1f} million tokens, plays {sum(played.values())} "
        f"episodes in training and {measured} in evaluation; {_time(config, seeds * total)}"
    )


def _time(config: LearningConfig, seconds: float) -> str:
    """Describe a time that is estimated from seconds of one thread in bfloat16."""
    precision = resolve_precision("auto", "cpu")
    threads = min(config.threads, cpu_count() or 1)
    speed = 1.0 if threads == 1 else _EFFICIENCY * threads
    hours = seconds / 3600 / speed * (1.0 if precision == "bf16" else _SINGLE_PRECISION)
    return (
        f"estimated time: {hours:.1f} hours on {threads} idle cores in {precision} for a model of SmolLM2-135M's size"
    )

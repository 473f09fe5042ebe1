"""Arms with other formats of rollouts and training: equal steps and tasks, with and without a correction."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from palaestra.benchmarks.ablations.arm import AblationArm, AblationConfig, AblationTable, Stages
from palaestra.trainers import ObjectiveConfig, WeightNoiseConfig
from palaestra.trainers.device import Precision

_STEPS = 24
"""Steps of every arm: sampling in FP8 takes three to four times as long as in bfloat16, and a cell ten minutes."""
_LEVELS = 6
"""Number of levels of noise on the weights; the steps go through all of them."""


def _flow(
    rollouts: Precision, training: Precision, correction: str, *, noise: bool = False
) -> Callable[[AblationConfig], Stages]:
    def stages(config: AblationConfig) -> Stages:
        steps = _steps(config)
        # The ratio compares with the weights at the beginning of a step, so that only the correction reads the
        # rollouts.
        parts = {**config.grpo.objective.parts, "ratio": {"anchor": "old"}, "corrections": [correction]}
        return {
            "grpo": replace(
                config.grpo,
                steps=steps,
                objective=ObjectiveConfig(parts=parts),
                engine=replace(config.grpo.engine, precision=rollouts),
                learner=replace(config.grpo.learner, precision=training),
                weight_noise=WeightNoiseConfig(levels=_LEVELS, hold=max(1, steps // _LEVELS)) if noise else None,
            )
        }

    return stages


def _steps(config: AblationConfig) -> int:
    """The number of steps of these arms; proportionally fewer where other arms get less time than usual."""
    return max(2, round(_STEPS * config.cpu_seconds / AblationConfig().cpu_seconds))


def _describe_equal_steps(config: AblationConfig) -> str:
    return (
        f"Every arm trains for {_steps(config)} steps after a warm start of {config.sft.steps} steps, paid for solved "
        "tasks, and is measured in fp32. Corrected: token-wise truncated importance weights. Mismatch: of rollouts and "
        "training on equal weights, in nats a token, as a mean and at most."
    )


FLOW_ARMS: Mapping[str, AblationArm] = MappingProxyType(
    {
        "flow-fp32": AblationArm(what="fp32", stages=_flow("fp32", "fp32", "token-tis")),
        "flow-bf16": AblationArm(what="bf16", stages=_flow("bf16", "bf16", "token-tis")),
        "flow-fp8": AblationArm(what="fp8", stages=_flow("fp8", "fp8", "token-tis")),
        "flow-bf16-fp32": AblationArm(what="bf16 rollouts, fp32 training", stages=_flow("bf16", "fp32", "token-tis")),
        "flow-bf16-fp32-uncorrected": AblationArm(
            what="bf16 rollouts, fp32 training, uncorrected", stages=_flow("bf16", "fp32", "uncorrected")
        ),
        "flow-fp8-bf16": AblationArm(what="fp8 rollouts, bf16 training", stages=_flow("fp8", "bf16", "token-tis")),
        "flow-fp8-bf16-uncorrected": AblationArm(
            what="fp8 rollouts, bf16 training, uncorrected", stages=_flow("fp8", "bf16", "uncorrected")
        ),
        "flow-fp8-uncorrected": AblationArm(what="fp8, uncorrected", stages=_flow("fp8", "fp8", "uncorrected")),
        "flow-bf16-noise": AblationArm(
            what="bf16, noise on the weights that draw", stages=_flow("bf16", "bf16", "token-tis", noise=True)
        ),
    }
)
FLOW_TABLE = AblationTable(
    question="What do low precision and its correction do to learning?",
    arms=("warm-start", *FLOW_ARMS),
    against="flow-fp32",
    over="fp32",
    budget=_describe_equal_steps,
    figures=("mismatch", "CPU s a step"),
)

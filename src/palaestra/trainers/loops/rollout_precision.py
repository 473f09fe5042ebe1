"""Checks of a stage's precision settings: rollouts in a lower precision than training need a correction."""

from palaestra.trainers.device import AUTO, FOUR_BITS, QUANTISED_PRECISIONS, ResolvedPrecision
from palaestra.trainers.engines.native import NativeConfig
from palaestra.trainers.engines.vllm import VllmConfig
from palaestra.trainers.learner import LearnerConfig

_ORDER: tuple[ResolvedPrecision, ...] = ("fp8", "fp8-block", "bf16", "fp32")
"""The precisions from the lowest to the highest."""
_OF_VLLM: dict[str | None, ResolvedPrecision] = {"float16": "bf16", "bfloat16": "bf16", "float32": "fp32", None: "fp32"}
_WAY_OUT = (
    'or take objective.parts.ratio = { anchor = "rollout" } with a trust region that reads ratios, or '
    'objective.parts.corrections = ["token-tis"] with ratio.anchor = "old"'
)


def check_rollout_precision(
    engine: NativeConfig, learner: LearnerConfig, *, vllm: VllmConfig | None, corrects: bool
) -> None:
    """Refuse rollouts in a lower precision than training, unless a part of the objective corrects for it.

    Different formats of keys and values are refused as well. Training in FP8 is refused with rollouts in any other
    precision, including those of vLLM. Settings with "auto" pass here, and are checked again once it is resolved.

    Args:
        engine: The stage's engine settings.
        learner: The stage's learner settings.
        vllm: The stage's settings, if vLLM samples.
        corrects: Whether the objective corrects for different log-probabilities of the rollouts.

    Raises:
        ValueError: a check fails; the message names the settings, the rule and what to do.
    """
    if corrects:
        return
    _check_keys_and_values(engine, learner, vllm=vllm is not None)
    training = learner.precision
    rollouts = engine.precision if vllm is None else _precision_of(vllm)
    if AUTO in (training, rollouts):
        return
    shared = vllm is None or training not in QUANTISED_PRECISIONS
    if rollouts == training and shared:
        return
    if training in QUANTISED_PRECISIONS or _ORDER.index(rollouts) < _ORDER.index(training):
        drawn = f"engine.precision={rollouts!r}" if vllm is None else f"vllm in {rollouts}"
        same = "write the same precision for both" if vllm is None else "let both compute in bf16, or in fp32"
        raise ValueError(
            f"{drawn}, learner.precision={training!r}: rollouts have other log-probabilities than the forward pass of "
            f"training, and nothing in the objective corrects for it; {same}, {_WAY_OUT}"
        )


def check_four_bits(engine: NativeConfig, learner: LearnerConfig, *, vllm: bool) -> None:
    """Refuse weights in 4 bits if only the engine or only the learner has them.

    Such an engine takes adapters separately, not merged into the weights: rounding merged weights to 4 bits again would
    lose most of what was learnt.

    Args:
        engine: The stage's engine settings.
        learner: The stage's learner settings.
        vllm: Whether vLLM samples.

    Raises:
        ValueError: a check fails; the message names the settings, the rule and what to do.
    """
    if FOUR_BITS not in (engine.precision, learner.precision):
        return
    if vllm:
        raise ValueError(
            f"vllm, precision={FOUR_BITS!r}: our engine draws with weights in 4 bits and adapters beside them, and "
            "vLLM is given whole weights; leave vllm out, or write another precision"
        )
    if engine.precision != learner.precision:
        raise ValueError(
            f"engine.precision={engine.precision!r}, learner.precision={learner.precision!r}: weights in 4 bits with "
            f'adapters beside them are one policy, which both compute; write precision = "{FOUR_BITS}" for both, or '
            "for neither"
        )


def _check_keys_and_values(engine: NativeConfig, learner: LearnerConfig, *, vllm: bool) -> None:
    """Refuse rollouts that read keys and values in a different format than training does.

    A low format of vLLM's own keys and values is handled by `_precision_of`, since vLLM rounds with other scales.
    """
    training = learner.keys_and_values
    if training == ("states" if vllm else engine.keys_and_values):
        return
    drawn, same = f"engine.keys_and_values={engine.keys_and_values!r}", "write the same format for both"
    if vllm:
        drawn, same = "vllm", "leave learner.keys_and_values out"
    raise ValueError(
        f"{drawn}, learner.keys_and_values={training!r}: rollouts have other log-probabilities than the forward pass "
        f"of training, and nothing in the objective corrects for it; {same}, {_WAY_OUT}"
    )


def _precision_of(vllm: VllmConfig) -> ResolvedPrecision:
    """The nearest flow to the lowest format that vLLM is set to compute in."""
    low = [vllm.arguments.get(name) for name in ("quantization", "kv_cache_dtype")]
    if any(value not in (None, "auto") for value in low):
        return "fp8"
    return _OF_VLLM[vllm.dtype]

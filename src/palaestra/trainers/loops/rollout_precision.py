"""What a stage's settings say of precision: rollouts in a lower one than training need a correction."""

from palaestra.trainers.device import AUTO, FOUR_BITS, QUANTISED_PRECISIONS, ResolvedPrecision
from palaestra.trainers.engines.native import NativeConfig
from palaestra.trainers.engines.vllm import VllmConfig
from palaestra.trainers.learner import LearnerConfig

_ORDER: tuple[ResolvedPrecision, ...] = ("fp8", "fp8-block", "bf16", "fp32")
"""From the lowest on."""
_OF_VLLM: dict[str | None, ResolvedPrecision] = {"float16": "bf16", "bfloat16": "bf16", "float32": "fp32", None: "fp32"}
_WAY_OUT = (
    'or take objective.parts.ratio = { anchor = "rollout" } with a trust region that reads ratios, or '
    'objective.parts.corrections = ["token-tis"] with ratio.anchor = "old"'
)


def check_rollout_precision(
    engine: NativeConfig, learner: LearnerConfig, *, vllm: VllmConfig | None, corrects: bool
) -> None:
    """Refuse rollouts in a lower precision than that of training, where no part of the objective corrects for it.

    Keys and values in other formats are refused as well. Training in FP8 is refused with any other rollouts, those of
    vLLM too. Settings with "auto" pass: they are checked again once it is resolved.

    Args:
        engine: Of the stage.
        learner: Of the stage.
        vllm: Of the stage, where vLLM draws.
        corrects: Whether the objective corrects for other log-probabilities of the rollouts.

    Raises:
        ValueError: it names the settings, the rule and the way out.
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
    """Refuse weights in 4 bits of one half alone.

    An engine with them takes adapters, and no weights with adapters worked in: rounded to 4 bits again, those would
    lose most of what was learnt.

    Args:
        engine: Of the stage.
        learner: Of the stage.
        vllm: Whether vLLM draws.

    Raises:
        ValueError: it names the settings, the rule and the way out.
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
    """Refuse rollouts that read keys and values in another format than training does.

    That vLLM holds its own in a low one is the business of `_precision_of`: it rounds with other scales.
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
    """The lowest format that vLLM is told to compute in, as the flow that comes nearest."""
    low = [vllm.arguments.get(name) for name in ("quantization", "kv_cache_dtype")]
    if any(value not in (None, "auto") for value in low):
        return "fp8"
    return _OF_VLLM[vllm.dtype]

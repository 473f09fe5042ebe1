"""Checks of the settings of engines that run in other processes: replicas and vLLM."""

from palaestra.trainers.device import AUTO, FOUR_BITS, QUANTISED_PRECISIONS
from palaestra.trainers.engines.native import NativeConfig
from palaestra.trainers.engines.replicas import ReplicasConfig
from palaestra.trainers.engines.vllm import VllmConfig

_OF_VLLM = {
    "rows": "vllm.turns",
    "capacity": "vllm.cache_bytes",
    "context": "vllm.context",
    "prefill": "vllm.arguments = { max_num_batched_tokens = ... }",
    "drafts": "vllm.arguments = { speculative_config = ... }",
    "keys_and_values": 'vllm.arguments = { kv_cache_dtype = "fp8" }',
}
"""What to write for settings of our engine where vLLM samples."""


def check_vllm(engine: NativeConfig) -> None:
    """Refuse settings of our engine that would have no effect because vLLM samples.

    A precision in two bytes passes, since a run resolves "auto" to it; the correction of rollouts is checked elsewhere.

    Args:
        engine: The stage's engine settings.

    Raises:
        ValueError: a setting would have no effect; the message names vLLM's own setting.
    """
    default = NativeConfig()
    instead = {name: setting for name, setting in _OF_VLLM.items() if getattr(engine, name) != getattr(default, name)}
    if engine.precision in QUANTISED_PRECISIONS:
        instead["precision"] = 'vllm.arguments = { quantization = "fp8" }'
    if instead:
        name, setting = next(iter(instead.items()))
        raise ValueError(
            f"engine.{name}={getattr(engine, name)!r}, vllm: vLLM draws, and reads no setting of our engine; write "
            f"{setting}, or leave one of the two out"
        )


def check_replicas(replicas: ReplicasConfig, engine: NativeConfig, *, vllm: bool) -> None:
    """Refuse settings that several engines cannot work with.

    Args:
        replicas: The stage's settings of replicas.
        engine: The stage's engine settings; each replica has this size and precision.
        vllm: Whether vLLM samples.

    Raises:
        ValueError: a check fails; the message names the setting, the rule and what to do.
    """
    if vllm:
        raise ValueError(
            "replicas, vllm: replicas are of our own engine, and vLLM draws; leave one of the two sections out (vLLM "
            "takes several devices by vllm.arguments)"
        )
    if engine.precision == FOUR_BITS:
        raise ValueError(
            f"replicas, engine.precision={FOUR_BITS!r}: replicas are passed whole weights, and an engine with weights "
            "in 4 bits takes adapters alone; leave the replicas out, or write another precision"
        )
    if engine.invariant and (others := [one for one in replicas.devices if one not in (AUTO, "cpu")]):
        raise ValueError(
            f"invariant=True, replicas.devices names {others[0]!r}: the mode has kernels for processors alone; leave "
            "the devices out, or leave `invariant` out"
        )


def check_processor_time(
    cpu_seconds: float | None, *, replicas: ReplicasConfig | None, vllm: VllmConfig | None
) -> None:
    """Refuse to end a stage by its processor time where a part of that is spent in other processes.

    Raises:
        ValueError: a check fails; the message names the setting, the rule and what to do.
    """
    if cpu_seconds is None:
        return
    for name, engines in (("replicas", replicas), ("vllm", vllm)):
        if engines is not None:
            raise ValueError(
                f"cpu_seconds={cpu_seconds:g}, {name}: the time is that of the training process, and this section "
                "draws in others; end the stage by steps or tokens, or leave the section out"
            )

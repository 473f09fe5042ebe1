"""Checks of a stage's settings for the invariant mode, in which engine and learner compute one forward pass."""

import torch

from palaestra.trainers.device import AUTO, resolve_precision
from palaestra.trainers.engines.native import NativeConfig
from palaestra.trainers.learner import LearnerConfig

_OUT = "or leave `invariant` out"


def check_invariance(engine: NativeConfig, learner: LearnerConfig, *, vllm: bool, temperature_head: bool) -> None:
    """Refuse settings with which engine and learner would not compute the same.

    Args:
        engine: The stage's engine settings.
        learner: The stage's learner settings.
        vllm: Whether vLLM samples.
        temperature_head: Whether the objective learns temperatures.

    Raises:
        ValueError: a check fails; the message names the setting, the rule and what to do.
    """
    if engine.invariant != learner.invariant:
        raise ValueError(
            f"engine.invariant={engine.invariant}, learner.invariant={learner.invariant}: the two compute one forward "
            "pass together or not at all; write `invariant = true` at the top of the settings, and nothing here"
        )
    if not engine.invariant:
        return
    if vllm:
        raise ValueError(
            f"invariant=True, vllm: vLLM computes a forward pass of its own; draw with our own engine, {_OUT}"
        )
    if temperature_head:
        raise ValueError(
            "invariant=True: the objective learns temperatures, whose head is computed by torch, so that what it "
            f"chooses depends on the batch; take an objective without `temperature`, {_OUT}"
        )
    for part, device in (("engine", engine.device), ("learner", learner.device)):
        if device not in (None, AUTO) and torch.device(device).type != "cpu":
            raise ValueError(
                f"invariant=True, {part}.device={device!r}: the mode has kernels for processors alone; write "
                f'device = "cpu", {_OUT}'
            )
    rollouts, training = (resolve_precision(one.precision, "cpu") for one in (engine, learner))
    if rollouts != training:
        raise ValueError(
            f"invariant=True, engine.precision={rollouts!r}, learner.precision={training!r}: rollouts and training "
            f"would be two forward passes; write the same precision for both, {_OUT}"
        )
    if engine.keys_and_values != learner.keys_and_values:
        raise ValueError(
            f"invariant=True, engine.keys_and_values={engine.keys_and_values!r}, "
            f"learner.keys_and_values={learner.keys_and_values!r}: rollouts and training would be two forward passes; "
            f"write the same format for both, {_OUT}"
        )

"""The resources of an engine: device, precision flow and kernels; and checks of decoder and settings."""

from dataclasses import dataclass

import torch

from palaestra.trainers.device import resolve_device, resolve_precision
from palaestra.trainers.engines.native.config import NativeConfig
from palaestra.trainers.engines.native.invariant import kernels_for
from palaestra.trainers.engines.native.kernels import HEAD_DIMS, InvariantKernels, Kernels, kernels
from palaestra.trainers.flow import PrecisionFlow, flow_of
from palaestra.trainers.model.shape import DecoderShape
from palaestra.trainers.products import check_sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSetup:
    """The resources of an engine."""

    device: torch.device
    context: int
    """Maximum tokens of a trajectory."""
    flow: PrecisionFlow
    invariant: InvariantKernels | None
    """The kernels of the invariant mode, if it is used."""
    kernels: Kernels | None
    """Otherwise the ordinary kernels, if this machine has any for the decoder."""


def engine_setup(
    shape: DecoderShape, config: NativeConfig, *, device: torch.device, temperature_head: bool
) -> EngineSetup:
    """The resources of an engine; kernels are compiled if needed.

    Args:
        shape: The shape of the decoder.
        config: The engine's settings.
        device: The decoder's device.
        temperature_head: Whether the decoder's head chooses the temperature of each token.

    Raises:
        ValueError: the decoder and the settings do not match; the message says what to change.
        ConfigError: required kernels cannot be built.
    """
    device = device if config.device is None else torch.device(resolve_device(config.device))
    context = min(config.context or shape.context, shape.context)
    if config.capacity < context:
        raise ValueError(
            f"capacity={config.capacity}: one trajectory may have {context} tokens; "
            "raise the capacity or lower the context"
        )
    precision = resolve_precision(config.precision, device.type)
    flow = flow_of(precision, invariant=config.invariant, keys_and_values=config.keys_and_values)
    if flow.operands is not None:
        check_sizes(flow.operands, shape, device)
    if temperature_head:
        _check_head(shape, config)
    known = device.type == "cpu" and shape.head_dim in HEAD_DIMS
    return EngineSetup(
        device=device,
        context=context,
        flow=flow,
        invariant=kernels_for(shape, device) if flow.fixed_order else None,
        kernels=kernels() if known and not flow.fixed_order else None,
    )


def _check_head(shape: DecoderShape, config: NativeConfig) -> None:
    if shape.temperature is None:
        raise ValueError("temperature_head=True: the model has none; give it one, or leave the setting out")
    if config.invariant:
        raise ValueError(
            "temperature_head=True, invariant=True: the head is computed by torch, so what it chooses depends on "
            "the batch; leave one of the two out"
        )
    if config.drafts:
        raise ValueError(
            f"temperature_head=True, drafts={config.drafts}: a guess is checked at a temperature that the head has "
            "not chosen yet; leave one of the two out"
        )

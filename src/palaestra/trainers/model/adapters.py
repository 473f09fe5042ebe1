"""Adapters in peft's file format, read without peft: as weights to train on, or merged into a policy's weights."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from palaestra.errors import CheckpointError
from palaestra.trainers.model.decoder import Decoder

CONFIG, TENSORS = "adapter_config.json", "adapter_model.safetensors"
ADAPTER, PREFIX = "default", "base_model.model."
"""The adapter's name in modules, and the prefix of module names in peft's files."""


def peft_name(name: str) -> str:
    """The name in peft's file of the adapter's weight with this name in a module."""
    return PREFIX + name.replace(f".{ADAPTER}.", ".")


def load_adapters(directory: Path) -> dict[str, Tensor]:
    """The weights of adapters, by their names in modules.

    Raises:
        CheckpointError: the adapters cannot be read.
    """
    try:
        tensors = load_file(directory / TENSORS)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{directory}: its adapters cannot be read ({error}); take the save before") from error
    return {
        name.removeprefix(PREFIX).replace(".weight", f".{ADAPTER}.weight"): tensor for name, tensor in tensors.items()
    }


def merge_adapters(model: Decoder, directory: Path) -> None:
    """Merge adapters into a decoder's weights, in place.

    Raises:
        CheckpointError: the adapters cannot be read, or belong to another decoder.
    """
    tensors = load_adapters(directory)
    config: Mapping[str, Any] = orjson.loads((directory / CONFIG).read_bytes())
    scale = float(config["lora_alpha"]) / int(config["r"])
    own = dict(model.named_parameters())
    with torch.no_grad():
        for name, down in tensors.items():
            if ".lora_A." not in name:
                continue
            place = name.partition(".lora_A.")[0] + ".weight"
            if place not in own:
                raise CheckpointError(f"{directory}: it adapts {place}, which the policy lacks; give its own policy")
            up = tensors[name.replace(".lora_A.", ".lora_B.")]
            own[place].copy_(torch.addmm(own[place], up, down, alpha=scale))

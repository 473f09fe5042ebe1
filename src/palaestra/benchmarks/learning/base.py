"""The pretrained policy that a run may start from: found by name or folder, and identified by its files."""

from pathlib import Path

from palaestra.digest import digest, digest_bytes
from palaestra.errors import CheckpointError, UnknownNameError
from palaestra.trainers.folder import base_of, check_folder
from palaestra.trainers.pretrained import MODELS, checkpoint_of


def find_base(base: str) -> Path:
    """The checkpoint folder of a base.

    Args:
        base: The name of a pretrained model, or the folder of a checkpoint. A folder takes precedence over a model of
            the same name.

    Raises:
        ConfigError: the model is not installed; the message names the command that installs it.
        UnknownNameError: there is neither such a model nor such a folder.
        CheckpointError: the folder is not a checkpoint, is damaged, or does not state its chat format.
    """
    folder = checkpoint_of(base)
    if not folder.exists():
        raise UnknownNameError.of("base", base, MODELS, "(a pretrained model, or the folder of a checkpoint)")
    whole = base_of(folder) or folder
    if (whole / "config.json").is_file() and not (whole / "palaestra.json").is_file():
        raise CheckpointError(
            f"{whole} does not state its chat format; write it into {whole / 'palaestra.json'}, such as "
            '{"format": "qwen"} for Qwen3'
        )
    check_folder(whole)
    return folder


def digest_base(base: str) -> str:
    """A hash of every file of a base's checkpoint: equal digests mean equal files.

    Raises:
        PalaestraError: see `find_base`.
    """
    folder = find_base(base)
    files = sorted(
        file
        for place in dict.fromkeys((folder, base_of(folder) or folder))
        for file in place.rglob("*")
        if file.is_file()
    )
    return digest([(file.name, digest_bytes(file.read_bytes())) for file in files])

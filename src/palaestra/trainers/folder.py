"""A policy's folder: the files of a checkpoint besides the model, and the checks before they are read."""

import os
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import torch
from torch import Tensor
from transformers import AutoTokenizer, PreTrainedTokenizerFast
from transformers.utils import logging

from palaestra.digest import digest, digest_bytes
from palaestra.durable import MANIFEST, find_whole_save
from palaestra.errors import CheckpointError, RecordError
from palaestra.tools import CHAT_FORMATS, ChatFormat
from palaestra.trainers.codec import Codec

_CARD = "palaestra.json"
ADAPTERS, BASE = "adapters", "base"
"""Folder names: of the adapters in a save, and, beside the saves, of the policy that the adapters are trained on."""
logging.disable_progress_bar()  # transformers shows one for every save, over other output


def check_folder(directory: Path, *, format_name: str | None = None) -> ChatFormat:
    """Check that the folder is a checkpoint and is undamaged.

    Args:
        directory: The folder.
        format_name: The chat format, if the checkpoint does not name one, or to override the named one.

    Returns:
        The chat format.

    Raises:
        CheckpointError: the folder is not a checkpoint, is damaged, or names no chat format and none is given.
        UnknownNameError: there is no such chat format.
    """
    if not (directory / "config.json").is_file():
        raise CheckpointError(
            f"{directory} holds no config.json, so it is no checkpoint; give a folder that "
            "`palaestra reference` wrote, or one in Hugging Face's layout"
        )
    if (directory / MANIFEST).exists():
        try:
            whole = find_whole_save(directory)
        except RecordError as error:
            raise CheckpointError(str(error)) from error
        if whole != directory:
            raise CheckpointError(f"{directory} is damaged; the save before it is whole: give {whole} instead")
    return CHAT_FORMATS.get(format_name or _format_of(directory))


def base_of(directory: Path) -> Path | None:
    """The base policy of a folder that has only adapters; `None` for a folder with a whole policy.

    Raises:
        CheckpointError: the base policy is missing.
    """
    if (directory / "config.json").is_file() or not (directory / _CARD).is_file():
        return None
    card = orjson.loads((directory / _CARD).read_bytes())
    if BASE not in card:
        return None
    base = (directory / str(card[BASE])).resolve()
    if not base.is_dir():
        raise CheckpointError(f"{directory} holds adapters of {base}, which is not there; keep the two side by side")
    return base


def _format_of(directory: Path) -> str:
    try:
        card = orjson.loads((directory / _CARD).read_bytes())
        return str(card["format"])
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{directory} does not say its chat format ({_CARD}); name one with --format, such as qwen for Qwen3"
        ) from error


def load_codec(directory: Path, form: ChatFormat, *, embedded: int) -> Codec:
    """The folder's tokenizer for the chat format `form`.

    Args:
        directory: The folder.
        form: The chat format.
        embedded: The number of tokens that the folder's model embeds.

    Raises:
        CheckpointError: the folder has no readable fast tokenizer, or its tokenizer does not fit the model or the
            format.
    """
    tokenizer = read_with(AutoTokenizer, directory, "tokenizer")
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise CheckpointError(
            f"{directory}: its tokenizer is slow; save a fast one (tokenizer.json) in the model's folder"
        )
    if len(tokenizer) > embedded:
        raise CheckpointError(
            f"{directory}: the tokenizer has {len(tokenizer)} tokens and the model embeds {embedded}; "
            "put the tokenizer there that the model was trained with"
        )
    return Codec(tokenizer, form)


def read_with(kind: Any, directory: Path, what: str, **how: Any) -> Any:
    """Read the folder with one of transformers' `Auto...` classes; any failure is a `CheckpointError`."""
    # Any: the error for a damaged file depends on the file.
    try:
        return kind.from_pretrained(directory, local_files_only=True, **how)
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        raise CheckpointError(
            f"{directory}: its {what} cannot be read ({first}); write the checkpoint again"
        ) from error


def save_codec(codec: Codec, directory: Path, *, based: bool = False) -> None:
    """Write the tokenizer and the name of the chat format.

    Args:
        codec: The tokenizer and the chat format.
        directory: The policy's folder.
        based: Whether the folder holds only adapters, for the policy in `base` beside it.
    """
    with convert_to_disk_errors(directory):
        codec.tokenizer.save_pretrained(directory)
    card = {"format": codec.format.name, **({BASE: f"../{BASE}"} if based else {})}
    (directory / _CARD).write_bytes(orjson.dumps(card))


@contextmanager
def convert_to_disk_errors(directory: Path) -> Generator[None]:
    """Convert disk errors to `OSError`; libraries written in Rust raise their own exceptions."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(directory)) from error


def digest_weights(weights: Mapping[str, Tensor]) -> str:
    """A hash of every weight, by name: equal digests mean equal weights, bit for bit."""
    return digest([(name, _digest_of(weights[name])) for name in sorted(weights)])


def _digest_of(weight: Tensor) -> str:
    flat = weight.detach().cpu().contiguous().reshape(-1)
    return f"{weight.dtype} {list(weight.shape)} {digest_bytes(flat.view(torch.uint8).numpy().tobytes())}"

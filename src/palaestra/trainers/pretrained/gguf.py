"""Conversion of a model in GGUF to a checkpoint in Hugging Face's layout. Needs the extra `models`.

transformers reads the file and dequantises its weights. This module corrects three defects of the result: the
configuration still states the quantisation, which the weights no longer have; text is split as in GPT-2, whatever the
file states; and the tokenizer's configuration lacks the length of the context.
"""

from collections.abc import Mapping
from contextlib import redirect_stderr
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import pre_tokenizers
from tokenizers.pre_tokenizers import ByteLevel, Digits, PreTokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

from palaestra.errors import CheckpointError, ConfigError
from palaestra.tools import CHAT_FORMATS
from palaestra.trainers.codec import Codec
from palaestra.trainers.folder import save_codec
from palaestra.trainers.model.checkpoint import WEIGHTS, load_decoder

_RULE = "tokenizer.ggml.pre"
"""The field of a GGUF file that names the rule for splitting text before tokenisation."""
_WORDS = ByteLevel(add_prefix_space=False, use_regex=True)
_SPLITTERS: Mapping[str, PreTokenizer] = {
    "gpt-2": _WORDS,
    "smollm": pre_tokenizers.Sequence([Digits(individual_digits=True), _WORDS]),
}
"""The splitters by the rule's name; the rules are those of llama.cpp's `llama-vocab.cpp`."""


def convert_gguf(file: Path, directory: Path, *, format_name: str) -> None:
    """Write a checkpoint: configuration, weights in single precision, tokenizer with its chat template, chat format.

    Args:
        file: The model's file.
        directory: An existing folder for the checkpoint.
        format_name: The chat format, which the checkpoint will name.

    Raises:
        ConfigError: the package `gguf` is not installed.
        CheckpointError: the file cannot be read, or holds a model that the decoder or the codec does not support.
    """
    rule = _read_rule(file)
    # Any: transformers does not declare the types of what it reads.
    tokenizer: Any = _read(AutoTokenizer, file)
    model: Any = _read(AutoModelForCausalLM, file, dtype=torch.float32)
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise CheckpointError(f"{file.name}: its tokenizer has no fast form; give a file with a byte-level BPE")
    tokenizer.backend_tokenizer.pre_tokenizer = _splitter(rule, file)
    tokenizer.model_max_length = model.config.max_position_embeddings
    del model.config.quantization_config
    model.config.save_pretrained(directory)
    model.generation_config.save_pretrained(directory)
    tied = {"lm_head.weight"} if model.config.tie_word_embeddings else set[str]()
    weights = {name: weight.contiguous() for name, weight in model.state_dict().items() if name not in tied}
    save_file(weights, directory / WEIGHTS, metadata={"format": "pt"})
    save_codec(Codec(tokenizer, CHAT_FORMATS.get(format_name)), directory)
    load_decoder(directory)  # refuses features that the decoder lacks now, not later


def _read_rule(file: Path) -> str:
    try:
        gguf = import_module("gguf")  # an extra
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{error.name} is not installed, and models in GGUF need it; `pip install 'palaestra[models]'`"
        ) from error
    try:
        field = gguf.GGUFReader(file).get_field(_RULE)
    except (OSError, ValueError, IndexError) as error:
        raise CheckpointError(f"{file.name}: no GGUF file ({error}); install the model again") from error
    return str(field.contents()) if field is not None else ""


def _splitter(rule: str, file: Path) -> PreTokenizer:
    """The splitter for the rule that a GGUF file names."""
    splitter = _SPLITTERS.get(rule)
    if splitter is None:
        raise CheckpointError(
            f"{file.name}: {_RULE} is {rule!r}, and its text would be split otherwise than in its training; "
            f"give a model of one of these rules: {', '.join(_SPLITTERS)}"
        )
    return splitter


def _read(kind: Any, file: Path, **how: Any) -> Any:
    # Any: the error for a damaged file depends on the file. Its progress bar cannot be turned off in another way.
    try:
        with redirect_stderr(StringIO()):
            return kind.from_pretrained(file.parent, gguf_file=file.name, local_files_only=True, **how)
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        raise CheckpointError(f"{file.name}: it cannot be read ({first}); install the model again") from error

"""A model in GGUF as a checkpoint in Hugging Face's layout. Needs the extra `models`.

transformers reads the file and dequantises its weights. It leaves three things that are set right here. It notes the
quantisation in the configuration, which the weights no longer have. It splits text as GPT-2 does, whatever the file
says. And it leaves the length of the context out of the tokenizer's configuration.
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
"""The field of a GGUF file that names how text is split before it is tokenised."""
_WORDS = ByteLevel(add_prefix_space=False, use_regex=True)
_SPLITTERS: Mapping[str, PreTokenizer] = {
    "gpt-2": _WORDS,
    "smollm": pre_tokenizers.Sequence([Digits(individual_digits=True), _WORDS]),
}
"""By the rule's name; the rules themselves are those of llama.cpp's `llama-vocab.cpp`."""


def convert_gguf(file: Path, directory: Path, *, format_name: str) -> None:
    """Write a checkpoint: configuration, weights in single precision, tokenizer with its chat template, chat format.

    Args:
        file: The model.
        directory: An existing folder.
        format_name: The chat format, which the checkpoint is to name.

    Raises:
        ConfigError: the package `gguf` is not installed.
        CheckpointError: the file cannot be read, or holds a model that the decoder or the codec cannot take.
    """
    rule = _read_rule(file)
    # Any: transformers leaves the types of what it reads open.
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
    load_decoder(directory)  # what the decoder would not do is refused now


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
    """How text is split by the rule that a GGUF file names."""
    splitter = _SPLITTERS.get(rule)
    if splitter is None:
        raise CheckpointError(
            f"{file.name}: {_RULE} is {rule!r}, and its text would be split otherwise than in its training; "
            f"give a model of one of these rules: {', '.join(_SPLITTERS)}"
        )
    return splitter


def _read(kind: Any, file: Path, **how: Any) -> Any:
    # Any: what reading a damaged file raises depends on the file. Its progress bar cannot be turned off otherwise.
    try:
        with redirect_stderr(StringIO()):
            return kind.from_pretrained(file.parent, gguf_file=file.name, local_files_only=True, **how)
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        raise CheckpointError(f"{file.name}: it cannot be read ({first}); install the model again") from error

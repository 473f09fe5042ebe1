"""A policy: a causal language model and the codec that feeds it, on disk in Hugging Face's layout."""

import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import orjson
import torch
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
)
from transformers.utils import logging

from palaestra.digest import digest, digest_bytes
from palaestra.durable import MANIFEST, verified
from palaestra.errors import CheckpointError, RecordError
from palaestra.tools import CHAT_FORMATS
from palaestra.trainers.codec import Codec

_CARD = "palaestra.json"
_MISFITS = ("missing_keys", "unexpected_keys", "mismatched_keys")
logging.disable_progress_bar()  # transformers draws one for every save, over whatever else is being shown


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """The size of a small Qwen3; its embeddings are tied."""

    hidden: int = 192
    layers: int = 2
    heads: int = 2
    kv_heads: int = 1
    head_dim: int = 64
    mlp: int = 576
    context: int = 2048
    """Tokens that a segment may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A model, and how it reads and writes."""

    model: PreTrainedModel
    codec: Codec

    def hidden(self, ids: Tensor, **where: Any) -> Tensor:
        """The last layer's states for `ids`, [B, T, D].

        Args:
            ids: [B, T].
            where: The positions, mask and cache, in transformers' words.
        """
        states: Tensor = self.model.base_model(input_ids=ids, **where).last_hidden_state
        return states

    def logits(self, hidden: Tensor) -> Tensor:
        """What states say of the next token, [..., V]."""
        head = self.model.get_output_embeddings()
        assert head is not None, "a causal language model has one"
        logits: Tensor = head(hidden)
        return logits

    def copy(self) -> "Policy":
        """The same policy with weights of its own."""
        return Policy(model=deepcopy(self.model), codec=self.codec)

    def save(self, directory: Path) -> None:
        """Write model, tokenizer and the name of the chat format, as `load_policy` and transformers read them."""
        with _disk_errors(directory):
            self.model.save_pretrained(directory)
            self.codec.tokenizer.save_pretrained(directory)
        (directory / _CARD).write_bytes(orjson.dumps({"format": self.codec.format.name}))

    def digest(self) -> str:
        """A hash of every weight, by name: equal digests mean equal policies, bit for bit."""
        weights = self.model.state_dict()
        return digest([(name, _digest_of(weights[name])) for name in sorted(weights)])


@contextmanager
def _disk_errors(directory: Path) -> Generator[None]:
    """Tell what the disk refuses as `OSError`: libraries written in Rust have exceptions of their own for it."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(directory)) from error


def _digest_of(weight: Tensor) -> str:
    flat = weight.detach().cpu().contiguous().reshape(-1)
    return f"{weight.dtype} {list(weight.shape)} {digest_bytes(flat.view(torch.uint8).numpy().tobytes())}"


def new_model(shape: ModelShape, *, vocabulary: int, seed: int) -> Qwen3ForCausalLM:
    """A Qwen3 of the given shape with fresh weights, drawn from `seed` alone."""
    config = Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        intermediate_size=shape.mlp,
        max_position_embeddings=shape.context,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=None,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Qwen3ForCausalLM(config)


def load_policy(directory: Path, *, format_name: str | None = None) -> Policy:
    """A policy from disk: one that Palaestra saved, or any causal language model in Hugging Face's layout.

    Weights are held in single precision whatever they were saved in, since small updates vanish in half of it.

    Args:
        directory: A folder with `config.json`, weights and tokenizer; nothing is fetched.
        format_name: The chat format, where the checkpoint does not say one itself.

    Raises:
        CheckpointError: the folder is no checkpoint, is damaged, or its parts do not fit together.
        UnknownNameError: there is no such chat format.
    """
    _check(directory)
    form = CHAT_FORMATS.get(format_name or _format_of(directory))
    # Any: what reading a damaged file raises depends on the file; whatever it is, it is told as one error.
    model = _read_model(directory)
    tokenizer = _read(AutoTokenizer, directory, "tokenizer")
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise CheckpointError(f"{directory}: its tokenizer is slow; save a fast one (tokenizer.json) beside the model")
    rows = len(cast("torch.nn.Embedding", model.get_input_embeddings()).weight)
    if len(tokenizer) > rows:
        raise CheckpointError(
            f"{directory}: the tokenizer has {len(tokenizer)} tokens and the model embeds {rows}; "
            "put the tokenizer there that the model was trained with"
        )
    model.eval()
    return Policy(model=model, codec=Codec(tokenizer, form))


def _check(directory: Path) -> None:
    if not (directory / "config.json").is_file():
        raise CheckpointError(
            f"{directory} holds no config.json, so it is no checkpoint; give a folder that "
            "`palaestra train reference` wrote, or one in Hugging Face's layout"
        )
    if (directory / MANIFEST).exists():
        try:
            whole = verified(directory)
        except RecordError as error:
            raise CheckpointError(str(error)) from error
        if whole != directory:
            raise CheckpointError(f"{directory} is damaged; the save before it is whole: give {whole} instead")


def _format_of(directory: Path) -> str:
    try:
        card = orjson.loads((directory / _CARD).read_bytes())
        return str(card["format"])
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{directory} does not say its chat format ({_CARD}); name one with --format, such as qwen for Qwen3"
        ) from error


def _read_model(directory: Path) -> PreTrainedModel:
    """The model; transformers draws weights that are missing at random and drops what it has no place for."""
    read = _read(AutoModelForCausalLM, directory, "model", dtype=torch.float32, output_loading_info=True)
    model, found = cast("tuple[PreTrainedModel, dict[str, Any]]", read)
    misfits = [
        f"{kind.replace('_', ' ')}: {', '.join(map(str, sorted(found[kind])[:3]))}" for kind in _MISFITS if found[kind]
    ]
    if misfits:
        raise CheckpointError(
            f"{directory}: its weights do not fit its config.json ({'; '.join(misfits)}); "
            "put the two together that were saved together"
        )
    return model


def _read(kind: Any, directory: Path, what: str, **how: Any) -> Any:
    try:
        return kind.from_pretrained(directory, local_files_only=True, **how)
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        raise CheckpointError(
            f"{directory}: its {what} cannot be read ({first}); write the checkpoint again"
        ) from error

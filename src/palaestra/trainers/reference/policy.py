"""A policy: a causal language model and its codec, saved in Hugging Face's layout."""

from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, PreTrainedModel, Qwen3Config, Qwen3ForCausalLM

from palaestra.errors import CheckpointError
from palaestra.trainers.codec import Codec
from palaestra.trainers.folder import (
    check_folder,
    convert_to_disk_errors,
    digest_weights,
    load_codec,
    read_with,
    save_codec,
)

_MISFITS = ("missing_keys", "unexpected_keys", "mismatched_keys")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """The size of a small Qwen3 with tied embeddings."""

    hidden: int = 192
    layers: int = 2
    heads: int = 2
    kv_heads: int = 1
    head_dim: int = 64
    mlp: int = 576
    context: int = 2048
    """The maximum number of tokens in a segment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferencePolicy:
    """A model and its codec."""

    model: PreTrainedModel
    codec: Codec

    def hidden_states(self, ids: Tensor, **where: Any) -> Tensor:
        """The last layer's states for `ids`, [B, T, D].

        Args:
            ids: Token ids, [B, T].
            where: The positions, mask and cache, as transformers' arguments.
        """
        states: Tensor = self.model.base_model(input_ids=ids, **where).last_hidden_state
        return states

    def logits(self, hidden: Tensor) -> Tensor:
        """The logits of the next token for each state, [..., V]."""
        head = self.model.get_output_embeddings()
        assert head is not None, "a causal language model has one"
        logits: Tensor = head(hidden)
        return logits

    def copy(self) -> "ReferencePolicy":
        """The same policy with its own weights."""
        return ReferencePolicy(model=deepcopy(self.model), codec=self.codec)

    def save(self, directory: Path) -> None:
        """Write model, tokenizer and the name of the chat format, as `load_policy` and transformers read them."""
        with convert_to_disk_errors(directory):
            self.model.save_pretrained(directory)
        save_codec(self.codec, directory)

    def digest(self) -> str:
        """A hash of every weight, by name: equal digests mean equal policies, bit for bit."""
        return digest_weights(self.model.state_dict())


def new_model(shape: ModelShape, *, vocabulary: int, seed: int) -> Qwen3ForCausalLM:
    """A Qwen3 of the given shape with random weights, which depend only on `seed`."""
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


def load_policy(directory: Path, *, format_name: str | None = None) -> ReferencePolicy:
    """Load a policy that Palaestra saved, or any causal language model in Hugging Face's layout.

    Weights are held in single precision whatever their saved type, since small updates vanish in half precision.

    Args:
        directory: A folder with `config.json`, weights and tokenizer; nothing is downloaded.
        format_name: The chat format, if the checkpoint does not name one.

    Raises:
        CheckpointError: the folder is not a checkpoint, is damaged, or its parts do not fit together.
        UnknownNameError: there is no such chat format.
    """
    form = check_folder(directory, format_name=format_name)
    model = _read_model(directory)
    rows = len(cast("torch.nn.Embedding", model.get_input_embeddings()).weight)
    codec = load_codec(directory, form, embedded=rows)
    model.eval()
    return ReferencePolicy(model=model, codec=codec)


def _read_model(directory: Path) -> PreTrainedModel:
    """Read the model; refuse misfits, since transformers initialises missing weights and drops unexpected ones."""
    read = read_with(AutoModelForCausalLM, directory, "model", dtype=torch.float32, output_loading_info=True)
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

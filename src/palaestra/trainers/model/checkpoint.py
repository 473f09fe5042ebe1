"""Creating, loading and saving decoders in Hugging Face's layout: `config.json` and one or several safetensors files.

The module supports the families Qwen3, Qwen2 (Qwen2.5) and Llama, as `DecoderShape` describes them. It refuses, by
name, any other feature in a `config.json`, since a partly misread model still produces text.
"""

from collections.abc import Generator, Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import orjson
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor
from transformers import AutoConfig, LlamaConfig, PreTrainedConfig, Qwen2Config, Qwen3Config, Qwen3MoeConfig

from palaestra.errors import CheckpointError
from palaestra.trainers.folder import convert_to_disk_errors, read_with
from palaestra.trainers.model.assembly import EMBEDDING, OUTPUT, assemble_decoder, empty_decoder
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.model.shape import DecoderShape, ExpertShape, RopeScaling, TemperatureRange

WEIGHTS = "model.safetensors"
_INDEX = "model.safetensors.index.json"
_INITIAL_DEVIATION = 0.02
_MIXTURE = "qwen3_moe"
_TEMPERATURE = "palaestra_temperature_head"
"""The field of `config.json` that holds the temperature range of a temperature head; transformers ignores it."""


def fresh(shape: DecoderShape, *, seed: int) -> Decoder:
    """A decoder with random weights from a seed, in single precision: normal with deviation 0.02, norms 1, biases 0."""
    generator = torch.Generator().manual_seed(seed)
    weights: dict[str, Tensor] = {}
    plain = replace(shape, temperature=None)
    for name, empty in empty_decoder(plain).named_parameters():
        if name.endswith(".bias"):
            weights[name] = torch.zeros(empty.shape)
        elif empty.dim() == 1:
            weights[name] = torch.ones(empty.shape)
        else:
            weights[name] = torch.empty(empty.shape).normal_(0.0, _INITIAL_DEVIATION, generator=generator)
    decoder = assemble_decoder(plain, weights)
    if shape.temperature is not None:
        decoder.add_temperature_head(shape.temperature, seed=seed)
    return decoder


def load_decoder(directory: Path, *, dtype: torch.dtype = torch.float32) -> Decoder:
    """Load the decoder of a checkpoint, ready to sample from; nothing is downloaded.

    Args:
        directory: A folder with `config.json` and weights.
        dtype: The type of the loaded weights, whatever their saved type.

    Raises:
        CheckpointError: a file is missing or damaged, the weights do not fit the configuration, or the configuration
            requires a feature that the decoder lacks; the message names the field.
    """
    shape = _read_shape(directory)
    weights: dict[str, Tensor] = {}
    try:
        for name, weight in read_weights(directory):
            weights[name] = weight.to(dtype, copy=True)
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        first = str(error).strip().partition("\n")[0]
        raise CheckpointError(f"{directory}: its model cannot be read ({first}); write the checkpoint again") from error
    _drop_redundant(directory, shape, weights)
    _check_fit(directory, shape, weights)
    return assemble_decoder(shape, weights).eval()


def save_decoder(decoder: Decoder, directory: Path) -> None:
    """Write `config.json` and `model.safetensors`, as `load_decoder` and transformers read them.

    Raises:
        OSError: writing to disk fails.
    """
    weights = {name: weight.detach() for name, weight in decoder.unfrozen().state_dict().items()}
    save_weights(decoder.shape, weights, directory)


def save_weights(shape: DecoderShape, weights: Mapping[str, Tensor], directory: Path) -> None:
    """Write the files of `save_decoder` from weights by name; if they are tied, without the output layer's.

    Raises:
        OSError: writing to disk fails.
    """
    left_out = {OUTPUT} if shape.tied else set[str]()
    weights = {name: weight.contiguous() for name, weight in weights.items() if name not in left_out}
    config = _config_of(shape, weights[EMBEDDING].dtype)
    with convert_to_disk_errors(directory):
        directory.mkdir(parents=True, exist_ok=True)
        config.save_pretrained(directory)
        save_file(weights, directory / WEIGHTS, metadata={"format": "pt"})


def read_weights(directory: Path) -> Generator[tuple[str, Tensor]]:
    """Yield every weight of a checkpoint with its name; one shard is open at a time.

    Raises:
        OSError: a file is missing.
        SafetensorError: a file is damaged.
    """
    names: Iterable[str] = [WEIGHTS]
    if not (directory / WEIGHTS).is_file():
        if not (directory / _INDEX).is_file():
            raise FileNotFoundError(f"no file named {WEIGHTS} or {_INDEX}")
        index: dict[str, Any] = orjson.loads((directory / _INDEX).read_bytes())
        names = sorted({str(name) for name in index["weight_map"].values()})
    for name in names:
        with safe_open(directory / name, "pt") as shard:
            for key in shard.keys():  # noqa: SIM118  a shard is no mapping
                yield key, shard.get_tensor(key)


def _drop_redundant(directory: Path, shape: DecoderShape, weights: dict[str, Tensor]) -> None:
    """Drop weights that older files hold redundantly: rotary frequencies, and the output layer if it is tied."""
    for name in [name for name in weights if name.endswith("rotary_emb.inv_freq")]:
        del weights[name]
    if not shape.tied or OUTPUT not in weights:
        return
    if EMBEDDING in weights and not torch.equal(weights[OUTPUT], weights[EMBEDDING]):
        raise CheckpointError(
            f"{directory}: tie_word_embeddings says that {OUTPUT} is {EMBEDDING}, and they differ; "
            "set it to false, or drop the one that is not meant"
        )
    del weights[OUTPUT]


def _check_fit(directory: Path, shape: DecoderShape, weights: Mapping[str, Tensor]) -> None:
    wanted = {name: weight.shape for name, weight in empty_decoder(shape).named_parameters()}
    common = wanted.keys() & weights.keys()
    misfits = {
        "missing keys": wanted.keys() - common,
        "unexpected keys": weights.keys() - common,
        "mismatched keys": {name for name in common if weights[name].shape != wanted[name]},
    }
    found = [f"{kind}: {', '.join(sorted(names)[:3])}" for kind, names in misfits.items() if names]
    if found:
        raise CheckpointError(
            f"{directory}: its weights do not fit its config.json ({'; '.join(found)}); "
            "put the two together that were saved together"
        )


def _read_shape(directory: Path) -> DecoderShape:
    # Any: the fields depend on the family.
    config: Any = read_with(AutoConfig, directory, "model")
    refused = list(_find_unsupported(config))
    if refused:
        raise CheckpointError(
            f"{directory}/config.json: {refused[0]}, which the decoder does not do; "
            "give a Qwen3, Qwen3-MoE, Qwen2.5 or Llama without it, or train with `palaestra reference`, on "
            "transformers' own model"
        )
    rope: dict[str, Any] = config.rope_parameters
    experts = config.model_type == _MIXTURE
    try:
        return DecoderShape(
            vocabulary=config.vocab_size,
            hidden=config.hidden_size,
            layers=config.num_hidden_layers,
            heads=config.num_attention_heads,
            kv_heads=config.num_key_value_heads,
            head_dim=getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads,
            mlp=config.moe_intermediate_size if experts else config.intermediate_size,
            context=config.max_position_embeddings,
            rope_theta=float(rope["rope_theta"]),
            rope_scaling=_scaling_of(rope),
            norm_epsilon=config.rms_norm_eps,
            qk_norm=config.model_type in ("qwen3", _MIXTURE),
            qkv_bias=config.model_type == "qwen2",
            tied=config.tie_word_embeddings,
            experts=_experts_of(config) if experts else None,
            temperature=_range_of(config),
        )
    except (ValueError, TypeError) as error:
        raise CheckpointError(f"{directory}/config.json: {error}") from error


def _find_unsupported(config: Any) -> Generator[str]:
    """Yield the features that the configuration requires and the decoder lacks, as fields and values."""
    if config.model_type not in ("qwen3", _MIXTURE, "qwen2", "llama"):
        yield f"model_type is {config.model_type!r}"
        return
    for field in ("attention_bias", "mlp_bias"):
        if getattr(config, field, False):
            yield f"{field} is true"
    if config.hidden_act not in ("silu", "swish"):
        yield f"hidden_act is {config.hidden_act!r}"
    kinds = set(getattr(config, "layer_types", None) or ()) - {"full_attention"}
    if kinds:
        yield f"layer_types names {', '.join(sorted(kinds))} (use_sliding_window)"
    if config.model_type == _MIXTURE:
        if config.decoder_sparse_step != 1:
            yield f"decoder_sparse_step is {config.decoder_sparse_step}"
        if config.mlp_only_layers:
            yield f"mlp_only_layers is {config.mlp_only_layers}"
    if getattr(config, "quantization_config", None) is not None:
        yield "quantization_config is given"
    rope: dict[str, Any] = config.rope_parameters
    if rope["rope_type"] not in ("default", "llama3"):
        yield f"rope_type is {rope['rope_type']!r}"
    if (rope.get("partial_rotary_factor") or 1.0) != 1.0:
        yield f"partial_rotary_factor is {rope['partial_rotary_factor']}"


def _experts_of(config: Any) -> ExpertShape:
    return ExpertShape(
        count=config.num_local_experts, chosen=config.num_experts_per_tok, normalised=config.norm_topk_prob
    )


def _scaling_of(rope: Mapping[str, Any]) -> RopeScaling | None:
    if rope["rope_type"] == "default":
        return None
    return RopeScaling(
        factor=float(rope["factor"]),
        low_freq_factor=float(rope["low_freq_factor"]),
        high_freq_factor=float(rope["high_freq_factor"]),
        original_context=int(rope["original_max_position_embeddings"]),
    )


def _range_of(config: Any) -> TemperatureRange | None:
    said: dict[str, float] | None = getattr(config, _TEMPERATURE, None)
    return None if said is None else TemperatureRange(**said)


def _config_of(shape: DecoderShape, dtype: torch.dtype) -> PreTrainedConfig:
    rope: dict[str, Any] = {"rope_type": "default", "rope_theta": shape.rope_theta}
    scaling = shape.rope_scaling
    if scaling is not None:
        rope |= {
            "rope_type": "llama3",
            "factor": scaling.factor,
            "low_freq_factor": scaling.low_freq_factor,
            "high_freq_factor": scaling.high_freq_factor,
            "original_max_position_embeddings": scaling.original_context,
        }
    family, architecture = _family_of(shape)
    # Any: transformers accepts unknown fields, and declares its own types.
    others: dict[str, Any] = {} if shape.temperature is None else {_TEMPERATURE: asdict(shape.temperature)}
    if shape.experts is not None:
        others |= {
            "num_experts": shape.experts.count,
            "num_experts_per_tok": shape.experts.chosen,
            "norm_topk_prob": shape.experts.normalised,
            "moe_intermediate_size": shape.mlp,
        }
    if not shape.qkv_bias:  # Qwen2's configuration has no such field
        others["head_dim"] = shape.head_dim
    return family(
        architectures=[architecture],
        dtype=str(dtype).removeprefix("torch."),
        vocab_size=shape.vocabulary,
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        intermediate_size=shape.mlp,
        max_position_embeddings=shape.context,
        rms_norm_eps=shape.norm_epsilon,
        rope_parameters=rope,
        tie_word_embeddings=shape.tied,
        bos_token_id=None,
        eos_token_id=None,
        **others,
    )


def _family_of(shape: DecoderShape) -> tuple[type[Qwen3Config | Qwen3MoeConfig | Qwen2Config | LlamaConfig], str]:
    """The class of the configuration, and the name of the model's class."""
    if shape.experts is not None:
        return Qwen3MoeConfig, "Qwen3MoeForCausalLM"
    if shape.qk_norm:
        return Qwen3Config, "Qwen3ForCausalLM"
    return (Qwen2Config, "Qwen2ForCausalLM") if shape.qkv_bias else (LlamaConfig, "LlamaForCausalLM")

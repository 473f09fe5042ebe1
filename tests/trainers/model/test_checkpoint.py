import dataclasses
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from decoders import STRETCHED, in_transformers, logits_of, tiny, varied
from palaestra.errors import CheckpointError
from palaestra.trainers.model.checkpoint import fresh, load_decoder, save_decoder
from palaestra.trainers.model.shape import DecoderShape, ExpertShape

Damage = Callable[[Path], object]
SIZES: dict[str, Any] = {
    "vocab_size": 48,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "intermediate_size": 48,
    "max_position_embeddings": 256,
}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
BIASED = tiny(qk_norm=False, qkv_bias=True)
SHAPES = [
    tiny(),
    tiny(tied=False),
    tiny(qk_norm=False),
    BIASED,
    tiny(qk_norm=False, rope_scaling=STRETCHED, rope_theta=5e5),
    tiny(experts=ExpertShape(count=5, chosen=2, normalised=True)),
    tiny(experts=ExpertShape(count=4, chosen=3, normalised=False), tied=False),
]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_decoder(varied(tiny()), tmp_path)
    return tmp_path


@pytest.fixture
def llama(tmp_path: Path) -> Path:
    save_decoder(varied(tiny(qk_norm=False)), tmp_path)
    return tmp_path


def configure(directory: Path, drop: tuple[str, ...] = (), **changes: object) -> None:
    path = directory / "config.json"
    config: dict[str, Any] = {**json.loads(path.read_bytes()), **changes}
    path.write_text(json.dumps({name: value for name, value in config.items() if name not in drop}))


def reweigh(directory: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    weights = load_file(directory / "model.safetensors")
    change(weights)
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})


def refusal(directory: Path) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # transformers' own, about the same damage
        with pytest.raises(CheckpointError) as error:
            load_decoder(directory)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(str(directory))
    return str(error.value)


# What cannot be read


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"model_type": "gpt2"}, "model_type is 'gpt2'"),
        ({"attention_bias": True}, "attention_bias is true"),
        ({"hidden_act": "gelu"}, "hidden_act is 'gelu'"),
        ({"use_sliding_window": True, "sliding_window": 8, "layer_types": None, "max_window_layers": 1}, "layer_types"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "layer_types names sliding_attention"),
        ({"quantization_config": {"quant_method": "fp8"}}, "quantization_config is given"),
        ({"rope_parameters": {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}}, "rope_type is 'linear'"),
        (
            {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}},
            "partial_rotary_factor is 0.5",
        ),
        ({"num_key_value_heads": 3}, "4 heads cannot share 3"),
    ],
)
def test_a_configuration_that_the_decoder_does_not_do_is_refused_by_field(
    saved: Path, changes: dict[str, Any], field: str
) -> None:
    configure(saved, **changes)
    assert field in refusal(saved)


def test_biases_of_llamas_mlp_are_refused(llama: Path) -> None:
    configure(llama, mlp_bias=True)
    assert "mlp_bias is true" in refusal(llama)


def test_a_sliding_window_that_no_layer_uses_is_fine(saved: Path) -> None:
    configure(saved, drop=("layer_types",), use_sliding_window=True, sliding_window=8, max_window_layers=2)
    assert load_decoder(saved).shape == tiny()


DAMAGES: list[tuple[Damage, str]] = [
    (lambda at: (at / "config.json").unlink(), "its model cannot be read ("),
    (lambda at: (at / "config.json").write_text("{"), "its model cannot be read (It looks like the config file"),
    (lambda at: (at / "model.safetensors").unlink(), "(no file named model.safetensors or model.safetensors.index"),
    (lambda at: (at / "model.safetensors").write_text(""), "its model cannot be read (Error while"),
    (lambda at: configure(at, hidden_size=24), "mismatched keys: model.embed_tokens.weight, model.layers.0"),
    (lambda at: configure(at, vocab_size=50), "mismatched keys: model.embed_tokens.weight"),
    (lambda at: configure(at, num_hidden_layers=1, layer_types=None), "unexpected keys: model.layers.1"),
    (lambda at: configure(at, model_type="llama"), "unexpected keys: model.layers.0.self_attn.k_norm.weight"),
    (lambda at: configure(at, tie_word_embeddings=False), "missing keys: lm_head.weight)"),
    (lambda at: reweigh(at, lambda w: w.pop("model.norm.weight")), "missing keys: model.norm.weight"),
]


@pytest.mark.parametrize(("damage", "says"), DAMAGES)
def test_a_damaged_checkpoint_is_named_with_its_fault(saved: Path, damage: Damage, says: str) -> None:
    damage(saved)
    assert says in refusal(saved)


def test_an_output_layer_that_is_not_the_embedding_it_should_be_is_refused(saved: Path) -> None:
    def untie(weights: dict[str, torch.Tensor]) -> None:
        weights["lm_head.weight"] = weights["model.embed_tokens.weight"] + 1

    reweigh(saved, untie)
    assert "tie_word_embeddings says that lm_head.weight is model.embed_tokens.weight" in refusal(saved)


# What older files hold twice


def test_redundant_weights_are_fine(llama: Path) -> None:
    before = load_decoder(llama)

    def add(weights: dict[str, torch.Tensor]) -> None:
        weights["lm_head.weight"] = weights["model.embed_tokens.weight"].clone()
        weights["model.layers.0.self_attn.rotary_emb.inv_freq"] = torch.ones(4)

    reweigh(llama, add)
    after = load_decoder(llama)
    assert after.lm_head.weight is after.model.embed_tokens.weight
    assert after.state_dict().keys() == before.state_dict().keys()


# Round trips


@pytest.mark.parametrize("shape", SHAPES)
def test_a_decoder_saved_and_loaded_is_the_same_to_the_bit(shape: DecoderShape, tmp_path: Path) -> None:
    decoder = varied(shape)
    save_decoder(decoder, tmp_path)
    loaded = load_decoder(tmp_path)
    assert loaded.shape == shape
    assert not loaded.training
    assert all(torch.equal(loaded.state_dict()[name], weight) for name, weight in decoder.state_dict().items())
    assert torch.equal(logits_of(loaded, [1, 2, 3]), logits_of(decoder, [1, 2, 3]))


@pytest.mark.parametrize("shape", SHAPES)
def test_transformers_reads_what_we_save_and_has_nothing_to_say_about_it(
    shape: DecoderShape, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    save_decoder(varied(shape), tmp_path)
    read: Any = AutoModelForCausalLM.from_pretrained(tmp_path, local_files_only=True, output_loading_info=True)
    found = read[1]
    assert not any(found.values()), found
    assert "warn" not in capfd.readouterr().err.lower()


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(
    ("config", "model", "rope"),
    [
        (Qwen3Config, Qwen3ForCausalLM, None),
        (Qwen2Config, Qwen2ForCausalLM, None),
        (LlamaConfig, LlamaForCausalLM, {**LLAMA3, "rope_theta": 5e5}),
    ],
)
def test_we_read_what_transformers_saves(config: Any, model: Any, rope: object, tied: bool, tmp_path: Path) -> None:
    theirs = model(config(**SIZES, tie_word_embeddings=tied, rope_parameters=rope)).eval()
    with torch.no_grad():
        for weight in theirs.parameters():  # biases are 0 at first
            weight.add_(torch.linspace(-0.1, 0.1, weight.numel()).view_as(weight))
    theirs.save_pretrained(tmp_path)
    ours = load_decoder(tmp_path)
    assert all(torch.equal(ours.state_dict()[name], weight) for name, weight in theirs.state_dict().items())
    ids = list(range(40))
    with torch.inference_mode():
        torch.testing.assert_close(logits_of(ours, ids), theirs(torch.tensor([ids])).logits[0], atol=1e-4, rtol=0)


def test_shards_are_read_as_one(tmp_path: Path) -> None:
    decoder = varied(tiny())
    in_transformers(decoder, tmp_path / "one").save_pretrained(tmp_path / "many", max_shard_size="20KB")
    assert len(list((tmp_path / "many").glob("*.safetensors"))) > 1
    loaded = load_decoder(tmp_path / "many")
    assert all(torch.equal(loaded.state_dict()[name], weight) for name, weight in decoder.state_dict().items())


def test_rope_is_read_from_where_older_files_keep_it(llama: Path) -> None:
    configure(llama, drop=("rope_parameters",), rope_theta=5e5, rope_scaling=LLAMA3)
    shape = load_decoder(llama).shape
    assert shape.rope_theta == 5e5
    assert shape.rope_scaling == STRETCHED


def test_what_an_older_llama_leaves_out_has_its_family_s_meaning(llama: Path) -> None:
    configure(llama, drop=("head_dim", "rope_parameters", "dtype", "attention_bias", "mlp_bias", "rms_norm_eps"))
    assert load_decoder(llama).shape == tiny(qk_norm=False)


def test_what_a_qwen2_leaves_out_has_its_family_s_meaning(tmp_path: Path) -> None:
    save_decoder(varied(BIASED), tmp_path)
    assert "head_dim" not in json.loads((tmp_path / "config.json").read_bytes())
    configure(tmp_path, drop=("rope_parameters", "layer_types", "dtype"), rope_theta=1e6, use_sliding_window=False)
    assert load_decoder(tmp_path).shape == dataclasses.replace(BIASED, rope_theta=1e6)


def test_weights_are_held_as_asked_whatever_they_were_saved_in(tmp_path: Path) -> None:
    save_decoder(varied(tiny()).bfloat16(), tmp_path)
    assert json.loads((tmp_path / "config.json").read_bytes())["dtype"] == "bfloat16"
    assert {weight.dtype for weight in load_decoder(tmp_path).parameters()} == {torch.float32}
    assert {weight.dtype for weight in load_decoder(tmp_path, dtype=torch.bfloat16).parameters()} == {torch.bfloat16}


# New decoders


def test_a_fresh_decoder_is_a_function_of_its_seed_and_leaves_the_global_generator_alone() -> None:
    state = torch.random.get_rng_state()
    first = fresh(tiny(), seed=7).state_dict()
    assert torch.equal(torch.random.get_rng_state(), state)
    torch.rand(3)
    again, other = fresh(tiny(), seed=7).state_dict(), fresh(tiny(), seed=8).state_dict()
    assert all(torch.equal(again[name], weight) for name, weight in first.items())
    assert not torch.equal(other["lm_head.weight"], first["lm_head.weight"])


@pytest.mark.parametrize("changes", [{}, {"qk_norm": False, "qkv_bias": True, "head_dim": 64}], ids=["qwen3", "qwen2"])
def test_a_fresh_decoder_has_normal_weights_norms_of_1_and_biases_of_0(changes: dict[str, Any]) -> None:
    decoder = fresh(tiny(hidden=256, tied=False, **changes), seed=0)
    assert all(weight.requires_grad for weight in decoder.parameters())
    for name, weight in decoder.state_dict().items():
        if "norm" in name or name.endswith("bias"):
            assert torch.equal(weight, torch.full_like(weight, "norm" in name))
        else:
            assert abs(float(weight.std()) - 0.02) < 0.002
            assert abs(float(weight.mean())) < 0.002

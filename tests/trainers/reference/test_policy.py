import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

from palaestra.durable import saving
from palaestra.errors import CheckpointError, UnknownNameError
from palaestra.tools import CHAT_FORMATS
from palaestra.trainers.codec import Codec, train_tokenizer
from palaestra.trainers.data.demonstration import demonstration
from palaestra.trainers.reference.policy import ModelShape, ReferencePolicy, load_policy, new_model
from palaestra.trajectory import Episode
from palaestra.transcript import transcript_of

Damage = Callable[[Path], object]
TINY = ModelShape(hidden=16, layers=2, heads=2, kv_heads=1, head_dim=8, mlp=32, context=64)


def tiny(*, seed: int = 0, words: str = "hello world", size: int = 300) -> ReferencePolicy:
    form = CHAT_FORMATS.get("compact")
    tokenizer = train_tokenizer([[words]], form, size=size)
    return ReferencePolicy(
        model=new_model(TINY, vocabulary=len(tokenizer), seed=seed).eval(), codec=Codec(tokenizer, form)
    )


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    tiny().save(tmp_path / "save")
    return tmp_path / "save"


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    with saving(tmp_path / "save") as temporary:
        tiny().save(temporary)
    return tmp_path / "save"


def refusal(directory: Path, format_name: str | None = None) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # transformers' own, about the same damage
        with pytest.raises(CheckpointError) as error:
            load_policy(directory, format_name=format_name)
    return str(error.value)


def cut(name: str) -> Damage:
    return lambda directory: (directory / name).write_bytes((directory / name).read_bytes()[:-100])


def flip(directory: Path) -> None:
    weights = directory / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)


def drop(*names: str) -> Damage:
    def unlink(directory: Path) -> None:
        for name in names:
            (directory / name).unlink()

    return unlink


def write(name: str, text: str) -> Damage:
    return lambda directory: (directory / name).write_text(text)


def configure(**changes: object) -> Damage:
    def change(directory: Path) -> None:
        config: dict[str, Any] = json.loads((directory / "config.json").read_bytes())
        (directory / "config.json").write_text(json.dumps({**config, **changes}))

    return change


def lose_a_weight(directory: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(directory / "model.safetensors")
    del weights["model.layers.0.self_attn.q_proj.weight"]
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})


# Checkpoints that cannot be used


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (drop("config.json"), "holds no config.json, so it is no checkpoint; give a folder that"),
        (write("config.json", "{"), "its model cannot be read (It looks like the config file"),
        (cut("model.safetensors"), "its model cannot be read (Error while deserializing header"),
        (write("model.safetensors", ""), "its model cannot be read ("),
        (drop("model.safetensors"), "its model cannot be read (Error no file named model.safetensors"),
        (configure(hidden_size=24), "its model cannot be read ("),
        (configure(vocab_size=200), "its model cannot be read ("),
        (configure(model_type="qwen9"), "its model cannot be read (The checkpoint you are trying to load"),
        (drop("tokenizer.json"), "its tokenizer cannot be read ("),
        (write("tokenizer.json", "{"), "its tokenizer cannot be read ("),
        (drop("palaestra.json"), "does not say its chat format (palaestra.json); name one with --format"),
        (write("palaestra.json", "[1]"), "does not say its chat format (palaestra.json); name one with --format"),
        (write("palaestra.json", "{"), "does not say its chat format (palaestra.json); name one with --format"),
    ],
)
def test_a_damaged_checkpoint_is_named_with_its_fault_and_a_way_out(saved: Path, damage: Damage, says: str) -> None:
    damage(saved)
    found = refusal(saved)
    assert found.startswith(str(saved))
    assert says in found
    assert "\n" not in found


@pytest.mark.parametrize("damage", [cut("model.safetensors"), flip, drop("tokenizer.json"), cut("tokenizer.json")])
def test_a_save_that_does_not_match_its_manifest_is_refused(sealed: Path, damage: Damage) -> None:
    damage(sealed)
    found = refusal(sealed)
    assert "no whole save" in found
    assert str(sealed) in found
    assert "run the command that writes it again" in found


def test_a_damaged_save_points_to_the_one_before_it(sealed: Path) -> None:
    with saving(sealed) as temporary:
        tiny(seed=1).save(temporary)
    flip(sealed)
    before = sealed.with_name("save.previous")
    assert refusal(sealed) == f"{sealed} is damaged; the save before it is whole: give {before} instead"
    assert load_policy(before).digest() == tiny().digest()


@pytest.mark.parametrize(
    "damage", [lose_a_weight, configure(num_hidden_layers=1, layer_types=["full_attention"])], ids=["lost", "extra"]
)
def test_weights_that_do_not_fit_the_model_are_refused(saved: Path, damage: Damage) -> None:
    damage(saved)
    assert "its weights do not fit its config.json" in refusal(saved)


def test_a_folder_that_is_not_there_is_no_checkpoint(tmp_path: Path) -> None:
    assert "holds no config.json, so it is no checkpoint" in refusal(tmp_path / "nowhere")


def test_a_tokenizer_larger_than_the_model_embeds_is_refused(saved: Path) -> None:
    larger = tiny(size=280, words="hello world " * 3 + "hullo wurld hallo warld " * 3).codec.tokenizer
    larger.save_pretrained(saved)
    embedded = len(tiny().codec.tokenizer)
    assert refusal(saved) == (
        f"{saved}: the tokenizer has {len(larger)} tokens and the model embeds {embedded}; "
        "put the tokenizer there that the model was trained with"
    )


def test_a_checkpoint_without_any_tokenizer_is_refused(saved: Path) -> None:
    drop("tokenizer.json", "tokenizer_config.json")(saved)
    assert "the tokenizer" in refusal(saved)


def test_a_format_that_the_tokenizer_was_not_made_for_is_refused(saved: Path) -> None:
    assert "the tokenizer has no token '<|im_end|>'" in refusal(saved, "qwen")


def test_an_unknown_format_is_named_with_near_ones(saved: Path) -> None:
    with pytest.raises(UnknownNameError, match="unknown chat format 'compac'; did you mean 'compact'"):
        load_policy(saved, format_name="compac")
    write("palaestra.json", '{"format": "qwem"}')(saved)
    with pytest.raises(UnknownNameError, match="unknown chat format 'qwem'; did you mean 'qwen'"):
        load_policy(saved)


# Round trips


def test_a_policy_saved_and_loaded_is_the_same_to_the_bit(
    policy: ReferencePolicy, episodes: Sequence[Episode], tmp_path: Path
) -> None:
    policy.save(tmp_path)
    loaded = load_policy(tmp_path)
    assert loaded.digest() == policy.digest()
    assert loaded.codec.format.name == policy.codec.format.name
    shown = demonstration(transcript_of(episodes[0]), policy.codec)
    assert demonstration(transcript_of(episodes[0]), loaded.codec) == shown
    ids = torch.tensor([shown.ids[:200]])
    with torch.inference_mode():
        assert torch.equal(loaded.logits(loaded.hidden_states(ids)), policy.logits(policy.hidden_states(ids)))
    assert not loaded.model.training


def test_transformers_reads_a_save_without_us(policy: ReferencePolicy, tmp_path: Path) -> None:
    policy.save(tmp_path)
    model = AutoModelForCausalLM.from_pretrained(tmp_path, local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path, local_files_only=True)
    assert isinstance(tokenizer, PreTrainedTokenizerFast)
    assert tokenizer.eos_token == policy.codec.format.end
    assert tokenizer("get_order", add_special_tokens=False)["input_ids"] == policy.codec.encode(["get_order"])
    ids = torch.tensor([policy.codec.encode(["get_order"])])
    with torch.inference_mode():
        assert torch.equal(model(ids).logits, policy.logits(policy.hidden_states(ids)))


def test_a_checkpoint_that_does_not_say_its_format_is_read_with_one_that_is_named(saved: Path) -> None:
    drop("palaestra.json")(saved)
    loaded = load_policy(saved, format_name="compact")
    assert loaded.digest() == tiny().digest()
    assert loaded.codec.format.name == "compact"


def test_a_format_that_is_named_goes_before_the_checkpoints_own(saved: Path) -> None:
    write("palaestra.json", '{"format": "qwen"}')(saved)
    assert load_policy(saved, format_name="compact").codec.format.name == "compact"


def test_weights_are_held_in_single_precision_whatever_they_were_saved_in(tmp_path: Path) -> None:
    half = tiny()
    half.model.bfloat16()
    half.save(tmp_path)
    loaded = load_policy(tmp_path)
    assert {weight.dtype for weight in loaded.model.parameters()} == {torch.float32}
    half.model.float()
    assert loaded.digest() == half.digest()


def test_a_model_may_embed_more_than_its_tokenizer_has(tmp_path: Path) -> None:
    policy = tiny()
    padded = ReferencePolicy(model=new_model(TINY, vocabulary=320, seed=0), codec=policy.codec)
    padded.save(tmp_path)
    assert load_policy(tmp_path).digest() == padded.digest()


# New models, copies and digests


def test_a_new_model_is_a_function_of_its_seed_and_leaves_the_global_generator_alone() -> None:
    state = torch.random.get_rng_state()
    first = tiny(seed=7).digest()
    assert torch.equal(torch.random.get_rng_state(), state)
    torch.rand(3)
    assert tiny(seed=7).digest() == first
    assert tiny(seed=8).digest() != first


def test_the_embeddings_are_tied() -> None:
    model: Any = tiny().model
    assert model.get_input_embeddings().weight is model.get_output_embeddings().weight


def test_a_copy_is_equal_and_shares_no_weight() -> None:
    policy = tiny()
    before = policy.digest()
    copy = policy.copy()
    assert copy.digest() == before
    own, others = ({w.data_ptr() for w in p.model.state_dict().values()} for p in (policy, copy))
    assert own.isdisjoint(others)
    with torch.no_grad():
        for weight in copy.model.parameters():
            weight.add_(1)
    assert policy.digest() == before != copy.digest()


def test_a_digest_names_every_bit_of_every_weight() -> None:
    policy = tiny()
    seen = {policy.digest()}
    for weight in policy.model.parameters():
        with torch.no_grad():
            weight.view(-1)[-1] = torch.nextafter(weight.view(-1)[-1], torch.tensor(9.0))
        seen.add(policy.digest())
    assert len(seen) == 1 + len(list(policy.model.parameters()))
    assert policy.copy().digest() in seen


def test_a_digest_tells_types_apart() -> None:
    policy = tiny()
    assert ReferencePolicy(model=policy.copy().model.double(), codec=policy.codec).digest() != policy.digest()

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from decoders import logits_of
from palaestra.durable import saving
from palaestra.errors import CheckpointError, ConfigError, UnknownNameError
from palaestra.records import Message, ToolCall
from palaestra.tools import CHAT_FORMATS
from palaestra.trainers.codec import Codec, train_tokenizer
from palaestra.trainers.data.demonstration import render_episode
from palaestra.trainers.model.checkpoint import fresh
from palaestra.trainers.model.shape import DecoderShape
from palaestra.trainers.policy import Policy, load_policy
from palaestra.trainers.reference.policy import ModelShape, ReferencePolicy, new_model
from palaestra.trainers.reference.policy import load_policy as load_reference
from palaestra.transcript import AgentTranscript, TranscriptTurn

SIZES: dict[str, Any] = {
    "hidden": 16,
    "layers": 2,
    "heads": 2,
    "kv_heads": 1,
    "head_dim": 8,
    "mlp": 32,
    "context": 64,
}


def codec(*, words: str = "hello world", size: int = 300) -> Codec:
    form = CHAT_FORMATS.get("compact")
    return Codec(train_tokenizer([[words]], form, size=size), form)


def tiny(*, seed: int = 0) -> Policy:
    own = codec()
    shape = DecoderShape(vocabulary=len(own.tokenizer), **SIZES)
    return Policy(model=fresh(shape, seed=seed).eval(), codec=own)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    tiny().save(tmp_path / "save")
    return tmp_path / "save"


def refusal(directory: Path, format_name: str | None = None) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # transformers' own, about the same damage
        with pytest.raises(CheckpointError) as error:
            load_policy(directory, format_name=format_name)
    return str(error.value)


def change_config(**changes: object) -> Callable[[Path], object]:
    def change(directory: Path) -> None:
        config: dict[str, Any] = json.loads((directory / "config.json").read_bytes())
        (directory / "config.json").write_text(json.dumps({**config, **changes}))

    return change


# Checkpoints that cannot be used


DAMAGES: list[tuple[Callable[[Path], object], str]] = [
    (lambda at: (at / "config.json").unlink(), "holds no config.json, so it is no checkpoint; give a folder that"),
    (lambda at: (at / "model.safetensors").unlink(), "its model cannot be read (no file named model.safetensors"),
    (lambda at: (at / "tokenizer.json").unlink(), "its tokenizer cannot be read ("),
    (lambda at: (at / "palaestra.json").unlink(), "does not say its chat format (palaestra.json); name one with"),
    (lambda at: (at / "palaestra.json").write_text("[1]"), "does not say its chat format"),
    (change_config(hidden_size=24), "its weights do not fit its config.json (mismatched keys: "),
    (change_config(attention_bias=True), "attention_bias is true"),
]


@pytest.mark.parametrize(("damage", "says"), DAMAGES)
def test_a_damaged_checkpoint_is_named_with_its_fault(saved: Path, damage: Callable[[Path], object], says: str) -> None:
    damage(saved)
    found = refusal(saved)
    assert found.startswith(str(saved))
    assert says in found


def test_a_damaged_save_points_to_the_one_before_it(tmp_path: Path) -> None:
    for seed in (0, 1):
        with saving(tmp_path / "save") as temporary:
            tiny(seed=seed).save(temporary)
    weights = tmp_path / "save" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    assert refusal(tmp_path / "save").endswith(
        f"the save before it is whole: give {tmp_path / 'save.previous'} instead"
    )
    assert load_policy(tmp_path / "save.previous").digest() == tiny(seed=0).digest()


def test_a_tokenizer_larger_than_the_model_embeds_is_refused(saved: Path) -> None:
    codec(size=280, words="hello world " * 3 + "hullo wurld hallo warld " * 3).tokenizer.save_pretrained(saved)
    assert "put the tokenizer there that the model was trained with" in refusal(saved)


def test_a_format_that_the_tokenizer_was_not_made_for_is_refused(saved: Path) -> None:
    assert "the tokenizer has no token '<|im_end|>'" in refusal(saved, "qwen")


def test_an_unknown_format_is_named_with_near_ones(saved: Path) -> None:
    with pytest.raises(UnknownNameError, match="unknown chat format 'compac'; did you mean 'compact'"):
        load_policy(saved, format_name="compac")


# Round trips


def test_a_policy_saved_and_loaded_is_the_same_to_the_bit(saved: Path) -> None:
    loaded = load_policy(saved)
    assert loaded.digest() == tiny().digest()
    assert loaded.codec.format.name == "compact"
    assert loaded.codec.encode(["hello"]) == tiny().codec.encode(["hello"])
    assert not loaded.model.training


def test_the_reference_reads_our_folders_and_finds_the_same_policy(saved: Path) -> None:
    theirs, ours = load_reference(saved), load_policy(saved)
    assert theirs.digest() == ours.digest()
    ids = ours.codec.encode(["hello world"]) * 5
    with torch.inference_mode():
        logits = theirs.logits(theirs.hidden_states(torch.tensor([ids])))[0]
    torch.testing.assert_close(logits_of(ours.model, ids), logits, atol=1e-4, rtol=0)


def test_we_read_the_references_folders_and_find_the_same_policy(tmp_path: Path) -> None:
    own = codec()
    model = new_model(ModelShape(**SIZES), vocabulary=len(own.tokenizer), seed=3)
    theirs = ReferencePolicy(model=model, codec=own)
    theirs.save(tmp_path)
    ours = load_policy(tmp_path)
    assert ours.digest() == theirs.digest()
    assert ours.model.shape == DecoderShape(vocabulary=len(own.tokenizer), **SIZES)


def test_a_format_that_is_named_goes_before_the_checkpoints_own(saved: Path) -> None:
    (saved / "palaestra.json").write_text('{"format": "qwen"}')
    assert load_policy(saved, format_name="compact").codec.format.name == "compact"


def test_a_policy_that_was_trained_with_facts_is_loaded_with_facts(tmp_path: Path) -> None:
    form = CHAT_FORMATS.get("smollm2-facts")
    own = Codec(train_tokenizer([["hello world"]], form, size=300), form)
    shape = DecoderShape(vocabulary=len(own.tokenizer), **SIZES)
    Policy(model=fresh(shape, seed=0), codec=own).save(tmp_path)
    answer: Message = {
        "role": "tool",
        "name": "look",
        "content": '{"items": [{"price_cents": 500}, {"price_cents": 700}]}',
    }
    for codec_loaded in (load_policy(tmp_path).codec, load_reference(tmp_path).codec):
        assert codec_loaded.format.name == "smollm2-facts"
        pieces = codec_loaded.format.rendering().following([answer])
        assert "items.price_cents 500: smallest of 2" in "".join(codec_loaded.decode(codec_loaded.encode(pieces)))


def test_supervised_data_has_the_facts_of_rollouts() -> None:
    form = CHAT_FORMATS.get("smollm2-facts")
    prompt: tuple[Message, ...] = ({"role": "user", "content": "Which is cheaper?"},)
    answer: Message = {"role": "tool", "name": "look", "content": '[{"price_cents": 500}, {"price_cents": 700}]'}
    turn = TranscriptTurn(text=None, calls=(ToolCall(tool="look", arguments={}),), observation=(answer,))
    pieces = render_episode(AgentTranscript(prompt=prompt, tools=(), turns=(turn,)), form)
    assert "price_cents 500: smallest of 2" in "".join(pieces)
    rollout = form.rendering()
    read = [*rollout.opening(prompt, ()), *rollout.write_turn(turn.calls), *rollout.following(turn.observation)]
    assert "".join(read) == "".join(pieces)


def test_facts_in_a_format_that_takes_none_are_refused(saved: Path) -> None:
    with pytest.raises(ConfigError, match="the format 'compact' takes no facts"):
        load_policy(saved, format_name="compact-facts")


# Copies and digests


def test_a_copy_is_equal_and_shares_no_weight() -> None:
    policy = tiny()
    before = policy.digest()
    copy = policy.copy()
    assert copy.digest() == before
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

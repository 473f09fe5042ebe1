"""Adapters: trained in place of weights, worked into them for the engine, kept in peft's files."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from peft import PeftModel
from torch import Tensor

from decoders import in_transformers, tiny, varied
from learning import sequences, weighed
from palaestra.errors import CheckpointError, ConfigError, UnknownNameError
from palaestra.trainers.learner import Learner, LearnerConfig, LoraConfig, Precision
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.objectives import ComposedObjective, SupervisedObjective

PLAIN = LearnerConfig(lr=1e-2, lora=LoraConfig(rank=4, alpha=8))


def decoder() -> Decoder:
    return varied(tiny(), deviation=0.1)


def copied(of: Decoder) -> dict[str, Tensor]:
    return {name: weight.detach().clone() for name, weight in of.named_parameters()}


def trained(config: LearnerConfig = PLAIN) -> Learner:
    learner = Learner(decoder(), config)
    for _ in range(3):
        learner.step(ComposedObjective().prepare(weighed(sequences())))
    return learner


# What may not happen


def test_a_target_that_is_no_module_is_refused_by_name() -> None:
    config = replace(PLAIN, lora=LoraConfig(targets=("q_proj", "down_porj")))
    with pytest.raises(UnknownNameError, match=r"'down_porj'; did you mean 'down_proj'"):
        Learner(decoder(), config)


def test_without_peft_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "palaestra.trainers.learner.lora", raising=False)
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(ConfigError, match=r"install palaestra\[lora\]"):
        Learner(decoder(), PLAIN)


def test_the_state_of_a_learner_without_adapters_is_refused() -> None:
    with pytest.raises(CheckpointError, match="not trained here"):
        Learner(decoder(), PLAIN).restore(Learner(decoder(), replace(PLAIN, lora=None)).state())


# What is trained


def test_to_begin_with_adapters_change_nothing() -> None:
    model = decoder()
    before = copied(model)
    found = Learner(model, PLAIN).weights()
    assert found.keys() == before.keys()
    assert all(torch.equal(weight, before[name]) for name, weight in found.items())


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_steps_learn_and_leave_the_decoder_that_was_given_as_it_was(precision: Precision) -> None:
    model = decoder()
    before, names = copied(model), list(model.state_dict())
    learner = Learner(model, replace(PLAIN, precision=precision))
    losses = [learner.step(SupervisedObjective().prepare(weighed(sequences())))["loss"] for _ in range(8)]
    assert losses[-1] < losses[0] - 0.05
    assert list(model.state_dict()) == names
    assert all(torch.equal(weight, before[name]) for name, weight in copied(model).items())


def test_only_adapters_of_the_targets_are_trained() -> None:
    learner = Learner(decoder(), replace(PLAIN, lora=LoraConfig(rank=2, targets=("v_proj",))))
    names = learner.state()["weights"].keys()
    layers = [f"model.layers.{layer}.self_attn.v_proj.lora_{part}.default.weight" for layer in (0, 1) for part in "AB"]
    assert sorted(names) == sorted(layers)


def test_weights_with_adapters_worked_in_say_what_the_learner_says() -> None:
    learner = trained()
    merged = decoder()
    merged.load_state_dict(dict(learner.weights()), strict=False)
    merged.tie()
    batch = weighed(sequences())
    found = Learner(merged, replace(PLAIN, lora=None)).logprobs(batch)
    for score, expected in zip(found, learner.logprobs(batch), strict=True):
        assert torch.allclose(score, expected, atol=1e-5)


def test_equal_seeds_give_equal_adapters_and_torchs_own_numbers_go_on_undisturbed() -> None:
    torch.manual_seed(5)
    first = Learner(decoder(), PLAIN).state()["weights"]
    drawn = torch.rand(())
    torch.manual_seed(5)
    assert torch.equal(torch.rand(()), drawn)
    second = Learner(decoder(), PLAIN).state()["weights"]
    assert all(torch.equal(weight, second[name]) for name, weight in first.items())
    config = replace(PLAIN, lora=LoraConfig(rank=4, alpha=8, seed=1))
    other = Learner(decoder(), config).state()["weights"]
    assert not all(torch.equal(weight, other[name]) for name, weight in first.items())


# Files


def test_a_learner_goes_on_from_its_state() -> None:
    first, second = trained(), Learner(decoder(), PLAIN)
    second.restore(first.state())
    for learner in (first, second):
        learner.step(ComposedObjective().prepare(weighed(sequences())))
    assert all(torch.equal(weight, second.weights()[name]) for name, weight in first.weights().items())


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")  # peft asks transformers
def test_peft_reads_what_is_saved_and_comes_to_the_same_logits(tmp_path: Path) -> None:
    learner = trained()
    assert learner.adapters is not None
    learner.adapters.save(tmp_path / "adapters", learner.state()["weights"])
    base = in_transformers(decoder(), tmp_path / "base")
    adapted = PeftModel.from_pretrained(base, tmp_path / "adapters")
    ids = torch.tensor([sequences()[-1].ids])
    expected = decoder()
    expected.load_state_dict(dict(learner.weights()), strict=False)
    merged = in_transformers(expected, tmp_path / "merged")
    with torch.no_grad():
        assert torch.allclose(adapted(input_ids=ids).logits, merged(input_ids=ids).logits, atol=1e-4)
        assert not torch.allclose(adapted(input_ids=ids).logits, base_logits(tmp_path / "base", ids), atol=1e-2)


def base_logits(directory: Path, ids: Tensor) -> Tensor:
    logits: Tensor = in_transformers(decoder(), directory)(input_ids=ids).logits
    return logits

"""Experts: gradients are those of transformers' model, and a token's result does not depend on other tokens."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM

from decoders import causal, in_transformers, tiny, varied
from palaestra.trainers.model.checkpoint import load_decoder
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.model.feed_forward import MixtureOfExperts, SwiGlu
from palaestra.trainers.model.shape import ExpertShape

SHAPE = tiny(experts=ExpertShape(count=6, chosen=2, normalised=True))


def experts_of(layer: MixtureOfExperts) -> list[SwiGlu]:
    return [one for one in layer.experts if isinstance(one, SwiGlu)]


def mixture(decoder: Decoder) -> MixtureOfExperts:
    found = decoder.get_submodule("model.layers.1.mlp")
    assert isinstance(found, MixtureOfExperts)
    return found


def experts_apart(gradients: dict[str, Tensor]) -> dict[str, Tensor]:
    """Gradients by our names: transformers holds all experts of a block in two tensors."""
    own: dict[str, Tensor] = {}
    for name, gradient in gradients.items():
        block, _, part = name.partition(".mlp.experts.")
        if part == "gate_up_proj":
            for expert, both in enumerate(gradient):
                gate, up = both.chunk(2)
                own[f"{block}.mlp.experts.{expert}.gate_proj.weight"] = gate
                own[f"{block}.mlp.experts.{expert}.up_proj.weight"] = up
        elif part == "down_proj":
            for expert, down in enumerate(gradient):
                own[f"{block}.mlp.experts.{expert}.down_proj.weight"] = down
        else:
            own[name] = gradient
    return own


@pytest.mark.parametrize("normalised", [True, False])
def test_gradients_are_those_of_transformers(normalised: bool, tmp_path: Path) -> None:
    ours = varied(tiny(experts=ExpertShape(count=6, chosen=2, normalised=normalised)))
    theirs: Any = in_transformers(ours, tmp_path)
    ids = [number * 7 % 48 for number in range(60)]
    weight_TV = torch.randn(60, 48, generator=torch.Generator().manual_seed(3))
    hidden_TC = ours.requires_grad_()(torch.tensor(ids), torch.arange(60), causal)
    (ours.logits(hidden_TC) * weight_TV).sum().backward()
    (theirs.requires_grad_()(torch.tensor([ids])).logits[0] * weight_TV).sum().backward()
    expected = experts_apart({name: one.grad for name, one in theirs.named_parameters()})
    found = {name: one.grad for name, one in ours.named_parameters()}
    assert found.keys() == expected.keys()
    for name, gradient in found.items():
        assert gradient is not None
        assert (gradient - expected[name]).norm() <= 1e-5 * expected[name].norm(), name


def test_a_folder_that_transformers_wrote_is_read_to_the_bit(tmp_path: Path) -> None:
    theirs: Any = in_transformers(varied(SHAPE), tmp_path / "ours")
    theirs.save_pretrained(tmp_path / "theirs")
    again = load_decoder(tmp_path / "theirs")
    assert again.shape == SHAPE
    for name, weight in varied(SHAPE).state_dict().items():
        assert torch.equal(again.state_dict()[name], weight), name
    read: Any = AutoModelForCausalLM.from_pretrained(tmp_path / "ours", local_files_only=True)
    assert all(torch.equal(one, read.state_dict()[name]) for name, one in theirs.state_dict().items())


def test_a_token_gets_what_its_experts_give_it_whoever_else_there_is() -> None:
    layer = mixture(varied(SHAPE))
    x_TC = torch.randn(40, 32, generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        whole_TC = layer(x_TC)
        share_TK, expert_TK = layer.route(x_TC)
        assert torch.allclose(share_TK.sum(-1), torch.ones(40))
        for token in range(40):
            parts = [
                share * experts_of(layer)[int(expert)](x_TC[token][None])[0]
                for share, expert in zip(share_TK[token], expert_TK[token], strict=True)
            ]
            torch.testing.assert_close(whole_TC[token], torch.stack(parts).sum(0), atol=1e-5, rtol=1e-5)
    assert len(expert_TK.unique()) > 2


def test_an_expert_without_tokens_has_gradients_of_zeros() -> None:
    """So that processes of which each has other tokens reduce the same gradients."""
    layer = mixture(varied(SHAPE))
    layer(torch.randn(1, 32, generator=torch.Generator().manual_seed(1))).sum().backward()
    each = [one.gate_proj.weight.grad for one in experts_of(layer)]
    assert len(each) == 6
    assert all(one is not None for one in each)
    assert sum(bool(one.any()) for one in each if one is not None) == 2

from copy import deepcopy
from pathlib import Path

import pytest
import torch
from transformers import LlamaForCausalLM, PreTrainedModel, Qwen2ForCausalLM, Qwen3ForCausalLM, Qwen3MoeForCausalLM

from decoders import STRETCHED, causal, in_transformers, logits_of, tiny, varied
from palaestra.trainers.model.decoder import Decoder, Rotary, rotate
from palaestra.trainers.model.shape import DecoderShape, ExpertShape

IDS = torch.randint(0, 48, (150,), generator=torch.Generator().manual_seed(5)).tolist()
SHAPES = {
    "qwen3": tiny(),
    "qwen3, one key-value head": tiny(kv_heads=1),
    "qwen3, untied, heads wider than hidden": tiny(tied=False, head_dim=16),
    "qwen3, other theta and epsilon": tiny(rope_theta=1e6, norm_epsilon=1e-3),
    "experts": tiny(experts=ExpertShape(count=5, chosen=2, normalised=True)),
    "experts, shares as they are, untied": tiny(experts=ExpertShape(count=4, chosen=3, normalised=False), tied=False),
    "qwen2": tiny(qk_norm=False, qkv_bias=True),
    "qwen2, untied, one key-value head": tiny(qk_norm=False, qkv_bias=True, tied=False, kv_heads=1, rope_theta=1e6),
    "llama": tiny(qk_norm=False),
    "llama, untied, no sharing of heads": tiny(qk_norm=False, tied=False, kv_heads=4),
    "llama as SmolLM2, nine heads over three": tiny(
        qk_norm=False, hidden=36, heads=9, kv_heads=3, head_dim=4, rope_theta=1e5, norm_epsilon=1e-5
    ),
    "llama, stretched": tiny(qk_norm=False, rope_scaling=STRETCHED, rope_theta=5e5),
}


@pytest.fixture(params=SHAPES.values(), ids=list(SHAPES))
def shape(request: pytest.FixtureRequest) -> DecoderShape:
    found: DecoderShape = request.param
    return found


def theirs(model: PreTrainedModel) -> torch.Tensor:
    with torch.inference_mode():
        logits: torch.Tensor = model(torch.tensor([IDS])).logits[0]
    return logits


def test_logits_are_those_of_transformers(shape: DecoderShape, tmp_path: Path) -> None:
    decoder = varied(shape)
    model = in_transformers(decoder, tmp_path)
    others = Qwen2ForCausalLM if shape.qkv_bias else LlamaForCausalLM
    normed = Qwen3ForCausalLM if shape.experts is None else Qwen3MoeForCausalLM
    assert isinstance(model, normed if shape.qk_norm else others)
    ours = logits_of(decoder, IDS)
    assert ours.std() > 0.5  # else any two models would agree
    torch.testing.assert_close(ours, theirs(model), atol=1e-4, rtol=0)


def test_the_shape_counts_its_parameters(shape: DecoderShape) -> None:
    assert shape.parameters == sum(weight.numel() for weight in varied(shape).parameters())


def test_a_token_sees_nothing_behind_it() -> None:
    decoder = varied(tiny())
    torch.testing.assert_close(logits_of(decoder, IDS)[:40], logits_of(decoder, IDS[:40]), atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    "shape", [tiny(tied=False), tiny(tied=False, qk_norm=False, qkv_bias=True)], ids=["norm", "bias"]
)
def test_every_weight_has_a_say(shape: DecoderShape) -> None:
    decoder = varied(shape)
    before = logits_of(decoder, IDS)
    for name, weight in decoder.named_parameters():
        changed = deepcopy(decoder)
        with torch.no_grad():
            changed.get_parameter(name).mul_(torch.linspace(0.5, 1.5, weight.numel()).view(weight.shape))
        assert not torch.allclose(logits_of(changed, IDS), before, atol=1e-3), name


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"kv_heads": 3}, "4 heads cannot share 3"),
        ({"head_dim": 7}, "even"),
        ({"qkv_bias": True}, "qkv_bias=True, qk_norm=True"),
        ({"experts": ExpertShape(count=2, chosen=1, normalised=True), "qk_norm": False}, "experts, qk_norm=False"),
        ({"qkv_bias": True, "qk_norm": False, "head_dim": 16}, "qkv_bias=True, heads=4, head_dim=16, hidden=32"),
    ],
)
def test_a_shape_that_no_decoder_has_is_refused(changes: dict[str, int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        tiny(**changes)


@pytest.mark.parametrize("wanted", [[149], [3, 77, 20], list(range(150))])
def test_the_states_of_some_tokens_are_those_of_all(wanted: list[int]) -> None:
    decoder, place_T = varied(tiny()), torch.arange(150)
    with torch.inference_mode():
        all_TC = decoder(torch.tensor(IDS), place_T, causal)
        some_BC = decoder(torch.tensor(IDS), place_T, causal, wanted_B=torch.tensor(wanted))
    torch.testing.assert_close(some_BC, all_TC[wanted], atol=1e-5, rtol=0)


def test_joined_weights_give_the_same_logits(shape: DecoderShape) -> None:
    decoder = varied(shape)
    before = logits_of(decoder, IDS)
    names = decoder.state_dict().keys()
    decoder.join()
    torch.testing.assert_close(logits_of(decoder, IDS), before, atol=3e-5, rtol=0)
    assert decoder.state_dict().keys() == names


def test_weights_can_be_copied_into_joined_ones(shape: DecoderShape) -> None:
    decoder, other = varied(shape), varied(shape, seed=7)
    decoder.join()
    with torch.no_grad():
        for name, weight in decoder.state_dict().items():
            weight.copy_(other.state_dict()[name])
    decoder.refresh()
    torch.testing.assert_close(logits_of(decoder, IDS), logits_of(other, IDS), atol=3e-5, rtol=0)
    assert not any(weight.requires_grad for weight in decoder.parameters())


# Rotary positions


def test_scores_of_rotated_vectors_depend_on_their_distance_alone() -> None:
    rotary = Rotary(tiny(head_dim=16))
    generator = torch.Generator().manual_seed(0)
    q_1HD, k_1HD = torch.randn(2, 1, 1, 16, generator=generator)

    def score(q_at: int, k_at: int) -> float:
        q = rotate(q_1HD, rotary(torch.tensor([q_at]), torch.float32))
        k = rotate(k_1HD, rotary(torch.tensor([k_at]), torch.float32))
        return float((q * k).sum())

    assert score(5, 2) == pytest.approx(score(105, 102), abs=1e-4)
    assert score(0, 0) == pytest.approx(float((q_1HD * k_1HD).sum()), abs=1e-5)
    assert score(5, 2) != pytest.approx(score(5, 3), abs=1e-2)


def test_casting_a_decoder_leaves_its_rotation_as_it_is() -> None:
    decoder = varied(tiny())
    before, _ = decoder.model.rotary(torch.arange(99), torch.float32)
    after, _ = deepcopy(decoder).bfloat16().model.rotary(torch.arange(99), torch.float32)
    assert torch.equal(before, after)
    assert not any("rotary" in name for name in decoder.state_dict())


def test_a_copy_keeps_the_tie() -> None:
    decoder: Decoder = deepcopy(varied(tiny()))
    assert decoder.lm_head.weight is decoder.model.embed_tokens.weight

"""Products of quantised operands, against products in double precision. Axes: T tokens, C channels, N columns."""

import math

import pytest
import torch
from torch import Tensor

from decoders import tiny
from palaestra.errors import ConfigError
from palaestra.trainers.flow import BLOCK_FORMAT, ROW_FORMAT, OperandFormat
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.nvfp4 import round_to_nvfp4
from palaestra.trainers.products import Nvfp4Products, QuantisedProducts, check_sizes, frozen_bytes, packed_bytes
from palaestra.trainers.quantisation import round_to_e4m3

FORMATS = pytest.mark.parametrize("operands", [ROW_FORMAT, BLOCK_FORMAT], ids=["fp8", "fp8-block"])
T, C, N = 9, 260, 130
"""Neither side of the weight is a multiple of 128."""


def operands_of(seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x_TC = torch.randn(T, C, generator=generator) * torch.logspace(-2, 2, T)[:, None]
    return x_TC.bfloat16().requires_grad_(), torch.randn(N, C, generator=generator).mul_(0.05).requires_grad_()


def multiply(x_TC: Tensor, weight_NC: Tensor, operands: OperandFormat) -> Tensor:
    products = QuantisedProducts(operands)
    return products.product(x_TC, weight_NC, products.pack(weight_NC.detach()))


def exact(x_TC: Tensor, weight_NC: Tensor, operands: OperandFormat) -> tuple[Tensor, Tensor]:
    """What the operands are rounded to."""
    x_TC, weight_NC = x_TC.detach().float(), weight_NC.detach()
    return round_to_e4m3(x_TC, operands.activation).double(), round_to_e4m3(weight_NC, operands.weight).double()


@FORMATS
def test_it_is_the_product_of_what_the_operands_are_rounded_to(operands: OperandFormat) -> None:
    x_TC, weight_NC = operands_of()
    found_TN = multiply(x_TC, weight_NC, operands)
    exact_TC, exact_NC = exact(x_TC, weight_NC, operands)
    expected_TN = exact_TC @ exact_NC.T
    summed_TN = exact_TC.abs() @ exact_NC.abs().T
    bound_TN = expected_TN.abs() * 2**-8 + summed_TN * C * 2**-24  # one rounding to bfloat16, and C to single
    assert found_TN.dtype == torch.bfloat16
    assert bool(((found_TN.double() - expected_TN).abs() <= bound_TN).all())


@FORMATS
def test_gradients_are_those_of_a_straight_through_product_written_out(operands: OperandFormat) -> None:
    """In double precision: x + (rounded - x).detach() has the value of one and the gradient of the other."""
    d_TN = torch.randn(T, N, generator=torch.Generator().manual_seed(5)).bfloat16()
    x_TC, weight_NC = operands_of()
    multiply(x_TC, weight_NC, operands).backward(d_TN)
    plain_TC, plain_NC = (x.detach().double().requires_grad_() for x in (x_TC, weight_NC))
    rounded_TC, rounded_NC = exact(x_TC, weight_NC, operands)
    through_TC = plain_TC + (rounded_TC - plain_TC).detach()
    through_NC = plain_NC + (rounded_NC - plain_NC).detach()
    (through_TC @ through_NC.T).backward(d_TN.double())
    assert x_TC.grad is not None
    assert weight_NC.grad is not None
    assert (x_TC.grad.dtype, weight_NC.grad.dtype) == (torch.bfloat16, torch.float32)
    for found, expected in ((x_TC.grad, plain_TC.grad), (weight_NC.grad, plain_NC.grad)):
        assert expected is not None
        torch.testing.assert_close(found.double(), expected, rtol=2**-7, atol=2**-12 * float(expected.abs().max()))


@FORMATS
def test_the_gradient_itself_is_not_quantised(operands: OperandFormat) -> None:
    """A gradient whose rounding to E4M3 would change it goes through as it is."""
    x_TC, weight_NC = operands_of()
    d_TN = torch.zeros(T, N, dtype=torch.bfloat16)
    d_TN[2, 7] = 1 + 2**-7
    multiply(x_TC, weight_NC, operands).backward(d_TN)
    _, rounded_NC = exact(x_TC, weight_NC, operands)
    assert x_TC.grad is not None
    assert torch.equal(x_TC.grad[2].double(), (rounded_NC[7] * (1 + 2**-7)).bfloat16().double())


@FORMATS
def test_a_token_meets_the_same_numbers_in_any_batch(operands: OperandFormat) -> None:
    """Sums may have another order, so the last bit may differ; rounding to E4M3 with a neighbour's scale would show."""
    x_TC, weight_NC = operands_of()
    together_TN = multiply(x_TC, weight_NC, operands)
    for token in range(T):
        alone_1N = multiply(x_TC[token : token + 1], weight_NC, operands)
        size = float(together_TN[token].detach().abs().max())
        torch.testing.assert_close(alone_1N[0], together_TN[token], rtol=2**-7, atol=size * 2**-16)


@FORMATS
def test_no_token_gives_no_row(operands: OperandFormat) -> None:
    x_TC, weight_NC = operands_of()
    assert multiply(x_TC[:0], weight_NC, operands).shape == (0, N)


@FORMATS
def test_a_weight_that_is_not_finite_shows(operands: OperandFormat) -> None:
    x_TC, weight_NC = operands_of()
    with torch.no_grad():
        weight_NC[3, 5] = math.inf
    assert bool(multiply(x_TC, weight_NC, operands)[:, 3].isnan().all())


@FORMATS
def test_new_weights_stand_where_the_old_ones_stood(operands: OperandFormat) -> None:
    decoder = Decoder(tiny())
    decoder.multiply_with(QuantisedProducts(operands))
    (first, *_) = decoder.projections()
    assert first.packed is not None
    places, before = [part.data_ptr() for part in first.packed], first.packed[0].float()
    with torch.no_grad():
        first.weight.neg_().mul_(2)
    decoder.refresh()
    assert [part.data_ptr() for part in first.packed] == places
    assert torch.equal(first.packed[0].float(), -before)


@FORMATS
def test_bytes_are_counted_as_they_are_held(operands: OperandFormat) -> None:
    shape = tiny(hidden=160, mlp=300)
    decoder = Decoder(shape)
    decoder.multiply_with(QuantisedProducts(operands))
    held = sum(part.nbytes for one in decoder.projections() for part in one.packed or ())
    assert packed_bytes(operands, shape) == held
    assert shape.projection_parameters == sum(one.weight.numel() for one in decoder.projections())


@pytest.mark.parametrize(
    ("changes", "named"),
    [({"hidden": 40}, "hidden=40"), ({"mlp": 50}, "mlp=50"), ({"head_dim": 6}, r"heads \* head_dim=24")],
)
def test_sizes_that_cuda_does_not_multiply_are_refused(changes: dict[str, int], named: str) -> None:
    with pytest.raises(ConfigError, match=rf"{named}: .* multiples of 16 alone; .* write precision = .bf16."):
        check_sizes(ROW_FORMAT, tiny(**changes), torch.device("cuda"))
    for operands, device in ((ROW_FORMAT, "cpu"), (BLOCK_FORMAT, "cuda")):
        check_sizes(operands, tiny(**changes), torch.device(device))


# Frozen weights


def test_a_product_with_frozen_weights_is_torchs_product_with_what_they_are_rounded_to() -> None:
    x_TC, weight_NC = operands_of()
    products = Nvfp4Products()
    found_TN = products.product(x_TC, weight_NC, products.pack(weight_NC.detach()))
    assert torch.equal(found_TN, x_TC @ round_to_nvfp4(weight_NC.detach()).bfloat16().T)


def test_its_gradient_is_that_of_the_states_and_the_weights_get_none() -> None:
    x_TC, weight_NC = operands_of()
    products = Nvfp4Products()
    d_TN = torch.randn(T, N, generator=torch.Generator().manual_seed(5)).bfloat16()
    products.product(x_TC, weight_NC, products.pack(weight_NC.detach())).backward(d_TN)
    assert x_TC.grad is not None
    assert torch.equal(x_TC.grad, d_TN @ round_to_nvfp4(weight_NC.detach()).bfloat16())
    assert weight_NC.grad is None


def test_nothing_but_the_frozen_weights_is_kept_for_the_way_back() -> None:
    x_TC, weight_NC = operands_of()
    products, kept = Nvfp4Products(), list[Tensor]()
    packed = products.pack(weight_NC.detach())

    def keep(one: Tensor) -> Tensor:
        kept.append(one)
        return one

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda one: one):
        products.product(x_TC, weight_NC, packed)
    assert {one.data_ptr() for one in kept} == {part.data_ptr() for part in packed}


def test_a_frozen_decoder_holds_the_bytes_that_are_counted_and_no_weights_of_projections() -> None:
    shape = tiny(hidden=160, mlp=300)
    decoder = Decoder(shape)
    decoder.freeze(Nvfp4Products())
    assert frozen_bytes(shape) == sum(part.nbytes for one in decoder.projections() for part in one.packed or ())
    assert all(one.weight.is_meta for one in decoder.projections())


def test_a_frozen_decoder_moves_and_is_cast_without_a_change_of_its_formats() -> None:
    decoder = Decoder(tiny())
    decoder.freeze(Nvfp4Products())
    first = next(decoder.projections())
    before, whole = first.packed, first.whole_weight()
    decoder.to("cpu", torch.bfloat16)
    assert decoder.lm_head.weight.dtype == torch.bfloat16
    assert before is not None
    assert first.packed is not None
    assert [part.data_ptr() for part in first.packed] == [part.data_ptr() for part in before]
    assert torch.equal(first.whole_weight(), whole)
    decoder.to("meta")
    assert all(part.is_meta for part in first.packed)


def test_an_unfrozen_decoder_has_the_rounded_weights_and_shares_the_rest() -> None:
    decoder = Decoder(tiny())
    assert decoder.unfrozen() is decoder
    expected = [round_to_nvfp4(one.weight.detach()) for one in decoder.projections()]
    decoder.freeze(Nvfp4Products())
    whole = decoder.unfrozen()
    assert all(torch.equal(one.weight, other) for one, other in zip(whole.projections(), expected, strict=True))
    assert whole.model.embed_tokens.weight is decoder.model.embed_tokens.weight
    assert all(one.frozen is not None for one in decoder.projections()), "and the decoder stays as it is"
    whole.freeze(Nvfp4Products())
    assert all(
        torch.equal(one.whole_weight(), other.whole_weight())
        for one, other in zip(whole.projections(), decoder.projections(), strict=True)
    )

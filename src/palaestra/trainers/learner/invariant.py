"""The learner's forward pass in the invariant mode: the engine's kernels, with gradients.

The forward pass equals the engine's to the bit. The backward pass uses torch's products and attention, whose last bits
depend on the batch.

Axes: N tokens of a pass, T trained tokens, C hidden, H heads, G key-value heads, D head dimension, V vocabulary.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from palaestra.trainers.data.path import PrefixPath, path_places
from palaestra.trainers.engines.native.invariant import InvariantFunctions
from palaestra.trainers.engines.native.kernels import BLOCK_PLACES, InvariantKernels
from palaestra.trainers.learner.logprobs import ScoreFunction, TokenScores
from palaestra.trainers.learner.norms import RmsNorm
from palaestra.trainers.learner.straight_through import replace_value
from palaestra.trainers.model.arithmetic import Rotation
from palaestra.trainers.model.decoder import Attend
from palaestra.trainers.model.projection import PackedWeight
from palaestra.trainers.quantisation import round_to_e4m3


class TrainedFunctions(InvariantFunctions):
    """The engine's arithmetic with gradients; see `ForwardFunctions`."""

    def pack(self, weight_NC: Tensor) -> PackedWeight:
        """See `ProjectionProducts`; adds the rounded value of a quantised weight to what the kernels read."""
        packed = super().pack(weight_NC)
        if self.operands is None:
            return packed
        return (*packed, round_to_e4m3(weight_NC, self.operands.weight).bfloat16())

    def product(self, x_TC: Tensor, weight_NC: Tensor, packed: PackedWeight) -> Tensor:
        """See `ProjectionProducts`; gradients pass the rounding as those of `QuantisedProducts` do."""
        if self.operands is not None:
            x_TC = replace_value(x_TC, round_to_e4m3(x_TC, self.operands.activation))
            weight_NC = replace_value(weight_NC, packed[1])
        product_TN: Tensor = _Product.apply(x_TC, weight_NC, packed[0], self.kernels)  # type: ignore[no-untyped-call]
        return product_TN

    def route(self, x_TC: Tensor, weight_EC: Tensor, packed: Tensor) -> Tensor:
        """See `ForwardFunctions`."""
        logits_TE: Tensor = _SingleProduct.apply(x_TC, weight_EC, packed, self.kernels)  # type: ignore[no-untyped-call]
        return logits_TE

    def norm(self, x: Tensor, weight_C: Tensor, epsilon: float) -> Tensor:
        """See `ForwardFunctions`."""
        normed: Tensor = _Norm.apply(x, weight_C, epsilon, self.kernels)  # type: ignore[no-untyped-call]
        return normed

    def turn(self, x_THD: Tensor, rotation: Rotation) -> Tensor:
        """See `ForwardFunctions`."""
        turned_THD: Tensor = _Turn.apply(x_THD, *rotation, self.kernels)  # type: ignore[no-untyped-call]
        return turned_THD

    def gate(self, gate_TN: Tensor, up_TN: Tensor) -> Tensor:
        """See `ForwardFunctions`."""
        gated_TN: Tensor = _Gate.apply(gate_TN, up_TN, self.kernels)  # type: ignore[no-untyped-call]
        return gated_TN


class _Product(torch.autograd.Function):
    # Any: torch does not declare its context.

    @staticmethod
    def forward(ctx: Any, x_TC: Tensor, weight_NC: Tensor, packed: Tensor, kernels: InvariantKernels) -> Tensor:
        ctx.save_for_backward(x_TC, weight_NC)
        return kernels.product(x_TC, packed, len(weight_NC))

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]  the decorator takes its first by place alone
        ctx: Any, *grad_outputs: Any
    ) -> tuple[Tensor | None, Tensor | None, None, None]:
        """The gradients of torch's ordinary products."""
        x_TC, weight_NC = ctx.saved_tensors
        d_TN = grad_outputs[0].to(x_TC.dtype)
        d_x_TC = d_TN @ weight_NC if ctx.needs_input_grad[0] else None
        d_weight_NC = d_TN.T @ x_TC if ctx.needs_input_grad[1] else None
        return d_x_TC, d_weight_NC, None, None


class _SingleProduct(_Product):
    """A product in single precision, regardless of its operands' types."""

    @staticmethod
    def forward(ctx: Any, x_TC: Tensor, weight_NC: Tensor, packed: Tensor, kernels: InvariantKernels) -> Tensor:
        ctx.save_for_backward(x_TC, weight_NC)
        return kernels.product(x_TC, packed, len(weight_NC), single=True)


class _Norm(torch.autograd.Function):
    # Any: torch does not declare its context.

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight_C: Tensor, epsilon: float, kernels: InvariantKernels) -> Tensor:
        RmsNorm.remember(ctx, x, weight_C, epsilon)
        return kernels.norm(x, weight_C, epsilon)

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]  the decorator takes its first by place alone
        ctx: Any, *grad_outputs: Any
    ) -> tuple[Tensor, Tensor | None, None, None]:
        """The gradients of torch's ordinary norm."""
        return *RmsNorm.backward(ctx, *grad_outputs), None


class _Turn(torch.autograd.Function):
    # Any: torch does not declare its context.

    @staticmethod
    def forward(ctx: Any, x_NHD: Tensor, cos_N1D: Tensor, sin_N1D: Tensor, kernels: InvariantKernels) -> Tensor:
        ctx.save_for_backward(cos_N1D, sin_N1D)
        ctx.kernels = kernels
        return kernels.turn(x_NHD, cos_N1D, sin_N1D)

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]  the decorator takes its first by place alone
        ctx: Any, *grad_outputs: Any
    ) -> tuple[Tensor, None, None, None]:
        """The rotation by the opposite angles."""
        cos_N1D, sin_N1D = ctx.saved_tensors
        return ctx.kernels.turn(grad_outputs[0], cos_N1D, -sin_N1D), None, None, None


class _Gate(torch.autograd.Function):
    # Any: torch does not declare its context.

    @staticmethod
    def forward(ctx: Any, gate_NF: Tensor, up_NF: Tensor, kernels: InvariantKernels) -> Tensor:
        ctx.save_for_backward(gate_NF, up_NF)
        return kernels.gate(gate_NF, up_NF)

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]  the decorator takes its first by place alone
        ctx: Any, *grad_outputs: Any
    ) -> tuple[Tensor, Tensor, None]:
        """With s = sigmoid(gate): d up = d out gate s, d gate = d out up s (1 + gate (1 - s))."""
        gate_NF, up_NF = (x.float() for x in ctx.saved_tensors)
        d_NF = grad_outputs[0].float()
        s_NF = gate_NF.sigmoid()
        slope_NF = (1 - s_NF).mul_(gate_NF).add_(1).mul_(s_NF)
        d_gate_NF = slope_NF.mul_(up_NF).mul_(d_NF)
        d_up_NF = s_NF.mul_(gate_NF).mul_(d_NF)
        dtype = grad_outputs[0].dtype
        return d_gate_NF.to(dtype), d_up_NF.to(dtype), None


class InvariantAttention:
    """An `Attend` with the engine's forward pass and the backward pass of ordinary attention.

    Args:
        kernels: The kernels of this machine.
        paths: The paths of the pass, in order.
        ordinary: The attention of the same paths.
    """

    def __init__(self, kernels: InvariantKernels, paths: Sequence[PrefixPath], ordinary: Attend) -> None:
        self._kernels = kernels
        self._ordinary = ordinary
        self._token_P = path_places(paths) if any(path.common for path in paths) else None
        rows, places, begins, begin = list[int](), list[int](), list[int](), 0
        for row, path in enumerate(paths):
            whole = path.common + path.own
            rows += [row] * path.own
            places += range(path.common, whole)
            begins.append(begin)
            begin += whole
        self._row_N, self._place_N = torch.tensor(rows), torch.tensor(places)
        longest = max(path.common + path.own for path in paths)
        self._block_RN = torch.tensor(begins)[:, None] + torch.arange(0, longest, BLOCK_PLACES)
        """The first token of each block of each path."""

    def __call__(self, layer: int, q_NHD: Tensor, k_NGD: Tensor, v_NGD: Tensor, /) -> Tensor:
        """See `Attend`."""
        seen_NHD: Tensor = _Attended.apply(q_NHD, k_NGD, v_NGD, layer, self)  # type: ignore[no-untyped-call]
        return seen_NHD

    def attend(self, q_NHD: Tensor, k_NGD: Tensor, v_NGD: Tensor) -> Tensor:
        """The attention output of each token over its path, up to itself."""
        k_PGD, v_PGD = (
            x_NGD.contiguous() if self._token_P is None else x_NGD.index_select(0, self._token_P)
            for x_NGD in (k_NGD, v_NGD)
        )
        _, groups, head_dim = k_PGD.shape
        return self._kernels.attend(
            q_NHD,
            k_PGD,
            v_PGD,
            groups=groups,
            group_stride=head_dim,
            place_stride=groups * head_dim,
            blocks_RN=self._block_RN * (groups * head_dim),
            row_T=self._row_N,
            place_T=self._place_N,
        )

    def ordinary(self, layer: int, q_NHD: Tensor, k_NGD: Tensor, v_NGD: Tensor) -> Tensor:
        """The output of the ordinary attention."""
        return self._ordinary(layer, q_NHD, k_NGD, v_NGD)


class _Attended(torch.autograd.Function):
    # Any: torch does not declare its context.

    @staticmethod
    def forward(
        ctx: Any, q_NHD: Tensor, k_NGD: Tensor, v_NGD: Tensor, layer: int, attention: InvariantAttention
    ) -> Tensor:
        ctx.save_for_backward(q_NHD, k_NGD, v_NGD)
        ctx.layer, ctx.attention = layer, attention
        return attention.attend(q_NHD, k_NGD, v_NGD)

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]  the decorator takes its first by place alone
        ctx: Any, *grad_outputs: Any
    ) -> tuple[Tensor, Tensor, Tensor, None, None]:
        """The gradients of the ordinary attention, which is computed again for this."""
        with torch.enable_grad():
            inputs = [x.detach().requires_grad_() for x in ctx.saved_tensors]
            seen_NHD = ctx.attention.ordinary(ctx.layer, *inputs)
        d_q_NHD, d_k_NGD, d_v_NGD = torch.autograd.grad(seen_NHD, inputs, grad_outputs)
        return d_q_NHD, d_k_NGD, d_v_NGD, None, None


def score_invariantly(
    hidden_TC: Tensor,
    weight_VC: Tensor,
    packed: Tensor,
    token_T: Tensor,
    kernels: InvariantKernels,
    *,
    temperature: float | Tensor,
    chunk: int,
) -> TokenScores:
    """The result of `score_tokens`, with the log-probabilities that an engine in the mode gives for sampled tokens.

    Args:
        hidden_TC: The states that predict the tokens.
        weight_VC: The output layer's weight.
        packed: The same weight, in the type of the states, as the kernels read it.
        token_T: Token ids.
        kernels: The kernels of this machine.
        temperature: See `score_tokens`.
        chunk: The number of tokens whose logits are in memory at once.
    """
    scores: tuple[Tensor, Tensor] = _InvariantScore.apply(  # type: ignore[no-untyped-call]
        hidden_TC, weight_VC, token_T, temperature, chunk, packed, kernels
    )
    return TokenScores(*scores)


class _InvariantScore(torch.autograd.Function):
    # Any: torch declares neither its context nor what passes through `apply`.

    @staticmethod
    def forward(
        ctx: Any,
        hidden_TC: Tensor,
        weight_VC: Tensor,
        token_T: Tensor,
        temperature: float | Tensor,
        chunk: int,
        packed: Tensor,
        kernels: InvariantKernels,
    ) -> tuple[Tensor, Tensor]:
        ScoreFunction.remember(ctx, hidden_TC, weight_VC, token_T, temperature, chunk)
        divisor_T = None
        if isinstance(temperature, Tensor) or temperature != 1:
            divisor_T = torch.as_tensor(temperature, dtype=torch.float64).expand(len(token_T)).contiguous()
        logp_T, entropy_T = torch.empty(len(token_T)), torch.empty(len(token_T))
        for start in range(0, len(token_T), chunk):
            at = slice(start, start + chunk)
            logits_tV = kernels.product(hidden_TC[at], packed, len(weight_VC), single=True)
            own_t = None if divisor_T is None else divisor_T[at]
            logp_T[at], entropy_T[at] = kernels.score(logits_tV, token_T[at], own_t)
        return logp_T, entropy_T

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]  the decorator takes its first by place alone
        ctx: Any, *grad_outputs: Any
    ) -> tuple[Tensor | None, Tensor | None, None, None, None, None, None]:
        """The gradients of the ordinary scores."""
        return *ScoreFunction.backward(ctx, *grad_outputs), None, None

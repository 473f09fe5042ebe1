"""Log-probabilities and entropies of given tokens, without holding the logits of all of them.

The output layer processes one chunk of tokens at a time; the backward pass computes the chunk's logits again. Besides
inputs and outputs, memory holds one chunk's logits, regardless of the number of tokens.

Axes: N tokens, n tokens of a chunk, C hidden, V vocabulary.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


class TokenScores(NamedTuple):
    """Scores of tokens under a policy, in single precision or higher."""

    logp: Tensor
    """The logarithm of each token's probability."""
    entropy: Tensor
    """The entropy, in nats, of the distribution at the token's position."""


def score_tokens(
    hidden_NC: Tensor, weight_VC: Tensor, token_N: Tensor, *, temperature: float | Tensor, chunk: int
) -> TokenScores:
    """Scores of tokens under softmax(hidden @ weight.T / temperature), [N] each.

    Both results have gradients; that of the entropy is computed only if something depends on it.

    Args:
        hidden_NC: The states that predict the tokens. Products are computed in their type.
        weight_VC: The output layer's weight; its gradient is summed in single precision or higher.
        token_N: Token ids.
        temperature: Above 0; one for all tokens, or one for each, [N], without gradient.
        chunk: The number of tokens whose logits are in memory at once.
    """
    scores: tuple[Tensor, Tensor] = ScoreFunction.apply(hidden_NC, weight_VC, token_N, temperature, chunk)  # type: ignore[no-untyped-call]
    return TokenScores(*scores)


class ScoreFunction(torch.autograd.Function):
    """The scores and their gradients."""

    # Any: torch declares neither its context nor what passes through `apply`.

    @staticmethod
    def remember(
        ctx: Any, hidden_NC: Tensor, weight_VC: Tensor, token_N: Tensor, temperature: float | Tensor, chunk: int
    ) -> None:
        """Save what `backward` reads."""
        ctx.save_for_backward(hidden_NC, weight_VC, token_N)
        ctx.set_materialize_grads(False)
        ctx.temperature, ctx.chunk = temperature, chunk

    @staticmethod
    def forward(
        ctx: Any, hidden_NC: Tensor, weight_VC: Tensor, token_N: Tensor, temperature: float | Tensor, chunk: int
    ) -> tuple[Tensor, Tensor]:
        """The ordinary scores."""
        ScoreFunction.remember(ctx, hidden_NC, weight_VC, token_N, temperature, chunk)
        logp_N = hidden_NC.new_empty(len(token_N), dtype=_precise(hidden_NC))
        entropy_N = torch.empty_like(logp_N)
        cast_VC = weight_VC.to(hidden_NC.dtype)
        for at in _chunks(len(token_N), chunk):
            logp_nV = _logits(hidden_NC[at], cast_VC, temperature_at(temperature, at)).log_softmax(-1)
            logp_N[at] = logp_nV.gather(-1, token_N[at, None])[:, 0]
            entropy_N[at] = _entropy(logp_nV.exp(), logp_nV)
        return logp_N, entropy_N

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]  the decorator takes its first by place alone
        ctx: Any, *grad_outputs: Any
    ) -> tuple[Tensor | None, Tensor | None, None, None, None]:
        """The gradients of the log-probability and the entropy; the chunks' logits are computed again."""
        hidden_NC, weight_VC, token_N = ctx.saved_tensors
        d_logp_N, d_entropy_N = grad_outputs
        d_hidden_NC = torch.empty_like(hidden_NC) if ctx.needs_input_grad[0] else None
        d_weight_VC = torch.zeros_like(weight_VC, dtype=_precise(weight_VC)) if ctx.needs_input_grad[1] else None
        cast_VC = weight_VC.to(hidden_NC.dtype)
        if d_logp_N is None:
            d_logp_N = hidden_NC.new_zeros(len(token_N), dtype=_precise(hidden_NC))
        for at in _chunks(len(token_N), ctx.chunk):
            temperature = temperature_at(ctx.temperature, at)
            d_logits_nV = _d_logits(
                _logits(hidden_NC[at], cast_VC, temperature),
                token_N[at],
                d_logp_N[at] / temperature,
                None if d_entropy_N is None else d_entropy_N[at] / temperature,
            ).to(hidden_NC.dtype)
            if d_hidden_NC is not None:
                torch.mm(d_logits_nV, cast_VC, out=d_hidden_NC[at])
            if d_weight_VC is not None and hidden_NC.dtype == d_weight_VC.dtype:
                d_weight_VC.addmm_(d_logits_nV.T, hidden_NC[at])
            elif d_weight_VC is not None:
                d_weight_VC += d_logits_nV.T @ hidden_NC[at]
        return d_hidden_NC, None if d_weight_VC is None else d_weight_VC.to(weight_VC.dtype), None, None, None


def _d_logits(logits_nV: Tensor, token_n: Tensor, d_logp_n: Tensor, d_entropy_n: Tensor | None) -> Tensor:
    """The logits' gradient: for log p[token] it is onehot(token) - p, for the entropy -p (log p + entropy)."""
    if d_entropy_n is None:
        d_logits_nV = logits_nV.softmax(-1).mul_(-d_logp_n[:, None])
    else:
        logp_nV = logits_nV.log_softmax(-1)
        p_nV = logp_nV.exp()
        towards_nV = d_entropy_n[:, None] * (logp_nV + _entropy(p_nV, logp_nV)[:, None])
        d_logits_nV = p_nV * -(d_logp_n[:, None] + towards_nV)
    return d_logits_nV.scatter_add_(-1, token_n[:, None], d_logp_n[:, None])


def _entropy(p_nV: Tensor, logp_nV: Tensor) -> Tensor:
    negative_n: Tensor = torch.linalg.vecdot(p_nV, logp_nV)
    return -negative_n


def _logits(hidden_nC: Tensor, weight_VC: Tensor, temperature: float | Tensor) -> Tensor:
    logits_nV = (hidden_nC @ weight_VC.T).to(_precise(hidden_nC))
    if isinstance(temperature, Tensor):
        return logits_nV.div_(temperature[:, None])
    return logits_nV if temperature == 1 else logits_nV.div_(temperature)


def temperature_at(temperature: float | Tensor, at: slice) -> float | Tensor:
    """The temperature of the tokens in a slice."""
    return temperature[at] if isinstance(temperature, Tensor) else temperature


def _precise(of: Tensor) -> torch.dtype:
    """Single precision or higher: probabilities are too inaccurate in half precision."""
    return torch.promote_types(of.dtype, torch.float32)


def _chunks(count: int, size: int) -> list[slice]:
    return [slice(at, at + size) for at in range(0, count, size)]

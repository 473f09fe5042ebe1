"""Sampling of a token from logits: temperature, top-p, and inversion by a given number.

Axes: B turns, V vocabulary.
"""

import torch
from torch import Tensor
from torch.nn import functional

from palaestra.trainers.engines.native.kernels import InvariantKernels, Kernels


def draw(
    logits_BV: Tensor,
    noise_B: Tensor,
    *,
    temperature_B: Tensor | None,
    top_p_B: Tensor | None,
    kernels: Kernels | InvariantKernels | None = None,
) -> Tensor:
    """Sample one token per turn: the first whose cumulative probability, in the order of ids, exceeds the noise.

    Args:
        logits_BV: The logits of the next token, in any precision.
        noise_B: Uniform in [0, 1), in double precision, as are the settings.
        temperature_B: The divisor of the logits; `None` if all are 1.
        top_p_B: Only the likeliest tokens that together reach this probability are sampled, in proportion; of equally
            likely tokens, those with lower ids. `None` if all are 1.
        kernels: Kernels that sample in one call if the whole distribution is used. With invariant kernels, no row's
            result depends on the others: torch then samples the remaining rows one by one.

    Returns:
        [2, B], in double precision: the ids, and the log-probability of each under the distribution it was sampled
        from; NaN if the logits hold NaN.
    """
    if kernels is not None and top_p_B is None:
        return kernels.draw(logits_BV.contiguous(), noise_B, temperature_B)
    if isinstance(kernels, InvariantKernels) and len(logits_BV) > 1:
        rows = [slice(b, b + 1) for b in range(len(logits_BV))]
        settings = [[None if x_B is None else x_B[row] for x_B in (temperature_B, top_p_B)] for row in rows]
        drawn = [
            draw(logits_BV[row], noise_B[row], temperature_B=temperature_1, top_p_B=top_p_1)
            for row, (temperature_1, top_p_1) in zip(rows, settings, strict=True)
        ]
        return torch.cat(drawn, dim=1)
    scaled_BV = logits_BV.float() if temperature_B is None else logits_BV.float() / temperature_B[:, None].float()
    p_BV = scaled_BV.softmax(-1)
    if top_p_B is not None:
        p_BV = _nucleus(p_BV, top_p_B)
    # In double precision: parallel sums on a device vary by their rounding, even at tokens of probability 0. In single
    # precision that is enough to sample such a token occasionally.
    below_BV = p_BV.cumsum(-1, dtype=torch.float64)
    total_B1 = below_BV[:, -1:]
    ids_B1 = torch.searchsorted(below_BV, noise_B[:, None] * total_B1, right=True)
    ids_B1 = ids_B1.clamp_max(logits_BV.shape[-1] - 1)  # past the end only if there is NaN
    p_B1 = p_BV.gather(-1, ids_B1)
    if top_p_B is not None:
        p_B1 = p_B1 / p_BV.sum(-1, keepdim=True)
    return torch.cat((ids_B1, p_B1.double().log()), dim=1).T


def _nucleus(p_BV: Tensor, top_p_B: Tensor) -> Tensor:
    """`p_BV` with 0 for each token that is not needed to reach the wanted probability."""
    sorted_BV, order_BV = p_BV.sort(dim=-1, descending=True, stable=True)
    before_BV = functional.pad(sorted_BV.double().cumsum(-1)[:, :-1], (1, 0))
    wanted_B = top_p_B.masked_fill(top_p_B >= 1, torch.inf)  # a rounded sum may reach 1 early
    kept_BV = before_BV < wanted_B[:, None]
    return p_BV * torch.zeros_like(kept_BV).scatter_(-1, order_BV, kept_BV)

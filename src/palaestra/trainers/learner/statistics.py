"""Statistics of a policy's distributions at given tokens, without gradients and one chunk at a time.

Axes: N tokens, n tokens of a chunk, C hidden, V vocabulary.
"""

from collections.abc import Collection
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from palaestra.trainers.learner.logprobs import temperature_at

TokenStatistic: TypeAlias = Literal["logp", "entropy", "square", "proxy"]
""""logp": the token's log-probability; "entropy" (in nats) and "square" (the sum of squared probabilities): of the
distribution at its position; "proxy": the token's log-probability in that distribution without its unlikely tokens."""

_PROXY_SHARE = 0.02
"""Lp-Reg's min-p (arXiv:2510.03222): tokens below this share of the highest probability are removed."""
_OUT = -1e4
"""The log-probability of a removed token."""


@torch.no_grad()
def statistics(
    hidden_NC: Tensor,
    weight_VC: Tensor,
    token_N: Tensor,
    *,
    wanted: Collection[TokenStatistic],
    temperature: float | Tensor,
    chunk: int,
) -> dict[TokenStatistic, Tensor]:
    """Statistics of tokens under softmax(hidden @ weight.T / temperature), [N] each.

    Args:
        hidden_NC: The states that predict the tokens. Products are computed in their type.
        weight_VC: The output layer's weight.
        token_N: Token ids.
        wanted: The names of the statistics.
        temperature: Above 0; one for all tokens, or one for each, [N].
        chunk: The number of tokens whose logits are in memory at once.
    """
    precise = torch.promote_types(hidden_NC.dtype, torch.float32)
    found: dict[TokenStatistic, Tensor] = {name: hidden_NC.new_empty(len(token_N), dtype=precise) for name in wanted}
    cast_VC = weight_VC.to(hidden_NC.dtype)
    for start in range(0, len(token_N), chunk):
        at = slice(start, start + chunk)
        own = temperature_at(temperature, at)
        divisor = own[:, None] if isinstance(own, Tensor) else own
        logp_nV = ((hidden_NC[at] @ cast_VC.T).to(precise) / divisor).log_softmax(-1)
        p_nV = logp_nV.exp()
        for name, whole_N in found.items():
            match name:
                case "logp":
                    whole_N[at] = _of(token_N[at], logp_nV)
                case "entropy":
                    whole_N[at] = -torch.linalg.vecdot(p_nV, logp_nV)
                case "square":
                    whole_N[at] = p_nV.square().sum(-1)
                case "proxy":
                    out_nV = p_nV < _PROXY_SHARE * p_nV.amax(-1, keepdim=True)
                    left_n = p_nV.masked_fill(out_nV, 0.0).sum(-1)
                    own_n = _of(token_N[at], logp_nV) - left_n.log()
                    whole_N[at] = own_n.masked_fill(_of(token_N[at], out_nV), _OUT)
    return found


def _of(token_n: Tensor, row_nV: Tensor) -> Tensor:
    return row_nV.gather(-1, token_n[:, None])[:, 0]

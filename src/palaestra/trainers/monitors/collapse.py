"""Measures of whether reasoning still depends on its prompt. Axes: N prompts and their reasonings, in the same order.

A policy can write varied text that has the same distribution for every task: its entropy stays high, but the text no
longer identifies its prompt. Mutual information and retrieval detect this, entropy alone does not (RAGEN-2,
arXiv:2604.06268).
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Collapse:
    """The information of reasonings about their prompts, in nats per token.

    The policy collapses to templates if `information` and `retrieval` fall while `entropy` does not.
    """

    information: float
    """I(Z; X), the mutual information of a reasoning and its prompt; at most log N."""
    conditional_entropy: float
    """H(Z | X), the entropy of a reasoning given its prompt."""
    entropy: float
    """H(Z), the entropy of a reasoning without its prompt: the sum of the other two."""
    retrieval: float
    """The share of reasonings whose own prompt makes them likelier than any other prompt."""
    chance: float
    """The retrieval by guessing: 1 / N."""


def collapse(logp_NN: Tensor) -> Collapse:
    """Measure how far reasonings have become templates.

    The prior of a reasoning is its mean likelihood over the prompts.

    Args:
        logp_NN: The mean log-probability of the tokens of reasoning i (row) after prompt j (column); finite, with at
            least one of each.
    """
    shape = tuple(logp_NN.shape)
    assert shape == (len(logp_NN), len(logp_NN)), f"{shape}: as many reasonings as prompts"
    assert len(logp_NN), "reasonings of nothing"
    logp_NN = logp_NN.detach().double()
    count = len(logp_NN)
    own_N = logp_NN.diagonal()
    prior_N = logp_NN.logsumexp(1) - math.log(count)
    found_N = logp_NN.argmax(1) == torch.arange(count, device=logp_NN.device)
    return Collapse(
        information=float((own_N - prior_N).mean()),
        conditional_entropy=-float(own_N.mean()),
        entropy=-float(prior_N.mean()),
        retrieval=float(found_N.double().mean()),
        chance=1 / count,
    )

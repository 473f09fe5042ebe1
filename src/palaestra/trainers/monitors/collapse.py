"""Whether reasoning still depends on what it is about. Axes: N prompts and their reasonings, in the same order.

A policy can write varied text that is the same for every task: its entropy stays high, while its text no longer tells
which prompt it answers. Mutual information and retrieval show it, entropy alone does not (RAGEN-2, arXiv:2604.06268).
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Collapse:
    """What reasonings say of their prompts, in nats a token.

    Templates are taking over where `entropy` stays and `information` and `retrieval` fall.
    """

    information: float
    """I(Z; X), how much a reasoning tells of its prompt; at most log N."""
    conditional_entropy: float
    """H(Z | X), of the reasoning where the prompt is known."""
    entropy: float
    """H(Z), where it is not: the sum of both."""
    retrieval: float
    """The share of reasonings that their own prompt makes likeliest."""
    chance: float
    """What retrieval would be by guessing: 1 / N."""


def collapse(logp_NN: Tensor) -> Collapse:
    """How far reasonings have become templates.

    The prior of a reasoning is its mean likelihood over the prompts.

    Args:
        logp_NN: The mean log-probability of the tokens of reasoning i (row) after prompt j (column); finite, at least
            one of each.
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

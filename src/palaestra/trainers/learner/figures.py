"""Metrics of a training step, summed over micro-batches and processes.

Axes: T tokens, N trained tokens.
"""

import math

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.learner.logprobs import TokenScores
from palaestra.trainers.learner.processes import Processes
from palaestra.trainers.objectives.objective import Metrics

_LOG_RATIO = 20.0


class StepFigures:
    """Sums over the tokens of a step.

    Ratios are exp(logp - logprob) of single trained tokens: the trained weights over the weights that sampled them.
    """

    def __init__(self) -> None:
        self._shares: Metrics = {}
        self._tokens = self._entropy = self._ratio = self._ratio_squared = self._kl = 0.0
        self._ratio_max = -math.inf
        self._drawn = 0.0

    @torch.no_grad()
    def add(self, batch: TokenBatch, scores: TokenScores, loss: Tensor, shares: Metrics) -> None:
        """Add a micro-batch: its scores [T], its share of the loss, and the objective's metrics."""
        for name, value in {"loss": loss.item(), **shares}.items():
            self._shares[name] = self._shares.get(name, 0.0) + value
        own_T = batch.trained_T
        logprob_N = batch.logprob_T[own_T].double()
        log_ratio_N = (scores.logp[own_T].double() - logprob_N).clamp(-_LOG_RATIO, _LOG_RATIO)
        ratio_N = log_ratio_N.exp()
        self._tokens += len(ratio_N)
        self._entropy += scores.entropy[own_T].double().sum().item()
        self._ratio += ratio_N.sum().item()
        self._ratio_squared += ratio_N.square().sum().item()
        self._kl += (ratio_N - 1 - log_ratio_N).sum().item()
        self._ratio_max = max(self._ratio_max, ratio_N.max().item() if len(ratio_N) else -math.inf)
        self._drawn += logprob_N.count_nonzero().item()

    def metrics(self, processes: Processes) -> Metrics:
        """The metrics of the whole step.

        `policy/entropy` is the mean over trained tokens, `policy/kl` the mean of r - 1 - log r, which estimates
        KL(sampling || trained) and is never below 0 (Schulman 2020, "Approximating KL divergence"), `policy/ess` the
        effective sample size (sum r)^2 / (n sum r^2), a share. The metrics of ratios are left out if every token has
        probability 1, as in demonstrations: no policy sampled those.
        """
        sums = [self._tokens, self._entropy, self._ratio, self._ratio_squared, self._kl, self._drawn]
        names = sorted(self._shares)
        n, entropy, ratio, squared, kl, drawn, *shares = processes.total(
            [*sums, *(self._shares[name] for name in names)]
        )
        found = dict(zip(names, shares, strict=True)) | {"tokens": n}
        greatest = processes.most(self._ratio_max)
        if n:
            found["policy/entropy"] = entropy / n
        if drawn:
            found |= {
                "policy/kl": kl / n,
                "policy/ratio_mean": ratio / n,
                "policy/ratio_max": greatest,
                "policy/ess": ratio**2 / (n * squared),
            }
        return found

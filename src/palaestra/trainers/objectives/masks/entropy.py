"""Masks by the policy's certainty about tokens. Axes: T tokens."""

from dataclasses import dataclass

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.quantile import quantile


@part(
    "mask",
    "s2t",
    formula="drop where A > 0 and old < tau_p and H < the quantile of H",
    sources=("arXiv:2602.15620",),
    confidence="secondary",
    requires=("entropy_T", "old_T"),
    neutral={"probability": 0.0},
    denominator="survivors",
)
@dataclass(frozen=True, slots=True, kw_only=True)
class S2t:
    """Leaves out STAPO's spurious tokens (arXiv:2602.15620): rare tokens with positive advantage from a certain policy.

    It leaves out tokens with a positive advantage, a probability below `probability`, and an entropy of the policy
    below the step's quantile: about one in ten thousand. The probability is that before the batch's first step, where
    it equals the trained policy's. Neutral with `probability` 0.
    """

    probability: float = 0.002
    """The probability below which a token is rare."""
    quantile: float = 0.8
    """The quantile of entropies over the step's trained tokens, below which the policy is certain."""

    def __post_init__(self) -> None:
        if not (0 <= self.probability <= 1 and 0 <= self.quantile <= 1):
            raise ValueError(
                f"probability={self.probability}, quantile={self.quantile}: both are from 0 to 1; give a probability "
                "of 0 to keep all"
            )

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Mask`."""
        entropy_T = batch.column("entropy_T")
        sure_T = entropy_T < quantile(entropy_T[batch.trained_T], self.quantile)
        rare_T = batch.column("old_T").exp() < self.probability
        return ~((batch.advantage_T > 0) & rare_T & sure_T)


@part(
    "mask",
    "entropy-top",
    formula="keep H >= the (1 - share) quantile of H",
    sources=("arXiv:2506.01939", "github.com/huggingface/trl"),
    confidence="code",
    requires=("entropy_T",),
    neutral={"share": 1.0},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class EntropyTop:
    """Keeps only the tokens with the highest entropy (80/20, arXiv:2506.01939), where reasoning forks.

    The quantile is over the trained tokens of the whole step; ties are kept. Means stay over all tokens, as in TRL, so
    that a step is about `share` as large; other code takes means over the kept tokens, which is the denominator
    `survivors`. Neutral with `share` 1.
    """

    share: float = 0.2
    """The share of tokens to keep."""

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ValueError(f"share={self.share}: a share of the tokens, above 0 and not above 1, is kept")

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Mask`."""
        entropy_T = batch.column("entropy_T")
        return entropy_T >= quantile(entropy_T[batch.trained_T], 1 - self.share)

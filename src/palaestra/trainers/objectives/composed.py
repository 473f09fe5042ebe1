"""The composed objective, of which almost every published one is an instance. Axes: T tokens, N trained tokens.

    gradient = - weight * correction * mask * C(ratio, advantage) * advantage * grad logp

Weight, correction and mask are computed once on the whole step and stored in the batch as `weight_T`; a micro-batch
sums the weighted losses of its tokens. So no division into micro-batches or processes, order or layout can change a
step.

Continuations of forks are a stream beside whole trajectories. Each stream has its own advantages, means and masks, and
the batch has the weight of the loss of continuations (DEEP-GRPO, arXiv:2602.14169).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.branches import CreditStream, join_streams, split_streams
from palaestra.trainers.objectives.advantages.group import GroupAdvantage
from palaestra.trainers.objectives.aggregation import Aggregation
from palaestra.trainers.objectives.objective import Metrics, PreparedStep
from palaestra.trainers.objectives.part import PARTS, Denominator
from palaestra.trainers.objectives.parts import (
    Advantage,
    Correction,
    LearningRate,
    Mask,
    Silencing,
    Transform,
)
from palaestra.trainers.objectives.ratio import RatioConfig
from palaestra.trainers.objectives.segments import sum_over
from palaestra.trainers.objectives.term import Term, term_losses, term_weights
from palaestra.trainers.objectives.trust import Clip, Surrogate, TrustRegion
from palaestra.trainers.objectives.trust.region import StepColumns


@dataclass(frozen=True, slots=True, kw_only=True)
class Masking:
    """A mask and the denominator of means."""

    mask: Mask
    denominator: Denominator = "original"
    """Whether means are over all tokens, or over those that the mask keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _WeighedStream:
    """A stream with weights of its tokens."""

    batch: TokenBatch
    kept: float
    """The number of its tokens that the masks keep."""
    looked: frozenset[str]
    """The columns of parts that read the stream as a whole."""
    terms: frozenset[str]
    """The columns with the weight of each token in each term."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedObjective:
    """An objective composed of parts. Default: GRPO (arXiv:2402.03300, eq. 3, with beta = 0).

    `build` makes one from a recipe, and refuses incompatible parts.
    """

    advantage: Advantage = field(default_factory=GroupAdvantage)
    transforms: tuple[Transform, ...] = ()
    """Transforms of advantages, in order."""
    ratio: RatioConfig = field(default_factory=RatioConfig)
    trust: TrustRegion = field(default_factory=Clip)
    corrections: tuple[Correction, ...] = ()
    masks: tuple[Masking, ...] = ()
    terms: tuple[Term, ...] = ()
    aggregation: Aggregation = field(default_factory=Aggregation)
    rates: tuple[LearningRate, ...] = ()
    requires: frozenset[str] = frozenset()
    """The columns that the parts read."""

    @property
    def pulls(self) -> bool:
        """Whether the trust region may move tokens whose advantage is 0; true unless the part says otherwise."""
        known = (part.pulls for part in PARTS.values() if part.make is self.trust or part.make is type(self.trust))
        return all(known)

    @property
    def joins(self) -> bool:
        """See `Objective`."""
        return False

    def advantages(self, batch: TokenBatch) -> TokenBatch:
        """See `Objective`; whole trajectories come first, then continuations."""
        return join_streams([self._fill_advantages(stream.batch) for stream in split_streams(batch)])

    def _fill_advantages(self, batch: TokenBatch) -> TokenBatch:
        """The trajectories of a stream with their advantages."""
        own_T = batch.trained_T
        advantage_T = self.advantage(batch)
        for transform in self.transforms:
            advantage_T = transform(advantage_T.masked_fill(~own_T, 0.0), batch)
        return replace(batch, advantage_T=advantage_T.detach().masked_fill(~own_T, 0.0))

    def prepare(self, batch: TokenBatch) -> PreparedStep:
        """See `Objective`; leaves out trajectories that are known to have no gradient."""
        weighed = [self._weigh_tokens(stream) for stream in split_streams(batch)]
        whole = join_streams([one.batch for one in weighed])
        tokens = int(batch.trained_T.sum())
        metrics: Metrics = {}
        if self.masks:
            metrics["mask/kept"] = sum(one.kept for one in weighed) / max(1, tokens)
        rate = math.prod(rate(batch) for rate in self.rates)
        if self.rates:
            metrics["rate"] = rate
        return PreparedStep(
            batch=whole.select(self._find_moved(whole, weighed[0].terms)),
            loss=partial(self._loss, tokens, self.requires.union(weighed[0].looked)),
            rate=rate,
            metrics=metrics,
        )

    def _weigh_tokens(self, stream: CreditStream) -> _WeighedStream:
        """The weight of each token of a stream in the step's loss."""
        batch = stream.batch
        own_T = batch.trained_T
        kept_T, counted_T = own_T, own_T
        for masking in self.masks:
            keep_T = masking.mask(batch)
            kept_T = kept_T & keep_T
            if masking.denominator == "survivors":
                counted_T = counted_T & keep_T
        weight_T = self.aggregation.weights(batch, counted_T).masked_fill(~kept_T, 0.0)
        for correction in self.corrections:
            weight_T = weight_T * correction(batch).masked_fill(~own_T, 0.0)
        looked = self._read_statistics(batch)
        terms = term_weights(self.terms, batch, counted_T, otherwise=self.aggregation)
        if stream.weight != 1:
            weight_T = weight_T * stream.weight
            terms = {name: term_T * stream.weight for name, term_T in terms.items()}
        return _WeighedStream(
            batch=replace(batch, weight_T=weight_T).with_columns({**looked, **terms}),
            kept=float(kept_T.sum()),
            looked=frozenset(looked),
            terms=frozenset(terms),
        )

    def _read_statistics(self, batch: TokenBatch) -> dict[str, Tensor]:
        """The columns of parts that read a whole step first."""
        found: dict[str, Tensor] = {}
        for held in (self.trust, *(term.regulariser for term in self.terms)):
            if isinstance(held, StepColumns):
                found |= held.columns(batch)
        return found

    def _find_moved(self, batch: TokenBatch, terms: frozenset[str]) -> list[int]:
        """The trajectories that may have a gradient."""
        moved_T = batch.weight_T != 0
        if not self.pulls:
            moved_T &= batch.advantage_T != 0
        for name in terms:
            moved_T |= batch.column(name) != 0
        found: list[int] = sum_over(moved_T.long(), batch.trajectory_T, batch.trajectories).nonzero()[:, 0].tolist()
        return found

    def _loss(
        self, tokens: int, requires: frozenset[str], logp_T: Tensor, entropy_T: Tensor, batch: TokenBatch
    ) -> tuple[Tensor, Metrics]:
        """See `Loss`; `clip_fraction` is the share of the step's trained tokens whose gradient is cut off."""
        # Masked values may be anything, even infinite, so they are removed before any arithmetic.
        own_T = batch.trained_T
        weight_N = batch.weight_T[own_T]
        used_N = weight_N != 0
        whole = surrogate_of(logp_T, entropy_T, batch, ratio=self.ratio, requires=requires)
        used = whole.at(used_N)
        loss = (weight_N[used_N] * self.trust(used)).sum()
        loss = loss + term_losses(self.terms, whole, batch)
        metrics: Metrics = {}
        if isinstance(self.trust, Silencing):
            metrics["clip_fraction"] = self.trust.silenced_tokens(used).sum().item() / max(1, tokens)
        return loss, metrics


def surrogate_of(
    logp_T: Tensor, entropy_T: Tensor, batch: TokenBatch, *, ratio: RatioConfig, requires: Iterable[str]
) -> Surrogate:
    """The trained tokens of whole trajectories, as trust regions and regularisers see them.

    Args:
        logp_T: Log-probabilities under the trained weights.
        entropy_T: Entropies of the distributions that tokens were drawn from.
        batch: The batch, with advantages.
        ratio: The kind of ratio.
        requires: The columns that parts read; columns of tokens are passed on.
    """
    own_T = batch.trained_T
    logp_N = logp_T[own_T]
    anchor_N = ratio.anchor_logp(logp_T, batch)[own_T]
    return Surrogate(
        logp_N=logp_N,
        log_ratio_N=ratio.log_ratio(logp_N, anchor_N, batch),
        anchor_N=anchor_N,
        advantage_N=batch.advantage_T.detach()[own_T],
        entropy_N=entropy_T[own_T],
        trajectory_N=batch.trajectory_T[own_T],
        columns={name: batch.column(name).detach()[own_T] for name in sorted(requires) if name.endswith("_T")},
    )

"""GAE over turns, and within each over its tokens. Axes: T tokens, N trained tokens, W turns with trained tokens."""

from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.critic import Estimates, ValueAdvantage, gae
from palaestra.trainers.objectives.advantages.discounts import refuse_beyond_one
from palaestra.trainers.objectives.advantages.rows import Rows
from palaestra.trainers.objectives.advantages.whitened import whiten
from palaestra.trainers.objectives.advantages.written import trained_turns
from palaestra.trainers.objectives.part import part


@part(
    "advantage",
    "bi-level-gae",
    formula="GAE(gamma_turn, lam) over the turns' last tokens; their returns end a GAE(gamma, lam) within each turn",
    sources=("arXiv:2504.20073", "github.com/RAGEN-AI/RAGEN"),
    confidence="code",
    requires=("value_T",),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class BiLevelGae(ValueAdvantage):
    """Credit for turns first, then for the tokens of each (RAGEN). In a trajectory of one turn it is GAE.

    Every turn with trained tokens counts as a turn; the authors' code recognises turns by a reward that is not 0.
    """

    gamma_turn: float = 0.95
    """Discount from turn to turn."""
    gamma: float = 1.0
    """Discount from one trained token of a turn to the next."""
    lam: float = 1.0
    """Lambda of GAE, for turns and for tokens."""
    whiten: bool = True
    """Whether advantages are normalised to mean 0 and deviation 1 over all trained tokens."""

    def __post_init__(self) -> None:
        refuse_beyond_one(gamma_turn=self.gamma_turn, gamma=self.gamma, lam=self.lam)

    def estimates(self, batch: TokenBatch) -> Estimates:
        """See `ValueAdvantage`."""
        own_T, value_T = batch.trained_T, batch.column("value_T")
        turns, value_N = trained_turns(batch), value_T[batch.trained_T]
        by_turn = Rows.of(turns.trajectory_W, batch.trajectories)
        end_W = value_N[turns.last_W]
        advantage_OL = gae(
            by_turn.spread(turns.reward_W.to(value_N.dtype)),
            by_turn.spread(end_W),
            gamma=self.gamma_turn,
            lam=self.lam,
        )
        return_W = by_turn.gather(advantage_OL) + end_W
        by_token = Rows.of(turns.turn_N, turns.turns)
        reward_N = torch.zeros_like(value_N).index_put((turns.last_W,), return_W)
        within_OL = gae(by_token.spread(reward_N), by_token.spread(value_N), gamma=self.gamma, lam=self.lam)
        advantage_N = by_token.gather(within_OL)
        zero_T = torch.zeros_like(value_T)
        return Estimates(
            advantage_T=zero_T.masked_scatter(own_T, advantage_N),
            target_T=zero_T.masked_scatter(own_T, advantage_N + value_N),
        )

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Advantage`."""
        advantage_T = self.estimates(batch).advantage_T
        return whiten(advantage_T, batch.trained_T) if self.whiten else advantage_T

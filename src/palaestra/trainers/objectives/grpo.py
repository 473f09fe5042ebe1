"""Group relative policy optimisation (Shao et al. 2024, arXiv:2402.03300), without the KL term (beta = 0).

Nothing has to hold the policy near a reference where the reward is a program's. Axes: T tokens, R trajectories,
G groups, N trained tokens.
"""

from dataclasses import dataclass, field

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.aggregation import Aggregation
from palaestra.trainers.objectives.objective import Metrics, Totals
from palaestra.trainers.objectives.trust import Clip, Surrogate

_LOG_RATIO = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Grpo:
    """A surrogate weighed by how much better each trajectory is than its group.

    As it stands it is eq. 3 of the paper. DAPO's (arXiv:2503.14476) has `trust.high` 0.28, `trust.dual` 10 and the
    aggregation `token-mean`; Dr.GRPO's (arXiv:2503.20783) has `scaled` off and `seq-mean-token-sum` over the greatest
    length.
    """

    trust: Clip = field(default_factory=Clip)
    """How far a step may go."""
    aggregation: Aggregation = field(default_factory=Aggregation)
    """What each token weighs."""
    scaled: bool = True
    """Whether advantages are over their group's standard deviation."""
    epsilon: float = 1e-6
    """Keeps a group of nearly equal returns finite."""

    def advantages(self, batch: TokenBatch) -> Tensor:
        """Each trajectory's `group_advantages`, at each of its trained tokens, [T]."""
        advantage_R = group_advantages(batch.return_R, batch.group_R, scaled=self.scaled, epsilon=self.epsilon)
        return advantage_R[batch.trajectory_T].masked_fill(~batch.trained_T, 0.0)

    def loss(self, logp_T: Tensor, entropy_T: Tensor, batch: TokenBatch, totals: Totals) -> tuple[Tensor, Metrics]:
        """See `Objective.loss`; `clip_fraction` is the share of trained tokens whose gradient the clip cuts off."""
        del entropy_T
        # What is masked may be anything, infinities too: it is out before it meets any arithmetic.
        own_T = batch.trained_T
        logp_N, anchor_N = logp_T[own_T], batch.logprob_T.detach()[own_T]
        surrogate = Surrogate(
            logp_N=logp_N,
            log_ratio_N=(logp_N - anchor_N).clamp(-_LOG_RATIO, _LOG_RATIO),
            anchor_N=anchor_N,
            advantage_N=batch.advantage_T.detach()[own_T],
        )
        loss = (self.aggregation.weights(batch, totals) * self.trust(surrogate)).sum()
        return loss, {"clip_fraction": self.trust.silenced(surrogate).sum().item() / totals.tokens}


def group_advantages(return_R: Tensor, group_R: Tensor, *, scaled: bool = True, epsilon: float = 1e-6) -> Tensor:
    """How much better each trajectory is than its group: (R - mean) / (std + epsilon), or R - mean.

    Args:
        return_R: Of each trajectory.
        group_R: Integers in any order; trajectories that are compared have the same.
        scaled: Whether it is over the standard deviation.
        epsilon: Keeps a group of nearly equal returns finite.

    Returns:
        [R]. Exactly 0 for a group of equal returns and for a group of one. The standard deviation is the sample's
        (n - 1).
    """
    assert return_R.shape == group_R.shape, f"returns {return_R.shape}, groups {group_R.shape}"
    _, place_R, count_G = group_R.unique(return_inverse=True, return_counts=True)
    zero_G = return_R.new_zeros(len(count_G))
    off_R = return_R - (zero_G.index_add(0, place_R, return_R) / count_G)[place_R]
    if not scaled:
        # A sum that is rounded may leave equal returns a little off their mean.
        unscaled_R: Tensor = off_R.masked_fill(_equal(return_R, place_R, zero_G), 0.0)
        return unscaled_R
    variance_G = zero_G.index_add(0, place_R, off_R.square()) / (count_G - 1).clamp_min(1)
    advantage_R: Tensor = off_R / (variance_G.sqrt() + epsilon)[place_R]
    return advantage_R.masked_fill(_equal(return_R, place_R, zero_G), 0.0)


def _equal(return_R: Tensor, place_R: Tensor, zero_G: Tensor) -> Tensor:
    """Whose group has equal returns."""
    least_G = zero_G.scatter_reduce(0, place_R, return_R, "amin", include_self=False)
    most_G = zero_G.scatter_reduce(0, place_R, return_R, "amax", include_self=False)
    equal_R: Tensor = (least_G == most_G)[place_R]
    return equal_R

"""Trajectory balance: a policy in proportion to rewards, with a log-partition that is learnt. Axes: R trajectories.

Both losses are squares of how far log Z(x) + log pi(y) is from what it should be. log Z takes a step of its own after
each of the policy's slopes was taken; the policy's step sees it as a constant.
"""

import math
from dataclasses import dataclass, field

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.group import group_advantages
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.whole.objective import lengths, token_sum, trajectory_mean
from palaestra.trainers.objectives.whole.partition import Partition, PartitionName, partition

_FARTHEST = 20.0


@part(
    "whole",
    "flowrl",
    formula="L = mean w (log Z + mean(logp) - beta A - mean(ref))^2, w = clip(exp(sum(logp - old)), 1 -+ clip)",
    sources=("arXiv:2509.15207", "github.com/Xuekai-Zhu/FlowRL"),
    confidence="code",
    requires=("ref_T", "old_T"),
)
@dataclass(slots=True, kw_only=True)
class FlowRl:
    """FlowRL (arXiv:2509.15207): trajectories are to be as likely as exp(beta A) is great, A the z-score in the group.

    Log-probabilities are means over a trajectory's trained tokens. log Z differs from the authors': theirs is read
    from the policy's own last hidden states, has dropout and sends its gradient into the policy; ours sees given
    features, or tasks' numbers, and changes nothing but itself.
    """

    partition: PartitionName
    """What log Z is a function of: `mlp` of the column `prompt_RF`, or a `table` of `task_R`."""
    beta: float = 15.0
    """How much likelier a better trajectory is to be."""
    clip: float | None = 0.2
    """How far from 1 the weight of stale data may be, as in the paper; the value is that of the authors' framework.
    None, as in their code, whose weight is not clipped."""
    epsilon: float = 1e-6
    """Keeps a group of nearly equal returns finite."""
    rate: float = 1e-3
    """log Z's learning rate; ours."""
    width: int = 128
    """Of its hidden layers; ours."""
    seed: int = 0
    """Of its first weights."""
    _log_z: Partition = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.beta < 0 or (self.clip is not None and not 0 <= self.clip <= 1):
            raise ValueError(
                f"beta={self.beta}, clip={self.clip}: beta is not negative, and a weight is clipped within 0 and 1 of "
                "1; leave clip out with None"
            )
        self._log_z = partition(self.partition, rate=self.rate, width=self.width, seed=self.seed)

    @property
    def requires(self) -> frozenset[str]:
        """The columns that it reads with these settings."""
        return self._log_z.requires | {"ref_T", "old_T"}

    def __call__(self, logp_R: Tensor, batch: TokenBatch, /) -> Tensor:
        """See `WholeLoss`."""
        return self.balance(self._log_z(batch), logp_R, batch)

    def learn(self, logp_R: Tensor, batch: TokenBatch) -> None:
        """See `LearnableLoss`."""
        self._log_z.learn(lambda log_z_R: self.balance(log_z_R, logp_R, batch), batch)

    def balance(self, log_z_R: Tensor, logp_R: Tensor, batch: TokenBatch) -> Tensor:
        """The loss, with log Z given."""
        tokens_R = lengths(batch).clamp_min(1)
        better_R = group_advantages(batch.return_R, batch.group_R, epsilon=self.epsilon)
        likelier_R = (logp_R - token_sum(batch.column("ref_T"), batch)) / tokens_R
        drift_R = (logp_R - token_sum(batch.column("old_T"), batch)).detach()
        weight_R = drift_R.clamp(-_FARTHEST, _FARTHEST).exp()
        if self.clip is not None:
            weight_R = weight_R.clamp(1 - self.clip, 1 + self.clip)
        off_R = log_z_R.to(logp_R.dtype) + likelier_R - self.beta * better_R
        return trajectory_mean(weight_R * off_R.square(), batch)

    def state(self) -> dict[str, object]:
        """See `Stateful`: what log Z has learnt."""
        return self._log_z.state()

    def restore(self, state: dict[str, object]) -> None:
        """See `Stateful`."""
        self._log_z.restore(state)


@part(
    "whole",
    "paced",
    formula="L = mean (log Z + sum(logp - old) - R / beta)^2",
    sources=("arXiv:2602.12642",),
    confidence="secondary",
    requires=("old_T",),
)
@dataclass(slots=True, kw_only=True)
class PacedRl:
    """PACED-RL's trajectory balance (arXiv:2602.12642), against the policy that the batch began with.

    Where the policy has not moved, beta log Z is best at the mean return: with returns of 0 and 1, how often the task
    is solved, without further rollouts; see `estimate`. The paper's log Z sees precomputed embeddings of the prompt.
    """

    partition: PartitionName
    """What log Z is a function of: `mlp` of the column `prompt_RF`, or a `table` of `task_R`."""
    beta: float = 0.05
    """How strongly the policy is held to the one that the batch began with."""
    rate: float = 1e-3
    """log Z's learning rate; ours."""
    width: int = 128
    """Of its hidden layers; ours."""
    seed: int = 0
    """Of its first weights."""
    _log_z: Partition = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 < self.beta < math.inf:
            raise ValueError(f"beta={self.beta}: returns are divided by it; it is above 0 and finite")
        self._log_z = partition(self.partition, rate=self.rate, width=self.width, seed=self.seed)

    @property
    def requires(self) -> frozenset[str]:
        """The columns that it reads with these settings."""
        return self._log_z.requires | {"old_T"}

    def __call__(self, logp_R: Tensor, batch: TokenBatch, /) -> Tensor:
        """See `WholeLoss`."""
        return self.balance(self._log_z(batch), logp_R, batch)

    def learn(self, logp_R: Tensor, batch: TokenBatch) -> None:
        """See `LearnableLoss`."""
        self._log_z.learn(lambda log_z_R: self.balance(log_z_R, logp_R, batch), batch)

    def balance(self, log_z_R: Tensor, logp_R: Tensor, batch: TokenBatch) -> Tensor:
        """The loss, with log Z given."""
        drift_R = logp_R - token_sum(batch.column("old_T"), batch)
        return trajectory_mean((log_z_R.to(logp_R.dtype) + drift_R - batch.return_R / self.beta).square(), batch)

    def estimate(self, batch: TokenBatch) -> Tensor:
        """How often each trajectory's task is solved where returns are 0 and 1: beta log Z within [0, 1], [R]."""
        return (self.beta * self._log_z(batch)).clamp(0, 1)

    def state(self) -> dict[str, object]:
        """See `Stateful`: what log Z has learnt."""
        return self._log_z.state()

    def restore(self, state: dict[str, object]) -> None:
        """See `Stateful`."""
        self._log_z.restore(state)

"""Trajectory balance: a policy in proportion to rewards, with a learnt log-partition. Axes: R trajectories.

Both losses are squared errors of log Z(x) + log pi(y). log Z takes its own step after the slopes of the policy's loss
have been computed; for the policy's step it is a constant.
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
    """FlowRL (arXiv:2509.15207): trajectories become as likely as exp(beta A), A the z-score in the group.

    Log-probabilities are means over a trajectory's trained tokens. log Z differs from the authors': theirs reads the
    policy's last hidden states, has dropout, and sends its gradient into the policy. Ours reads given features, or the
    numbers of tasks, and changes nothing else.
    """

    partition: PartitionName
    """The input of log Z: `mlp` of the column `prompt_RF`, or a `table` of `task_R`."""
    beta: float = 15.0
    """The weight of advantages in the target's log-likelihood."""
    clip: float | None = 0.2
    """The maximum distance from 1 of the weight of stale data, as in the paper; the value is that of the authors'
    framework. `None`, as in their code, does not clip the weight."""
    epsilon: float = 1e-6
    """Keeps a group of nearly equal returns finite."""
    rate: float = 1e-3
    """The learning rate of log Z; ours."""
    width: int = 128
    """The width of its hidden layers; ours."""
    seed: int = 0
    """Random seed of its initial weights."""
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
        """The loss for a given log Z."""
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
        """See `Stateful`: the state of log Z."""
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
    """PACED-RL's trajectory balance (arXiv:2602.12642), against the policy at the start of the batch.

    If the policy has not moved, the best beta log Z is the mean return. With returns of 0 and 1 this is the task's
    solve rate, without further rollouts; see `estimate`. The paper's log Z reads precomputed embeddings of the prompt.
    """

    partition: PartitionName
    """The input of log Z: `mlp` of the column `prompt_RF`, or a `table` of `task_R`."""
    beta: float = 0.05
    """The strength of the constraint to the policy at the start of the batch."""
    rate: float = 1e-3
    """The learning rate of log Z; ours."""
    width: int = 128
    """The width of its hidden layers; ours."""
    seed: int = 0
    """Random seed of its initial weights."""
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
        """The loss for a given log Z."""
        drift_R = logp_R - token_sum(batch.column("old_T"), batch)
        return trajectory_mean((log_z_R.to(logp_R.dtype) + drift_R - batch.return_R / self.beta).square(), batch)

    def estimate(self, batch: TokenBatch) -> Tensor:
        """The solve rate of each trajectory's task for returns of 0 and 1: beta log Z within [0, 1], [R]."""
        return (self.beta * self._log_z(batch)).clamp(0, 1)

    def state(self) -> dict[str, object]:
        """See `Stateful`: the state of log Z."""
        return self._log_z.state()

    def restore(self, state: dict[str, object]) -> None:
        """See `Stateful`."""
        self._log_z.restore(state)

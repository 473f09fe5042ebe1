"""The interfaces of parts, one protocol for each plug. Axes: T tokens, N trained tokens.

All except trust regions and regularisers get a whole batch once, without gradients: their results are written into the
batch, so that no micro-batch can change them.
"""

from typing import Protocol, runtime_checkable

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.model.shape import TemperatureRange
from palaestra.trainers.objectives.trust.region import Surrogate


class Advantage(Protocol):
    """Computes advantages: how much better than expected the outcome of each token was."""

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """The advantage of each token, [T]; values of untrained tokens are ignored."""
        ...


@runtime_checkable
class ValueReader(Protocol):
    """An advantage that reads a critic's values and provides the critic's targets."""

    @property
    def column(self) -> str:
        """The column of values that it reads: `value_T`, or `values_UH`."""
        ...

    @property
    def heads(self) -> int:
        """The number of kinds of values."""
        ...

    def targets(self, batch: TokenBatch) -> Tensor:
        """The critic's targets, in the form of the column."""
        ...


class Transform(Protocol):
    """Transforms advantages."""

    def __call__(self, advantage_T: Tensor, batch: TokenBatch, /) -> Tensor:
        """The new advantages, [T]."""
        ...


class Correction(Protocol):
    """Weights tokens that were sampled by other weights or with other arithmetic."""

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """A factor of each trained token's loss, [T], finite; exactly 1 without a difference."""
        ...


class Mask(Protocol):
    """Leaves out tokens of a step."""

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """Which tokens to keep, [T], booleans; values of untrained tokens are ignored."""
        ...


class Regulariser(Protocol):
    """A loss in addition to the surrogate's."""

    def __call__(self, surrogate: Surrogate, /) -> Tensor:
        """The loss of each token, including its coefficient, [N]."""
        ...


class LearningRate(Protocol):
    """Changes the learning rate of a step."""

    def __call__(self, batch: TokenBatch, /) -> float:
        """The factor of the learning rate, 0 or more."""
        ...


class Reward(Protocol):
    """Changes rewards before anything is compared."""

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """The new reward of each turn, [U]."""
        ...


class Filter(Protocol):
    """Chooses the trajectories to train on."""

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """Which trajectories of a whole batch to keep, [R], booleans; called before advantages."""
        ...


class TemperaturePolicy(Protocol):
    """The sampling temperature of tokens, learnt by a head of the policy's model."""

    @property
    def range(self) -> TemperatureRange:
        """The temperatures that the head chooses from."""
        ...

    @property
    def rate(self) -> float:
        """The learning rate of the head."""
        ...

    def trains_policy(self, step: int) -> bool:
        """Whether step number `step`, counted from 0, trains the policy."""
        ...

    def trains_head(self, step: int) -> bool:
        """Whether the step trains the head."""
        ...

    def __call__(self, batch: TokenBatch, /) -> TokenBatch:
        """The batch for training the head: `logprob_T` is that of the head's choices instead of tokens."""
        ...


class WholeLoss(Protocol):
    """A loss of whole trajectories, instead of ratio, trust region, corrections and masks."""

    def __call__(self, logp_R: Tensor, batch: TokenBatch, /) -> Tensor:
        """The loss of the step, a scalar.

        Args:
            logp_R: The log-probability of all trained tokens of each trajectory; gradients flow into it.
            batch: The whole batch of the step.
        """
        ...


@runtime_checkable
class TokenPool(Protocol):
    """A regulariser of only some tokens."""

    def pool(self, batch: TokenBatch) -> Tensor:
        """The tokens that it covers, over which its mean is taken, [T], booleans."""
        ...


@runtime_checkable
class Stateful(Protocol):
    """A part with state from earlier batches."""

    def state(self) -> dict[str, object]:
        """The state, as plain JSON."""
        ...

    def restore(self, state: dict[str, object]) -> None:
        """Restore the result of `state`."""
        ...


@runtime_checkable
class Requiring(Protocol):
    """A part whose columns depend on its settings."""

    @property
    def requires(self) -> frozenset[str]:
        """The columns that it reads, instead of those that it is registered with."""
        ...


@runtime_checkable
class Silencing(Protocol):
    """A trust region that leaves tokens without a gradient although they have an advantage."""

    def silenced_tokens(self, surrogate: Surrogate) -> Tensor:
        """Which tokens have no gradient, [N], booleans."""
        ...

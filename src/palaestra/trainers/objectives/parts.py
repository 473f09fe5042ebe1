"""What parts are called with, one protocol for each plug. Axes: T tokens, N trained tokens.

All but trust regions and regularisers see a whole batch, once, without gradients: what they say is written into the
batch, so that no micro-batch can change it.
"""

from typing import Protocol, runtime_checkable

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.model.shape import TemperatureRange
from palaestra.trainers.objectives.trust.region import Surrogate


class Advantage(Protocol):
    """How much better than expected what followed each token was."""

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """At each token, [T]; what it says of tokens that are not trained is not looked at."""
        ...


@runtime_checkable
class ValueReader(Protocol):
    """An advantage that looks at what a critic expected, and says what it ought to have."""

    @property
    def column(self) -> str:
        """The column of values that it reads: `value_T`, or `values_UH`."""
        ...

    @property
    def heads(self) -> int:
        """Kinds of values."""
        ...

    def targets(self, batch: TokenBatch) -> Tensor:
        """What the values ought to have been, as the column."""
        ...


class Transform(Protocol):
    """Advantages made from advantages."""

    def __call__(self, advantage_T: Tensor, batch: TokenBatch, /) -> Tensor:
        """The new ones, [T]."""
        ...


class Correction(Protocol):
    """What tokens weigh because other weights drew them, or drew them in other arithmetic."""

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """A factor of each trained token's loss, [T], finite; exactly 1 where nothing is off."""
        ...


class Mask(Protocol):
    """Which tokens a step is without."""

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """Which it keeps, [T], booleans; what it says of tokens that are not trained is not looked at."""
        ...


class Regulariser(Protocol):
    """A loss beside the surrogate's."""

    def __call__(self, surrogate: Surrogate, /) -> Tensor:
        """The loss of each token, its coefficient worked in, [N]."""
        ...


class LearningRate(Protocol):
    """How large a step may be."""

    def __call__(self, batch: TokenBatch, /) -> float:
        """What the learning rate is multiplied with, 0 or more."""
        ...


class Reward(Protocol):
    """What was paid, changed before anything is compared."""

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """What each turn is paid, [U]."""
        ...


class Filter(Protocol):
    """Which trajectories are worth training on."""

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """Which it keeps, [R], booleans; of a whole batch, before advantages."""
        ...


class TemperaturePolicy(Protocol):
    """At which temperature tokens are sampled, where a head of the policy's model learns it."""

    @property
    def range(self) -> TemperatureRange:
        """Which temperatures the head chooses from."""
        ...

    @property
    def rate(self) -> float:
        """The learning rate of the head."""
        ...

    def trains_policy(self, step: int) -> bool:
        """Whether step number `step`, from 0 on, trains the policy."""
        ...

    def trains_head(self, step: int) -> bool:
        """Whether it trains the head."""
        ...

    def __call__(self, batch: TokenBatch, /) -> TokenBatch:
        """The batch as the head is trained on it: `logprob_T` of what the head chose, and not of tokens."""
        ...


class WholeLoss(Protocol):
    """A loss of whole trajectories, in place of ratio, trust region, corrections and masks."""

    def __call__(self, logp_R: Tensor, batch: TokenBatch, /) -> Tensor:
        """The loss of the step, a scalar.

        Args:
            logp_R: The log-probability of all trained tokens of each trajectory; gradients flow into it.
            batch: All that the step trains on.
        """
        ...


@runtime_checkable
class TokenPool(Protocol):
    """A regulariser of some tokens only."""

    def pool(self, batch: TokenBatch) -> Tensor:
        """Which tokens it is about, and its mean over, [T], booleans."""
        ...


@runtime_checkable
class Stateful(Protocol):
    """A part that remembers batches."""

    def state(self) -> dict[str, object]:
        """What it remembers, as plain JSON."""
        ...

    def restore(self, state: dict[str, object]) -> None:
        """Go on from what `state` gave."""
        ...


@runtime_checkable
class Requiring(Protocol):
    """A part whose columns depend on its settings."""

    @property
    def requires(self) -> frozenset[str]:
        """The columns that it reads, in place of those that it is registered with."""
        ...


@runtime_checkable
class Silencing(Protocol):
    """A trust region that leaves tokens without a gradient, though they have an advantage."""

    def silenced_tokens(self, surrogate: Surrogate) -> Tensor:
        """Which, [N], booleans."""
        ...

"""Rewards in the unit that an objective's constants assume. Axes: U turns, R trajectories, L layers of a rubric."""

from dataclasses import dataclass, replace

from torch import Tensor

from palaestra.errors import ConfigError
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.columns import COLUMNS
from palaestra.trainers.objectives.part import part


@part(
    "reward",
    "unit",
    formula="r / size; without a size r returns / total_R",
    confidence="derived",
    requires=("total_R",),
    neutral={"size": 1.0},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class RewardUnit:
    """Experimental: converts rewards before other parts read them, so that a solved task returns `returns`.

    A rubric pays up to 100 points, and other worlds pay 1. Bonuses, penalties, temperatures, thresholds and KL terms
    are meaningful in one unit only. A recipe's `unit` puts this part before all other rewards; filters see converted
    rewards.
    """

    size: float | None = None
    """The reward that becomes 1. Default: what the rubric of each trajectory pays for a solved task."""
    returns: float = 1.0
    """The return of a solved task after the conversion, without `size`."""

    def __post_init__(self) -> None:
        if (self.size is not None and self.size <= 0) or self.returns <= 0:
            raise ValueError(
                f"size={self.size}, returns={self.returns}: rewards are divided by one and multiplied by the other; "
                "give numbers above 0"
            )

    @property
    def requires(self) -> frozenset[str]:
        """The columns that it reads with these settings."""
        return frozenset({"total_R"} if self.size is None else ())

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Reward`."""
        return self.convert(batch).reward_U

    def convert(self, batch: TokenBatch) -> TokenBatch:
        """The batch with rewards, returns and all columns in their unit converted.

        Raises:
            ConfigError: the world does not state the reward of a solved task.
        """
        factor_R = self._divisor(batch)
        factor_U = factor_R[batch.trajectory_U]
        factors = {"T": factor_R[batch.trajectory_T], "U": factor_U, "R": factor_R}
        paid = {
            name: value / _along(factors[name.rpartition("_")[2][0]], value)
            for name, value in batch.columns.items()
            if name in COLUMNS and COLUMNS[name].is_return
        }
        return replace(batch, reward_U=batch.reward_U / factor_U, return_R=batch.return_R / factor_R).with_columns(paid)

    def _divisor(self, batch: TokenBatch) -> Tensor:
        """The divisor of each trajectory's rewards, [R]."""
        if self.size is not None:
            return batch.return_R.new_full((batch.trajectories,), self.size)
        total_R = batch.column("total_R").to(batch.return_R.dtype)
        if not (total_R > 0).all():
            raise ConfigError(unknown_total(self.returns))
        return total_R / self.returns


def _along(factor: Tensor, values: Tensor) -> Tensor:
    """A factor of the first axis, broadcast over all further axes of the values."""
    return factor.reshape(-1, *[1] * (values.dim() - 1))


def unknown_total(returns: float) -> str:
    """The message for a world that does not state the reward of a solved task: why rewards cannot be converted."""
    return (
        f"the objective's constants assume that a solved task returns {returns:g}, and the world does not say what it "
        'pays for one (its score\'s total is 0); say it: rewards = [{ part = "unit", size = 100 }], or take rewards as '
        'they are: unit = "any"'
    )

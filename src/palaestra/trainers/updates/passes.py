"""The passes that fill in a batch's columns: each is taken only where something reads what it gives. Axes: T tokens."""

from collections.abc import Collection, Mapping

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.learner.statistics import TokenStatistic
from palaestra.trainers.objectives import BuiltObjective
from palaestra.trainers.updates.trained import TrainableModel

_POLICY: Mapping[str, TokenStatistic] = {
    "old_T": "logp",
    "entropy_T": "entropy",
    "square_T": "square",
    "proxy_T": "proxy",
}
POLICY = frozenset(_POLICY)
"""The columns that a pass through the policy fills in."""


def initial_columns(built: BuiltObjective) -> frozenset[str]:
    """The columns that a batch needs before its first step; `turn_by_turn` fills in the policy's own for each turn."""
    return built.requires - POLICY if built.recipe.schedule.name == "turns" else built.requires


def fill_columns(
    batch: TokenBatch,
    requires: Collection[str],
    trained: TrainableModel,
    *,
    reference: TrainableModel | None = None,
    temperature: float = 1.0,
) -> TokenBatch:
    """The batch with those columns that are required and that passes before its first step can fill in.

    Args:
        batch: Whole groups.
        requires: What is read of them.
        trained: The policy.
        reference: The one it is held to; where nothing is, `ref_T` cannot be required.
        temperature: At which the tokens were drawn.
    """
    found: dict[str, Tensor] = {}
    if wanted := sorted(_POLICY.keys() & set(requires)):
        said = trained.columns(batch, [_POLICY[name] for name in wanted], temperature=temperature)
        found |= {name: said[_POLICY[name]] for name in wanted}
    if "ref_T" in requires:
        assert reference is not None, "a recipe that reads ref_T has a reference"
        found["ref_T"] = reference.columns(batch, ["logp"], temperature=temperature)["logp"]
    if "norm_R" in requires:
        found["norm_R"] = trained.gradient_norms(batch, temperature=temperature)
    return batch.with_columns(found)


def fill_current_logprobs(
    batch: TokenBatch, requires: Collection[str], trained: TrainableModel, *, first: bool, temperature: float = 1.0
) -> TokenBatch:
    """The batch with `now_T`, where it is required: log-probabilities before the step at hand.

    Args:
        batch: The step's share.
        requires: What is read of it.
        trained: The policy.
        first: Whether nothing was changed since `fill_columns`.
        temperature: At which the tokens were drawn.
    """
    if "now_T" not in requires:
        return batch
    if first and "old_T" in batch.columns:
        return batch.with_columns({"now_T": batch.column("old_T")})
    if first and "now_T" in batch.columns:
        return batch
    return batch.with_columns({"now_T": trained.columns(batch, ["logp"], temperature=temperature)["logp"]})

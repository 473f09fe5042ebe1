"""The passes that fill in a batch's columns; each runs only if its result is read.

Axes: T tokens, S segments, R trajectories.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.learner.statistics import TokenStatistic
from palaestra.trainers.objectives import BuiltObjective
from palaestra.trainers.objectives.segments import least_over, mean_over
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
    """The columns that a batch needs before its first step; `train_turn_by_turn` fills in the policy's per turn."""
    return built.requires - POLICY if built.recipe.schedule.name == "turns" else built.requires


def fill_columns(
    batch: TokenBatch,
    requires: Collection[str],
    trained: TrainableModel,
    *,
    reference: TrainableModel | None = None,
    temperature: float = 1.0,
) -> TokenBatch:
    """Fill in the required columns that passes before the batch's first step can compute.

    Args:
        batch: Whole groups.
        requires: The columns that are read.
        trained: The policy.
        reference: The reference policy; without one, `ref_T` cannot be required.
        temperature: The temperature at which the tokens were sampled.
    """
    found: dict[str, Tensor] = {}
    if wanted := sorted(_POLICY.keys() & set(requires)):
        said = trained.columns(batch, [_POLICY[name] for name in wanted], temperature=temperature)
        found |= {name: said[_POLICY[name]] for name in wanted}
    if "ref_T" in requires:
        assert reference is not None, "a recipe that reads ref_T has a reference"
        found["ref_T"] = reference.columns(batch, ["logp"], temperature=temperature)["logp"]
    if "prompt_R" in requires:
        found["prompt_R"] = prompt_logprobs(batch, trained, temperature=temperature)
    if "norm_R" in requires:
        found["norm_R"] = trained.gradient_norms(batch, temperature=temperature)
    return _rescore(batch.with_columns(found))


def _rescore(batch: TokenBatch) -> TokenBatch:
    """The batch with the policy's log-probabilities for rollouts that were sampled under another prompt (RePO).

    A ratio to the recorded log-probabilities would compare two prompts instead of two policies.
    """
    if not {"rephrased_R", "old_T"} <= batch.columns.keys():
        return batch
    rephrased_T = (batch.column("rephrased_R") != 0)[batch.trajectory_T] & batch.trained_T
    old_T = batch.column("old_T").to(batch.logprob_T)
    return replace(batch, logprob_T=torch.where(rephrased_T, old_T, batch.logprob_T))


def prompt_logprobs(batch: TokenBatch, trained: TrainableModel, *, temperature: float = 1.0) -> Tensor:
    """The mean log-probability of each trajectory's prompt, [R]: of the tokens before the first trained one.

    The very first token has no predecessor and does not count; a prompt without any other token has 0. The pass ends
    with the prompt; layouts that share prefixes process the prompt of a group once.

    Args:
        batch: Whole trajectories.
        trained: The policy.
        temperature: The temperature at which the trained tokens were sampled.
    """
    own_T = batch.trained_T
    start_R = least_over(own_T.nonzero()[:, 0], batch.trajectory_T[own_T], batch.trajectories)
    place_T = torch.arange(len(own_T), device=own_T.device)
    first_S = torch.cat([torch.ones_like(batch.trajectory_S[:1]), batch.trajectory_S.diff()]) != 0
    prompt_T = (place_T < start_R[batch.trajectory_T]) & (batch.position_T > 0) & first_S[batch.segment_T]
    if not bool(prompt_T.any()):
        return batch.logprob_T.new_zeros(batch.trajectories)
    logp_T = trained.columns(replace(batch, trained_T=prompt_T), ["logp"], temperature=temperature)["logp"]
    return mean_over(logp_T[prompt_T], batch.trajectory_T[prompt_T], batch.trajectories)


def fill_current_logprobs(
    batch: TokenBatch, requires: Collection[str], trained: TrainableModel, *, first: bool, temperature: float = 1.0
) -> TokenBatch:
    """Fill in `now_T` if it is required: the log-probabilities before the current step.

    Args:
        batch: The step's share.
        requires: The columns that are read.
        trained: The policy.
        first: Whether the weights have not changed since `fill_columns`.
        temperature: The temperature at which the tokens were sampled.
    """
    if "now_T" not in requires:
        return batch
    if first and "old_T" in batch.columns:
        return batch.with_columns({"now_T": batch.column("old_T")})
    if first and "now_T" in batch.columns:
        return batch
    return batch.with_columns({"now_T": trained.columns(batch, ["logp"], temperature=temperature)["logp"]})

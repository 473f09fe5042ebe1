"""A probe of whether the policy's text still depends on the task: every first turn is scored under every prompt.

Axes: T tokens, R trajectories, N prompts and their first turns, in the same order.
"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch, concatenate
from palaestra.trainers.monitors.collapse import collapse
from palaestra.trainers.objectives.objective import Metrics
from palaestra.trainers.objectives.segments import mean_over

INFORMATION = "collapse/information"


def template_metrics(batch: TokenBatch, score: Callable[[TokenBatch], Tensor], *, prompts: int) -> Metrics:
    """`collapse/information`, `/entropy`, `/conditional_entropy`, `/retrieval` and `/chance`; see `Collapse`.

    Args:
        batch: The batch of a step. The probe reads the first trajectory of each different task; agents see the same
            tools, so prompts differ only in the task.
        score: Returns the log-probability of each trained token under the policy, [T].
        prompts: The maximum number of prompts; the cost of the passes grows with its square.

    Returns:
        The figures; none if there are fewer than two tasks.
    """
    chosen = _different_tasks(batch, prompts)
    if len(chosen) < 2:
        return {}
    crossed = concatenate([_join(batch, prompt, text) for text in chosen for prompt in chosen])
    own_T = crossed.trained_T
    logp_R = mean_over(score(crossed)[own_T].double(), crossed.trajectory_T[own_T], crossed.trajectories)
    found = collapse(logp_R.reshape(len(chosen), len(chosen)))
    return {
        INFORMATION: found.information,
        "collapse/entropy": found.entropy,
        "collapse/conditional_entropy": found.conditional_entropy,
        "collapse/retrieval": found.retrieval,
        "collapse/chance": found.chance,
    }


def _different_tasks(batch: TokenBatch, most: int) -> list[int]:
    """The first trajectory of each task in which the policy wrote anything."""
    acted_R = torch.bincount(batch.trajectory_T[batch.trained_T], minlength=batch.trajectories) > 0
    first: dict[int, int] = {}
    for trajectory, task in enumerate(batch.column("task_R").tolist()):
        if bool(acted_R[trajectory]):
            first.setdefault(task, trajectory)
    return list(first.values())[:most]


def _join(batch: TokenBatch, prompt: int, text: int) -> TokenBatch:
    """A trajectory of one prompt, followed by the first turn of another; only the turn's tokens are trained."""
    before_P, _ = _opening(batch, prompt)
    _, written_P = _opening(batch, text)
    take_T = torch.cat([before_P, written_P])
    count, device = len(take_T), take_T.device
    zero_T = torch.zeros(count, dtype=torch.long, device=device)
    alone = batch.select([prompt])
    return replace(
        alone,
        ids_T=batch.ids_T[take_T],
        position_T=torch.arange(count, device=device),
        trained_T=torch.arange(count, device=device) >= len(before_P),
        logprob_T=batch.logprob_T[take_T],
        version_T=zero_T,
        part_T=zero_T,
        advantage_T=batch.advantage_T.new_zeros(count),
        weight_T=batch.weight_T.new_zeros(count),
        segment_T=zero_T,
        turn_T=zero_T,
        trajectory_S=zero_T[:1],
        trajectory_U=zero_T[:1],
        reward_U=alone.reward_U.new_zeros(1),
        columns={},
    )


def _opening(batch: TokenBatch, trajectory: int) -> tuple[Tensor, Tensor]:
    """The tokens before a trajectory's first trained token, and the trained tokens of its first turn."""
    mine_T = batch.trajectory_T == trajectory
    own_P = (mine_T & batch.trained_T).nonzero()[:, 0]
    before_P = mine_T.nonzero()[:, 0]
    return before_P[before_P < own_P[0]], own_P[batch.turn_T[own_P] == batch.turn_T[own_P[0]]]

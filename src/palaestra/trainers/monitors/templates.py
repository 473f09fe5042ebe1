"""A probe of whether what the policy writes still depends on the task: every first turn under every prompt.

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
        batch: A step's. The first trajectory of each group is looked at, as far as its task is another than those of
            the groups before; agents see the same tools, so that prompts differ by their task.
        score: The log-probability of each trained token under the policy, [T].
        prompts: How many at most; the passes cost their square.

    Returns:
        Nothing where fewer than two tasks are there.
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
    """The first trajectory of each task that wrote anything."""
    acted_R = torch.bincount(batch.trajectory_T[batch.trained_T], minlength=batch.trajectories) > 0
    first: dict[int, int] = {}
    for trajectory, task in enumerate(batch.column("task_R").tolist()):
        if bool(acted_R[trajectory]):
            first.setdefault(task, trajectory)
    return list(first.values())[:most]


def _join(batch: TokenBatch, prompt: int, text: int) -> TokenBatch:
    """A trajectory of one prompt, which what another wrote first stands behind, and which is trained there alone."""
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
    """The tokens before a trajectory's first trained one, and the trained ones of its first turn."""
    mine_T = batch.trajectory_T == trajectory
    own_P = (mine_T & batch.trained_T).nonzero()[:, 0]
    before_P = mine_T.nonzero()[:, 0]
    return before_P[before_P < own_P[0]], own_P[batch.turn_T[own_P] == batch.turn_T[own_P[0]]]

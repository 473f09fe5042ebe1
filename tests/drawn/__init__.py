"""Batches with every column, of random numbers in float64, and the surrogates that trust regions are given."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from palaestra.trainers.data.batch import NO_TURN, TokenBatch
from palaestra.trainers.objectives.trust import Surrogate

Array: TypeAlias = npt.NDArray[np.float64]


def batch_of(lengths: tuple[int, ...], *, prompt: int = 2, turns: int = 2, seed: int = 0) -> TokenBatch:
    """A trajectory for each length: a prompt, then so many trained tokens in `turns` turns with an answer after each.

    Log-probabilities before the step are about those of the rollout; advantages are one number for a trajectory.
    Columns: old_T, now_T, ref_T, proxy_T, entropy_T, attention_T, expert_T, passed_R, done_R, invalid_U.
    """
    rng = np.random.default_rng(seed)
    trained: list[bool] = []
    turn: list[int] = []
    trajectory: list[int] = []
    for number, length in enumerate(lengths):
        own = np.arange(length) * turns // max(1, length)
        trained += [False] * prompt
        turn += [NO_TURN] * prompt
        for part in range(turns):
            wrote = int((own == part).sum())
            trained += [True] * wrote + [False]
            turn += [number * turns + part] * wrote + [NO_TURN]
        trajectory += [number] * (len(trained) - len(trajectory))
    count, many = len(trained), len(lengths)
    own_T = torch.tensor(trained, dtype=torch.bool)
    trajectory_T = torch.tensor(trajectory, dtype=torch.long)

    def drawn(values: Array) -> Tensor:
        return torch.tensor(values).masked_fill(~own_T, 0.0)

    rollout = np.log(rng.uniform(0.0005, 0.999, count))
    old = np.minimum(rollout + rng.normal(0, 0.3, count), -1e-4)
    now = np.minimum(old + rng.normal(0, 0.3, count), -1e-4)
    place_T = torch.cat([torch.arange(int((trajectory_T == number).sum())) for number in range(many)])
    advantage_R = torch.tensor(rng.normal(0, 1, many))
    columns = {
        "old_T": drawn(old),
        "now_T": drawn(now),
        "ref_T": drawn(np.minimum(now + rng.normal(0, 0.5, count), -1e-4)),
        "proxy_T": drawn(np.where(rng.random(count) < 0.3, -np.inf, np.minimum(now + rng.normal(0.2, 0.5, count), 0))),
        "entropy_T": drawn(rng.exponential(0.7, count)),
        "attention_T": drawn(rng.random(count)),
        "expert_T": drawn((rng.random(count) < 0.3).astype(np.float64)),
        "passed_R": torch.tensor((rng.random(many) < 0.5).astype(np.float64)),
        "done_R": torch.tensor((rng.random(many) < 0.7).astype(np.float64)),
        "invalid_U": torch.tensor((rng.random(many * turns) < 0.4).astype(np.float64)),
    }
    return TokenBatch(
        ids_T=torch.tensor(rng.integers(0, 48, count)),
        position_T=place_T,
        trained_T=own_T,
        logprob_T=drawn(rollout),
        version_T=own_T.long(),
        part_T=torch.zeros(count, dtype=torch.long),
        advantage_T=advantage_R[trajectory_T].masked_fill(~own_T, 0.0),
        weight_T=torch.zeros(count, dtype=torch.float64),
        segment_T=trajectory_T,
        turn_T=torch.tensor(turn, dtype=torch.long),
        trajectory_S=torch.arange(many),
        trajectory_U=torch.arange(many).repeat_interleave(turns),
        reward_U=torch.zeros(many * turns, dtype=torch.float64),
        group_R=torch.arange(many) // 2,
        return_R=advantage_R,
        columns=columns,
    )


def on_policy(batch: TokenBatch) -> TokenBatch:
    """The batch as if the very weights that drew it began the step."""
    return batch.with_columns({"old_T": batch.logprob_T, "now_T": batch.logprob_T})


def column(batch: TokenBatch, name: str, values: list[float]) -> TokenBatch:
    """The batch with these values at its trained tokens, and what nobody may read elsewhere."""
    value_T = torch.full((len(batch.ids_T),), float("nan"), dtype=torch.float64)
    value_T[batch.trained_T] = torch.tensor(values, dtype=torch.float64)
    if name == "logprob_T":
        return replace(batch, logprob_T=value_T.nan_to_num(nan=0.0))
    if name == "advantage_T":
        return replace(batch, advantage_T=value_T.nan_to_num(nan=0.0))
    return batch.with_columns({name: value_T})


def surrogate(
    logp: Array,
    anchor: Array,
    advantage: Array,
    *,
    trajectory: npt.NDArray[np.int64] | None = None,
    columns: Mapping[str, npt.NDArray[Any]] | None = None,
) -> tuple[Surrogate, Tensor]:
    """Tokens, each a trajectory of its own unless it is said, and the log-probabilities that gradients flow into."""
    logp_N = torch.tensor(logp).requires_grad_()
    anchor_N = torch.tensor(anchor)
    given = Surrogate(
        logp_N=logp_N,
        log_ratio_N=(logp_N - anchor_N).clamp(-20, 20),
        anchor_N=anchor_N,
        advantage_N=torch.tensor(advantage),
        entropy_N=torch.zeros_like(anchor_N),
        trajectory_N=torch.arange(len(logp)) if trajectory is None else torch.tensor(trajectory),
        columns={name: torch.tensor(values) for name, values in (columns or {}).items()},
    )
    return given, logp_N

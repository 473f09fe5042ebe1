"""Batches of given turns, returns and columns, for objectives that look at whole trajectories. Axes: T tokens, U turns,
R trajectories.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from palaestra.trainers.data.batch import NO_TURN, TokenBatch
from palaestra.trainers.objectives.parts import WholeLoss
from palaestra.trainers.objectives.whole import token_sum

Array: TypeAlias = npt.NDArray[np.float64]
Numbers: TypeAlias = Sequence[float]


def reals(values: Numbers | Array) -> Tensor:
    return torch.tensor(np.asarray(values, dtype=np.float64))


def numbers(array: Tensor) -> Array:
    return np.asarray(array.detach().double().numpy())


def graded(
    turns: Sequence[Sequence[int]],
    *,
    groups: Sequence[int] | None = None,
    rewards: Sequence[Numbers] | None = None,
    columns: Mapping[str, Numbers | Array] | None = None,
    seed: int = 0,
) -> TokenBatch:
    """A batch of trajectories of one segment each: a prompt's token, then turns with a world's token behind each.

    Args:
        turns: How many trained tokens each turn of each trajectory has.
        groups: One group if there are none.
        rewards: Of each turn; the world paid random ones if there are none.
        columns: Beside `logprob_T` and the random `now_T`, `old_T`, `ref_T`, which are negative.
        seed: Of what is random.
    """
    rng = np.random.default_rng(seed)
    trained: list[bool] = []
    turn: list[int] = []
    owner: list[int] = []
    position: list[int] = []
    owner_of_turn: list[int] = []
    for place, lengths in enumerate(turns):
        start = len(trained)
        trained.append(False)
        turn.append(NO_TURN)
        for length in lengths:
            trained += [True] * length + [False]
            turn += [len(owner_of_turn)] * length + [NO_TURN]
            owner_of_turn.append(place)
        owner += [place] * (len(trained) - start)
        position += range(len(trained) - start)
    trained_T = torch.tensor(trained)
    drawn = {name: reals(-rng.exponential(1.0, len(trained))) for name in ("logprob_T", "now_T", "old_T", "ref_T")}
    paid = [1.0 * rng.integers(0, 3) for _ in owner_of_turn] if rewards is None else [r for own in rewards for r in own]
    reward_U = reals(paid)
    trajectory_U = torch.tensor(owner_of_turn, dtype=torch.long)
    own_R = torch.arange(len(turns))
    zeros_T = torch.zeros(len(trained), dtype=torch.float64)
    integers_T = torch.zeros(len(trained), dtype=torch.long)
    given = {name: reals(value) for name, value in (columns or {}).items()}
    return TokenBatch(
        ids_T=integers_T,
        position_T=torch.tensor(position),
        trained_T=trained_T,
        logprob_T=drawn.pop("logprob_T").masked_fill(~trained_T, 0.0),
        version_T=integers_T,
        part_T=integers_T,
        advantage_T=zeros_T,
        weight_T=zeros_T,
        segment_T=torch.tensor(owner),
        turn_T=torch.tensor(turn),
        trajectory_S=own_R,
        trajectory_U=trajectory_U,
        reward_U=reward_U,
        group_R=torch.tensor(groups) if groups is not None else torch.zeros(len(turns), dtype=torch.long),
        return_R=torch.zeros(len(turns), dtype=torch.float64).index_add(0, trajectory_U, reward_U),
        columns={**{name: column.masked_fill(~trained_T, 0.0) for name, column in drawn.items()}, **given},
    )


def returning(returns: Numbers, *, groups: Sequence[int] | None = None, **columns: Numbers) -> TokenBatch:
    """A batch of one turn of two tokens each, with these returns and columns."""
    batch = graded([[2]] * len(returns), groups=groups, rewards=[[one] for one in returns], columns=columns)
    return replace(batch, return_R=reals(returns))


def sums(value_T: Tensor, batch: TokenBatch) -> Array:
    """The sum over each trajectory's trained tokens, by a loop."""
    found = np.zeros(batch.trajectories)
    values = numbers(value_T)
    for place, owner in enumerate(batch.trajectory_T):
        if bool(batch.trained_T[place]):
            found[int(owner)] += values[place]
    return found


def many(seed: int, *, trajectories: int = 14, groups: int = 4) -> TokenBatch:
    """A random batch with every column that whole-trajectory parts read; some trajectories have no trained token."""
    rng = np.random.default_rng(seed)
    turns = [[int(n) for n in rng.integers(0, 4, rng.integers(1, 4))] for _ in range(trajectories)]
    turns[int(rng.integers(trajectories))] = [0]
    count = sum(map(len, turns))
    group = [int(g) for g in rng.integers(0, groups, trajectories)]
    return graded(
        turns,
        groups=group,
        columns={
            "passed_R": rng.integers(0, 2, trajectories).astype(float),
            "chosen_R": rng.integers(0, 2, trajectories).astype(float),
            "process_R": rng.normal(size=trajectories),
            "mismatched_R": rng.normal(size=trajectories),
            "task_R": np.array([7.0 * g for g in group]),
            "prompt_RF": rng.normal(size=(trajectories, 5)),
            "tools_U": rng.integers(0, 4, count).astype(float),
        },
        seed=seed,
    )


def at_now(batch: TokenBatch) -> Tensor:
    """The log-probability of each trajectory before the step, [R]."""
    return token_sum(batch.column("now_T"), batch)


def slope(loss: WholeLoss, logp_R: Tensor, batch: TokenBatch) -> Tensor:
    """Of a loss in each trajectory's log-probability, [R]."""
    own_R = logp_R.detach().clone().requires_grad_()
    return torch.autograd.grad(loss(own_R, batch), own_R, allow_unused=True, materialize_grads=True)[0]

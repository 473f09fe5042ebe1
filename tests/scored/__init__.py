"""Batches of trajectories that were paid, in float64, with whatever columns a test gives or all that there are, drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from palaestra.trainers.data.batch import NO_TURN, TokenBatch

Array: TypeAlias = npt.NDArray[np.float64]
PlayedTurn: TypeAlias = tuple[int, float]
"""How many tokens of a turn are trained, and what it was paid."""


def scored(
    trajectories: Sequence[Sequence[PlayedTurn]],
    groups: Sequence[int] | None = None,
    columns: Mapping[str, Sequence[float] | Tensor] | None = None,
) -> TokenBatch:
    """A batch of one segment for each trajectory; a token that is not trained stands before every turn, and at the end.

    Args:
        trajectories: Their turns.
        groups: Of each; one for all where none are given.
        columns: By name; floats become float64.
    """
    turn: list[int] = []
    trajectory: list[int] = []
    owner = [number for number, turns in enumerate(trajectories) for _ in turns]
    rewards = [reward for turns in trajectories for _, reward in turns]
    written = 0
    for number, turns in enumerate(trajectories):
        for tokens, _ in turns:
            turn += [NO_TURN, *[written] * tokens]
            written += 1
        turn.append(NO_TURN)
        trajectory += [number] * (len(turn) - len(trajectory))
    turn_T, trajectory_T = torch.tensor(turn), torch.tensor(trajectory)
    count, many = len(turn), len(trajectories)
    position_T = torch.cat([torch.arange(trajectory.count(number)) for number in range(many)])
    empty_T = torch.zeros(count, dtype=torch.float64)
    return TokenBatch(
        ids_T=torch.zeros(count, dtype=torch.long),
        position_T=position_T,
        trained_T=turn_T != NO_TURN,
        logprob_T=empty_T,
        version_T=torch.zeros(count, dtype=torch.long),
        part_T=torch.zeros(count, dtype=torch.long),
        advantage_T=empty_T,
        weight_T=empty_T,
        segment_T=trajectory_T,
        turn_T=turn_T,
        trajectory_S=torch.arange(many),
        trajectory_U=torch.tensor(owner, dtype=torch.long),
        reward_U=torch.tensor(rewards, dtype=torch.float64),
        group_R=torch.tensor(list(groups) if groups is not None else [0] * many),
        return_R=torch.tensor([sum(reward for _, reward in turns) for turns in trajectories], dtype=torch.float64),
        columns={name: torch.as_tensor(column, dtype=torch.float64) for name, column in (columns or {}).items()},
    )


def paid(returns: Sequence[float], groups: Sequence[int] | None = None, *, tokens: int = 2) -> TokenBatch:
    """Trajectories of one turn of so many tokens."""
    return scored([[(tokens, one)] for one in returns], groups)


def drawn(seed: int, *, trajectories: int = 9, groups: int = 3) -> TokenBatch:
    """Random trajectories of up to four turns of up to five trained tokens, some of none, and every column."""
    rng = np.random.default_rng(seed)
    batch = scored(
        [
            [(int(rng.integers(0, 6)), float(rng.integers(-2, 3)) / 2) for _ in range(int(rng.integers(1, 5)))]
            for _ in range(trajectories)
        ],
        [int(rng.integers(0, groups)) * 7 for _ in range(trajectories)],
    )
    tokens, turns = len(batch.ids_T), len(batch.reward_U)
    old = rng.uniform(0.05, 0.95, tokens)
    logprob_T = torch.from_numpy(np.log(old) + rng.normal(0, 0.2, tokens)).masked_fill(~batch.trained_T, 0.0)
    columns = {
        "old_T": np.log(old),
        "ref_T": np.log(old) + rng.normal(0, 0.3, tokens),
        "square_T": old**2 + rng.uniform(0, 1, tokens) * (1 - old) ** 2,
        "value_T": rng.normal(0, 1, tokens),
        "layers_UL": rng.integers(0, 3, (turns, 4)) / 2,
        "norm_R": rng.uniform(0.1, 4, trajectories),
        "prompt_R": -rng.uniform(0, 2, trajectories),
        "greedy_R": rng.normal(0, 1, trajectories),
        "agent_R": rng.integers(0, 2, trajectories),
        "task_R": rng.integers(0, 3, trajectories),
    }
    return replace(batch, logprob_T=logprob_T).with_columns({n: torch.from_numpy(c) for n, c in columns.items()})


def per_trajectory(advantage_T: Tensor, batch: TokenBatch) -> Array:
    """The advantage of each trajectory, which all its tokens share; 0 for one without tokens."""
    found = [advantage_T[batch.trajectory_T == number] for number in range(batch.trajectories)]
    assert all(bool((one == one[0]).all()) for one in found if len(one))
    return np.array([float(one[0]) if len(one) else 0.0 for one in found])


def own(batch: TokenBatch) -> list[list[int]]:
    """The places of each trajectory's trained tokens."""
    trained, owner = batch.trained_T.tolist(), batch.trajectory_T.tolist()
    return [
        [place for place, is_own in enumerate(trained) if is_own and owner[place] == number]
        for number in range(batch.trajectories)
    ]


def own_turns(batch: TokenBatch) -> list[list[list[int]]]:
    """The places of the trained tokens of each trajectory's turns that have some."""
    turn = batch.turn_T.tolist()
    return [
        [[place for place in places if turn[place] == one] for one in sorted({turn[place] for place in places})]
        for places in own(batch)
    ]


def token_pay(batch: TokenBatch) -> Array:
    """What each token was paid: its turn's reward at its last trained token, of turns without any at the one before."""
    pay = np.zeros(len(batch.ids_T))
    turn = batch.turn_T.tolist()
    for number, places in enumerate(own(batch)):
        for one, owner in enumerate(batch.trajectory_U.tolist()):
            before = [place for place in places if turn[place] <= one]
            if owner == number and before:
                pay[before[-1]] += float(batch.reward_U[one])
    return pay


def array(value: Tensor) -> Array:
    """As numpy sees it."""
    found: Array = value.double().numpy()
    return found

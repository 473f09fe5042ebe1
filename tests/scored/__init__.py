"""Batches of trajectories that were paid, in float64: as a test spells them out, or drawn with every column."""

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
    for number, played in enumerate(trajectories):
        for tokens, _ in played:
            turn += [NO_TURN, *[written] * tokens]
            written += 1
        turn.append(NO_TURN)
        trajectory += [number] * (len(turn) - len(trajectory))
    turns, whose = torch.tensor(turn), torch.tensor(trajectory)
    count, many = len(turn), len(trajectories)
    place = torch.cat([torch.arange(trajectory.count(number)) for number in range(many)])
    empty = torch.zeros(count, dtype=torch.float64)
    return TokenBatch(
        ids_T=torch.zeros(count, dtype=torch.long),
        position_T=place,
        trained_T=turns != NO_TURN,
        logprob_T=empty,
        version_T=torch.zeros(count, dtype=torch.long),
        part_T=torch.zeros(count, dtype=torch.long),
        advantage_T=empty,
        weight_T=empty,
        segment_T=whose,
        turn_T=turns,
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
    logprob = torch.as_tensor(np.log(old) + rng.normal(0, 0.2, tokens)).masked_fill(~batch.trained_T, 0.0)
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
    return replace(batch, logprob_T=logprob).with_columns({n: torch.as_tensor(c) for n, c in columns.items()})


def per_trajectory(advantage: Tensor, batch: TokenBatch) -> Array:
    """The advantage that all trained tokens of each trajectory share; of one without any, its first token's."""
    found = [array(advantage[places or [_numbers(batch.trajectory_T).index(r)]]) for r, places in enumerate(own(batch))]
    assert all((one == one[0]).all() for one in found)
    return np.array([one[0] for one in found])


def own(batch: TokenBatch) -> list[list[int]]:
    """The places of each trajectory's trained tokens."""
    trained, owner = _numbers(batch.trained_T), _numbers(batch.trajectory_T)
    return [
        [place for place, is_own in enumerate(trained) if is_own and owner[place] == number]
        for number in range(batch.trajectories)
    ]


def own_turns(batch: TokenBatch) -> list[list[list[int]]]:
    """The places of the trained tokens of each trajectory's turns that have some."""
    turn = _numbers(batch.turn_T)
    return [
        [[place for place in places if turn[place] == one] for one in sorted({turn[place] for place in places})]
        for places in own(batch)
    ]


def token_pay(batch: TokenBatch) -> Array:
    """What each token was paid: its turn's reward at its last trained token, of turns without any at the one before."""
    pay = np.zeros(len(batch.ids_T))
    turn = _numbers(batch.turn_T)
    for number, places in enumerate(own(batch)):
        for one, owner in enumerate(_numbers(batch.trajectory_U)):
            before = [place for place in places if turn[place] <= one]
            if owner == number and before:
                pay[before[-1]] += float(batch.reward_U[one])
    return pay


def array(value: Tensor) -> Array:
    """As numpy sees it."""
    found: Array = value.double().numpy()
    return found


def _numbers(value: Tensor) -> list[int]:
    return [int(one) for one in value.numpy()]

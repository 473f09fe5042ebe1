"""Batches of turns: nothing of a token matters but the turn that wrote it, its part and whether it is trained."""

from collections.abc import Sequence
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from palaestra.trainers.data.batch import NO_TURN, PARTS, TokenBatch

ACTS = ("action", "action")
"""The parts of a turn's tokens, unless a test says otherwise."""


def played(
    rewards: Sequence[Sequence[float]],
    groups: Sequence[int],
    *,
    parts: Sequence[Sequence[str]] | None = None,
    columns: dict[str, Tensor] | None = None,
) -> TokenBatch:
    """Trajectories of one segment each: a prompt's token, then each turn's tokens and one that answers it.

    Args:
        rewards: What each turn of each trajectory was paid; the return is their sum.
        groups: Of each trajectory.
        parts: The parts of each turn's tokens, turn after turn; all are trained.
        columns: As they are.
    """
    trajectory = [place for place, paid in enumerate(rewards) for _ in paid]
    marked = [ACTS] * len(trajectory) if parts is None else parts
    turn: list[int] = []
    part: list[str] = []
    segment: list[int] = []
    for place in range(len(rewards)):
        written = [(number, marked[number]) for number, owner in enumerate(trajectory) if owner == place]
        turn += [NO_TURN, *chain.from_iterable([*[number] * len(own), NO_TURN] for number, own in written)]
        part += ["", *chain.from_iterable([*own, ""] for _, own in written)]
        segment += [place] * (len(turn) - len(segment))
    zeros_T = torch.zeros(len(turn), dtype=torch.float64)
    turn_T = torch.tensor(turn)
    return TokenBatch(
        ids_T=torch.zeros(len(turn), dtype=torch.long),
        position_T=torch.zeros(len(turn), dtype=torch.long),
        trained_T=turn_T != NO_TURN,
        logprob_T=zeros_T,
        version_T=torch.zeros(len(turn), dtype=torch.long),
        part_T=torch.tensor([PARTS.index(one) for one in part]),
        advantage_T=zeros_T,
        weight_T=zeros_T,
        segment_T=torch.tensor(segment),
        turn_T=turn_T,
        trajectory_S=torch.arange(len(rewards)),
        trajectory_U=torch.tensor(trajectory, dtype=torch.long),
        reward_U=torch.tensor(list(chain.from_iterable(rewards)), dtype=torch.float64),
        group_R=torch.tensor(groups),
        return_R=torch.tensor([sum(paid) for paid in rewards], dtype=torch.float64),
        columns=columns or {},
    )


def of_turns(value_T: Tensor, batch: TokenBatch) -> list[float]:
    """What the tokens of each turn say, turn after turn; they must all say the same, and others' tokens 0."""
    assert not value_T[batch.turn_T == NO_TURN].any()
    turns = [value_T[batch.turn_T == turn] for turn in range(len(batch.reward_U))]
    assert all(torch.equal(own, own[:1].expand_as(own)) for own in turns)
    return [float(own[0]) for own in turns]


def drawn_rewards(rng: np.random.Generator, groups: Sequence[int], *, most: int = 5) -> list[list[float]]:
    """One to `most` turns for each trajectory, some paid alike."""
    return [[float(rng.choice([-0.5, 0.0, 0.25, 1.0])) for _ in range(int(rng.integers(1, most + 1)))] for _ in groups]


def column(values: Sequence[float] | Sequence[Sequence[float]]) -> Tensor:
    """A column of numbers, float64."""
    return torch.tensor(values, dtype=torch.float64)

"""Episodes of a toy as a batch with all columns of rollouts. Axes: T tokens, U turns, R trajectories.

A trajectory is a segment: a prompt of one token, then one token per action.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

import torch
from torch import Tensor

from palaestra.benchmarks.objectives.table import PolicyTable
from palaestra.benchmarks.objectives.toy import ToyEpisode, ToyTurn
from palaestra.records import LAYERS
from palaestra.trainers.data.batch import NO_TURN, PARTS, TokenBatch

_PROMPT = 0


def batch_of(
    episodes: Sequence[ToyEpisode], groups: Sequence[int], table: PolicyTable, *, version: int = 0
) -> TokenBatch:
    """Make a batch in float64.

    Args:
        episodes: The episodes, in order.
        groups: The group of each episode.
        table: The policy that sampled the episodes.
        version: The version of its weights.
    """
    turns = [turn for episode in episodes for turn in episode.turns]
    ids: list[int] = []
    turn_of: list[int] = []
    parts: list[int] = []
    number = 0
    for episode in episodes:
        ids.append(_PROMPT)
        turn_of.append(NO_TURN)
        parts.append(0)
        for turn in episode.turns:
            ids += table.encode(turn.states, turn.actions)
            turn_of += [number] * len(turn.states)
            parts += map(PARTS.index, turn.parts) if turn.parts else [0] * len(turn.states)
            number += 1
    ids_T, turn_T = torch.tensor(ids), torch.tensor(turn_of)
    own_T = turn_T != NO_TURN
    length_R = torch.tensor([1 + sum(len(turn.states) for turn in episode.turns) for episode in episodes])
    trajectory_R = torch.arange(len(episodes))
    trajectory_T = trajectory_R.repeat_interleave(length_R)
    zero_T = torch.zeros(len(ids), dtype=torch.float64)
    return TokenBatch(
        ids_T=ids_T,
        position_T=torch.arange(len(ids)) - (length_R.cumsum(0) - length_R)[trajectory_T],
        trained_T=own_T,
        logprob_T=table.logprobs().view(-1)[ids_T].masked_fill(~own_T, 0.0),
        version_T=torch.full_like(ids_T, version).masked_fill(~own_T, 0),
        part_T=torch.tensor(parts),
        advantage_T=zero_T,
        weight_T=zero_T,
        segment_T=trajectory_T,
        turn_T=turn_T,
        trajectory_S=trajectory_R,
        trajectory_U=trajectory_R.repeat_interleave(torch.tensor([len(episode.turns) for episode in episodes])),
        reward_U=_floats(turn.reward for turn in turns),
        group_R=torch.tensor(groups),
        return_R=_floats(episode.total_reward for episode in episodes),
        columns=_columns(episodes, turns),
    )


def _columns(episodes: Sequence[ToyEpisode], turns: Sequence[ToyTurn]) -> dict[str, Tensor]:
    """Columns of one agent: every turn is readable, calls one tool and does no harm; rubrics have one expectation."""
    zero_U = torch.zeros(len(turns), dtype=torch.float64)
    one_R = torch.ones(len(episodes), dtype=torch.float64)
    layers_UL = torch.zeros(len(turns), len(LAYERS), dtype=torch.float64)
    layers_UL[:, LAYERS.index("outcome")] = _floats(turn.reward for turn in turns)
    won_UL, shares_RL = torch.zeros_like(layers_UL), torch.zeros(len(episodes), len(LAYERS), dtype=torch.float64)
    shares_RL[:, LAYERS.index("outcome")] = 1.0
    won = chain.from_iterable([*(0.0 for _ in one.turns[1:]), one.total * one.passed] for one in episodes)
    won_UL[:, LAYERS.index("outcome")] = _floats(won)
    met = chain.from_iterable([*(0.0 for _ in one.turns[1:]), float(one.passed)] for one in episodes)
    return {
        "anchor_U": torch.tensor([turn.anchor for turn in turns]),
        "passed_R": _floats(episode.passed for episode in episodes),
        "total_R": _floats(episode.total for episode in episodes),
        "done_R": _floats(episode.done for episode in episodes),
        "unfinished_R": _floats(not episode.done for episode in episodes),
        "task_R": torch.tensor([episode.task for episode in episodes]),
        "agent_R": torch.zeros(len(episodes), dtype=torch.long),
        "invalid_U": zero_U,
        "tools_U": torch.ones_like(zero_U),
        "layers_UL": layers_UL,
        "harm_U": zero_U,
        "met_UC": _floats(met)[:, None],
        "open_UC": torch.ones_like(zero_U)[:, None],
        "points_RC": one_R[:, None],
        "won_UL": won_UL,
        "shares_RL": shares_RL,
        "flip_RK": torch.zeros_like(one_R)[:, None],
        "chance_RK": torch.zeros_like(one_R)[:, None],
        "switch_U": _floats(turn.switch for turn in turns),
        "goal_U": torch.tensor([turn.goal for turn in turns]),
    }


def _floats(values: Iterable[float]) -> Tensor:
    return torch.tensor([float(value) for value in values], dtype=torch.float64)

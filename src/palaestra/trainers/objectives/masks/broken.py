"""Truncated trajectories and unreadable turns. Axes: T tokens, U turns, R trajectories."""

from torch import Tensor

from palaestra.trainers.data.batch import NO_TURN, TokenBatch
from palaestra.trainers.objectives.part import part


@part(
    "mask",
    "truncated",
    formula="drop where done_R = 0",
    sources=("arXiv:2503.14476",),
    confidence="code",
    requires=("done_R",),
    denominator="survivors",
)
def drop_truncated(batch: TokenBatch, /) -> Tensor:
    """Leaves out truncated trajectories (DAPO's overlong filtering, arXiv:2503.14476).

    Their outcome is unknown, and a return of 0 would punish work that may have been right.
    """
    return (batch.column("done_R") != 0)[batch.trajectory_T]


@part(
    "mask",
    "invalid-turns",
    formula="drop where invalid_U = 1",
    confidence="derived",
    requires=("invalid_U",),
)
def drop_invalid_turns(batch: TokenBatch, /) -> Tensor:
    """Leaves out turns that could not be read, or that called an unknown tool.

    Experimental: agents' recipes punish such turns or drop their trajectories; leaving out only the turns is derived.
    Tokens outside turns are kept.
    """
    turn_T = batch.turn_T
    if not len(batch.reward_U):
        return turn_T == NO_TURN
    return (turn_T == NO_TURN) | (batch.column("invalid_U") == 0)[turn_T.clamp_min(0)]

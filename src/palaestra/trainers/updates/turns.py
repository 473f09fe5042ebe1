"""SeeUPO's update (arXiv:2602.06554): turn by turn, the last first, with the effect of the later turns' updates.

Every turn is an agent in a cooperative game. When turn t is updated, its continuation has been improved already, and a
trajectory's advantage is multiplied by the increase in likelihood of its later turns:

    A_t = A * M,   M = prod over updated turns of s,   s = exp(mean over the turn's tokens of new - old)

Each factor and the product are clipped to [1 - clip, 1 + clip]. The proof assumes a separate policy for every turn;
here, as in the authors' code, all turns share one policy, so the guarantee is only a motivation.
Axes: T tokens, U turns, R trajectories.
"""

from collections.abc import Callable, Collection
from dataclasses import replace

import torch
from torch import Tensor

from palaestra.seeding import Stream
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives import Metrics, Objective, PreparedStep
from palaestra.trainers.objectives.advantages.turns import places
from palaestra.trainers.objectives.recipe import UpdateSchedule
from palaestra.trainers.objectives.segments import mean_over
from palaestra.trainers.updates.passes import POLICY, fill_columns, fill_current_logprobs
from palaestra.trainers.updates.trained import TrainableModel

_FARTHEST = 10.0


def train_turn_by_turn(
    batch: TokenBatch,
    objective: Objective,
    trained: TrainableModel,
    *,
    requires: Collection[str],
    schedule: UpdateSchedule,
    stream: Stream,
    temperature: float = 1.0,
    look: Callable[[PreparedStep], PreparedStep] = lambda prepared: prepared,
) -> Metrics:
    """Train on a batch, with one step for each index that a turn can have in its trajectory.

    A trajectory without a turn at an index has no part in that step, and keeps its M.

    Args:
        batch: Whole groups, with the required columns except those of the policy.
        objective: The objective of a single turn: sequence ratios against `old_T`, which is recomputed before every
            step.
        trained: The trained model.
        requires: The columns that are read.
        schedule: The order of turns, the clip of the factors and the product, and whether there are factors at all.
        stream: The random stream of the order, if it is random.
        temperature: The temperature at which the tokens were sampled.
        look: Called with the first step, to which it may add a witness.

    Returns:
        The figures of the first step, and of all steps: `seeupo/steps`, and `seeupo/carry_mean`, the mean of the final
        M.
    """
    place_U = places(batch.trajectory_U, batch.trajectories)
    places_there = list(range(int(place_U.max()) + 1)) if len(place_U) else []
    match schedule.order:
        case "reverse":
            places_there.reverse()
        case "random":
            places_there = stream.permutation(places_there)
        case "forward":
            pass
    carried_R = torch.ones_like(batch.return_R)
    metrics: Metrics = {}
    steps = 0
    for place in places_there:
        turn = at_place(batch, place_U, place)
        turn = fill_columns(turn, POLICY & set(requires), trained, temperature=temperature)
        turn = objective.advantages(fill_current_logprobs(turn, requires, trained, first=True, temperature=temperature))
        turn = replace(turn, advantage_T=turn.advantage_T * carried_R[turn.trajectory_T])
        prepared = objective.prepare(turn)
        if not prepared.batch.trajectories:
            continue
        found = trained.step(prepared if metrics else look(prepared), temperature=temperature)
        metrics = metrics or found
        steps += 1
        if schedule.carry:
            new_T = trained.columns(turn, ["logp"], temperature=temperature)["logp"]
            carried_R = carry_ratio(carried_R, new_T, turn.column("old_T"), turn, clip=schedule.clip)
    return {**metrics, "seeupo/steps": float(steps), "seeupo/carry_mean": float(carried_R.mean())} if steps else {}


def carry_ratio(carried_R: Tensor, new_T: Tensor, old_T: Tensor, turn: TokenBatch, *, clip: float = 0.2) -> Tensor:
    """M after the update of a turn, [R]: the old M times the turn's sequence ratio, both clipped.

    Args:
        carried_R: M before the update.
        new_T: Log-probabilities after the step.
        old_T: Log-probabilities before the step.
        turn: A batch in which only this turn's tokens are trained; a trajectory without any keeps its M exactly.
        clip: The maximum distance of both from 1.
    """
    own_T = turn.trained_T
    owner_N = turn.trajectory_T[own_T]
    moved_R = mean_over((new_T - old_T)[own_T], owner_N, turn.trajectories).clamp(-_FARTHEST, _FARTHEST)
    ratio_R = moved_R.exp().clamp(1 - clip, 1 + clip).to(carried_R.dtype)
    return (carried_R * ratio_R).clamp(1 - clip, 1 + clip)


def at_place(batch: TokenBatch, place_U: Tensor, place: int) -> TokenBatch:
    """The batch in which only the tokens of turns at this index of their trajectory are trained."""
    here_T = torch.zeros_like(batch.trained_T)
    written_T = batch.turn_T >= 0
    here_T[written_T] = place_U[batch.turn_T[written_T]] == place
    return replace(batch, trained_T=batch.trained_T & here_T)

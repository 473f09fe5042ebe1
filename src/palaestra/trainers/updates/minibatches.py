"""Training steps on shares of a batch; every trajectory is in one share."""

from collections.abc import Callable, Collection

from palaestra.seeding import Stream
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.branches import branch_places
from palaestra.trainers.objectives import Metrics, Objective, PreparedStep
from palaestra.trainers.updates.passes import fill_current_logprobs
from palaestra.trainers.updates.trained import TrainableModel


def train_minibatches(
    batch: TokenBatch,
    objective: Objective,
    trained: TrainableModel,
    *,
    requires: Collection[str],
    updates: int,
    stream: Stream,
    temperature: float = 1.0,
    look: Callable[[PreparedStep], PreparedStep] = lambda prepared: prepared,
) -> Metrics:
    """Train on a batch in `updates` steps.

    Args:
        batch: The batch with the required columns and all trajectories of each group.
        objective: The objective.
        trained: The trained model.
        requires: The columns that are read.
        updates: The number of steps; each uses an equal share, drawn from `stream`.
        stream: The random stream of the division.
        temperature: The temperature at which the tokens were sampled.
        look: Called with the first step, to which it may add a witness.

    Returns:
        The figures of the first step, for the weights before they change. Empty if nothing has a gradient.
    """
    batch = objective.advantages(fill_current_logprobs(batch, requires, trained, first=True, temperature=temperature))
    metrics: Metrics = {}
    for update, chosen in enumerate(shares(batch, updates, stream, joined=objective.joins)):
        if not chosen:
            continue
        share = batch.select(chosen)
        prepared = objective.prepare(
            fill_current_logprobs(share, requires, trained, first=update == 0, temperature=temperature)
        )
        if prepared.batch.trajectories:
            prepared = prepared if metrics else look(prepared)
            found = trained.step(prepared, temperature=temperature)
            metrics = metrics or found
    return metrics


def shares(batch: TokenBatch, updates: int, stream: Stream, *, joined: bool) -> list[list[int]]:
    """Divide a batch; return the trajectories of each of `updates` shares, ascending. Each trajectory is in one share.

    Continuations are divided separately, so that each share has a part of them.

    Args:
        batch: The batch to divide.
        updates: The number of shares, which are equal up to one trajectory, or one group.
        stream: The random stream of the division.
        joined: Whether the trajectories of a group stay together.
    """
    _, unit_R = batch.group_R.unique(return_inverse=True)
    units: list[list[int]] = [[] for _ in range(int(unit_R.max()) + 1 if joined else batch.trajectories)]
    for trajectory, unit in enumerate(unit_R.tolist() if joined else range(batch.trajectories)):
        units[unit].append(trajectory)
    branches = set(branch_places(batch))
    whole = [unit for unit in units if unit[0] not in branches]
    continued = [unit for unit in units if unit[0] in branches]
    streams = [stream.permutation(whole), stream.split("branches").permutation(continued)]
    return [
        sorted(one for shuffled in streams for unit in shuffled[update::updates] for one in unit)
        for update in range(updates)
    ]

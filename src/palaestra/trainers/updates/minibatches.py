"""Steps on shares of a batch: every trajectory is in one."""

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
        batch: With the columns that are required; all trajectories of a group are in it.
        objective: What to come nearer to.
        trained: What is trained.
        requires: The columns that something reads.
        updates: Steps; each takes an equal share, drawn from `stream`.
        stream: Of the division.
        temperature: At which the tokens were drawn.
        look: Called with the first step, which it may put a witness into.

    Returns:
        The figures of the first step: of the weights that the batch began with, before they move. Empty where nothing
        has a gradient.
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
    """The trajectories of each of `updates` shares, ascending; every one is in one.

    Continuations are divided by themselves, so that each share has its part of them.

    Args:
        batch: What is divided.
        updates: How many shares; equal ones, up to one trajectory, or one group.
        stream: Of the division.
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

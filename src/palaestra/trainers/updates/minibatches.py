"""Steps on shares of a batch: every trajectory is in one."""

from collections.abc import Callable, Collection

from palaestra.seeding import Stream
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives import Metrics, Objective, Prepared
from palaestra.trainers.updates.passes import now
from palaestra.trainers.updates.trained import Trained


def minibatches(
    batch: TokenBatch,
    objective: Objective,
    trained: Trained,
    *,
    requires: Collection[str],
    updates: int,
    stream: Stream,
    temperature: float = 1.0,
    look: Callable[[Prepared], Prepared] = lambda prepared: prepared,
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
    batch = objective.advantages(now(batch, requires, trained, first=True, temperature=temperature))
    shuffled = stream.shuffled(range(batch.trajectories))
    metrics: Metrics = {}
    for update in range(updates):
        share = batch.select(sorted(shuffled[update::updates]))
        if not share.trajectories:
            continue
        prepared = objective.prepare(now(share, requires, trained, first=update == 0, temperature=temperature))
        if prepared.batch.trajectories:
            prepared = prepared if metrics else look(prepared)
            found = trained.step(prepared, temperature=temperature)
            metrics = metrics or found
    return metrics

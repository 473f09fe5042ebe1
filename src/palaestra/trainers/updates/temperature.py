"""Training steps of a temperature head, on the policy's batch. Axes: T tokens, N trained tokens."""

from collections.abc import Collection
from dataclasses import replace

from palaestra.seeding import Stream
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives import ComposedObjective, Metrics, Objective
from palaestra.trainers.objectives.parts import TemperaturePolicy
from palaestra.trainers.updates.minibatches import shares
from palaestra.trainers.updates.trained import TrainableHead


def train_temperature_head(
    batch: TokenBatch,
    objective: Objective,
    trained: TrainableHead,
    chooses: TemperaturePolicy,
    *,
    requires: Collection[str],
    updates: int,
    stream: Stream,
) -> Metrics:
    """Train the head on a batch in `updates` steps, each on an equal share drawn from `stream`.

    The objective is the policy's, with the log-probabilities of choices instead of those of tokens, and without
    regularisers, which apply to tokens. The policy itself may be trained on the same batch or not.

    Args:
        batch: The batch with the columns that the objective and the head read, and all trajectories of each group.
        objective: The policy's objective; a composed one, since the builder refuses others.
        trained: The model whose head is trained.
        chooses: The objective's part for temperatures.
        requires: The columns that are read.
        updates: The number of steps.
        stream: The random stream of the division.

    Returns:
        The figures of the first step, each under `temperature/`; empty if nothing has a gradient.
    """
    assert isinstance(objective, ComposedObjective), "the builder refuses losses of whole trajectories"
    objective = replace(objective, terms=())
    batch = chooses(objective.advantages(batch))
    batch = batch.with_columns({"old_T": trained.choice_logprobs(batch).to(batch.logprob_T)})
    metrics: Metrics = {}
    for update, chosen in enumerate(shares(batch, updates, stream, joined=objective.joins)):
        if not chosen:
            continue
        share = batch.select(chosen)
        if "now_T" in requires:
            now_T = trained.choice_logprobs(share).to(share.logprob_T) if update else share.column("old_T")
            share = share.with_columns({"now_T": now_T})
        prepared = objective.prepare(share)
        if prepared.batch.trajectories:
            found = trained.step_head(prepared, lr=chooses.rate)
            metrics = metrics or {_name(name): value for name, value in found.items()}
    return metrics


def temperature_metrics(batch: TokenBatch) -> Metrics:
    """The figures of a head's choices for the trained tokens of a batch.

    Returns:
        `temperature/mean`, `/least` and `/most`, and `/open`, the share of tokens for which a temperature was chosen
        anew; empty if no head chose or nothing is trained.
    """
    own_T = batch.trained_T
    if "temperature_T" not in batch.columns or not bool(own_T.any()):
        return {}
    value_N = batch.column("temperature_T")[own_T].double()
    return {
        "temperature/mean": value_N.mean().item(),
        "temperature/least": value_N.min().item(),
        "temperature/most": value_N.max().item(),
        "temperature/open": (batch.column("latent_T")[own_T] != 0).double().mean().item(),
    }


def _name(name: str) -> str:
    return f"temperature/{name.removeprefix('policy/')}"

"""Steps of a temperature head, on the batch that the policy is trained on or would be. Axes: T tokens, N trained."""

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

    It is the objective of the policy, with the log-probabilities of choices in the place of those of tokens and without
    regularisers, which are of tokens.

    Args:
        batch: With the columns that the objective and the head read; all trajectories of a group are in it.
        objective: The policy's; a composed one, for the builder refuses others.
        trained: Whose head is trained.
        chooses: What the objective says of temperatures.
        requires: The columns that something reads.
        updates: Steps.
        stream: Of the division.

    Returns:
        The figures of the first step, each under `temperature/`; empty where nothing has a gradient.
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
    """What a head chose in a batch: the mean temperature of its trained tokens, their extremes, and how often it chose.

    Returns:
        `temperature/mean`, `/least`, `/most` and `/open`, the share of tokens for which a temperature was chosen anew;
        empty where no head chose or nothing is trained.
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

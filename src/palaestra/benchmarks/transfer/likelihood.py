"""A policy's likelihood of the oracle's turns: a dense measure of transfer where few tasks are solved."""

from collections.abc import Mapping, Sequence

from palaestra.benchmarks.transfer.demonstrations import as_tokens
from palaestra.record import record
from palaestra.trainers import LearnerConfig, Policy
from palaestra.trainers.data.flatten import flatten_tokens
from palaestra.trainers.learner import Learner
from palaestra.trajectory import Episode


@record
class TurnLikelihood:
    """A policy's likelihood of the oracle's turns in one task."""

    nats: float
    """The mean of -log p over the tokens of the turns, each given the oracle's own earlier turns."""
    tokens: int


def score_solutions(policy: Policy, solutions: Sequence[Episode]) -> Mapping[str, TurnLikelihood]:
    """Compute the likelihood of solutions, by task; solutions longer than the policy reads are left out.

    Args:
        policy: The policy.
        solutions: The oracle's episodes.
    """
    read = {episode.task.id: as_tokens(episode, policy.codec) for episode in solutions}
    fitting = {task: one for task, one in read.items() if len(one.ids) <= policy.model.shape.context}
    if not fitting:
        return {}
    batch = flatten_tokens(list(fitting.values()))
    logp = Learner(policy.model, LearnerConfig(lr=1e-3)).logprobs(batch).logp
    found: dict[str, TurnLikelihood] = {}
    at = 0
    for task, one in fitting.items():
        own = sum(one.sampled)
        total = -float(logp[at : at + len(one.ids)].double().sum())
        found[task] = TurnLikelihood(nats=total / own, tokens=own)
        at += len(one.ids)
    return found

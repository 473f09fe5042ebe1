"""Columns from further rollouts of each group. Axes: R trajectories."""

import torch
from torch import Tensor

from palaestra.trainers.fillers.filler import column
from palaestra.trainers.fillers.inputs import FillerInput


@column("greedy_R", filler="greedy", needs=("greedy",))
def greedy_returns(given: FillerInput) -> Tensor:
    """ReMax (arXiv:2310.10505): the return of a rollout of the same task with the likeliest token everywhere."""
    returns = [episode.episode_return for episode in given.comparisons("greedy")]
    return torch.tensor(returns, dtype=given.batch.return_R.dtype)


@column("counterfactual_R", filler="idle", needs=("idle",))
def idle_scores(given: FillerInput) -> Tensor:
    """SHARP (arXiv:2602.08335), r(tau without m), of an episode that has one agent: the score without any turn.

    The paper replaces an agent's output by a placeholder and scores the rest. Where one policy writes every turn, the
    rest is an episode without turns, which the world scores. It is one number for each group, so that what SHARP adds
    for it cancels where the group is compared: it differs within a group only where a trajectory is one agent's part of
    an episode of several.
    """
    scores = [float(episode.score.points) for episode in given.comparisons("idle")]
    return torch.tensor(scores, dtype=given.batch.return_R.dtype)


@column("rephrased_R", filler="rephrase", needs=("rephrase",))
def rephrased_marks(given: FillerInput) -> Tensor:
    """RePO (arXiv:2602.10819): 1 for a demonstration in the policy's own words, which joins the rollouts of its task.

    The current policy plays the task once more with the demonstration in its system prompt. The world pays for that
    episode as for any other. What joins the group has the plain prompt, without the demonstration. The paper rephrases
    a text, in one reply. An agent's solution is a way through the world, so here it is gone again, turn by turn.

    One is played with every group, since what the group earns is known only when it has ended; which groups use it is
    said by the filter `repo`.
    """
    return given.is_rephrased_R.to(given.batch.return_R.dtype)

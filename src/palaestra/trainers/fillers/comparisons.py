"""Columns from further rollouts of each group. Axes: R trajectories."""

import torch
from torch import Tensor

from palaestra.trainers.fillers.filler import column
from palaestra.trainers.fillers.inputs import FillerInput


@column("greedy_R", filler="greedy", needs=("greedy",))
def greedy_returns(given: FillerInput) -> Tensor:
    """ReMax (arXiv:2310.10505): the return of a greedy rollout of the same task."""
    returns = [episode.episode_return for episode in given.comparisons("greedy")]
    return torch.tensor(returns, dtype=given.batch.return_R.dtype)


@column("counterfactual_R", filler="idle", needs=("idle",))
def idle_scores(given: FillerInput) -> Tensor:
    """SHARP (arXiv:2602.08335), r(tau without m) for an episode with one agent: the score without any turn.

    The paper replaces an agent's output by a placeholder and scores the rest. If one policy writes every turn, the rest
    is an episode without turns, which the world scores. This is one number for each group, so SHARP's term for it
    cancels in comparisons within the group. It differs within a group only if a trajectory is one agent's part of an
    episode with several agents.
    """
    scores = [float(episode.score.points) for episode in given.comparisons("idle")]
    return torch.tensor(scores, dtype=given.batch.return_R.dtype)


@column("rephrased_R", filler="rephrase", needs=("rephrase",))
def rephrased_marks(given: FillerInput) -> Tensor:
    """RePO (arXiv:2602.10819): 1 for a demonstration in the policy's own words, which joins the rollouts of its task.

    The current policy plays the task once more with the demonstration in its system prompt. The world rewards this
    episode like any other. The trajectory that joins the group has the plain prompt, without the demonstration. The
    paper rephrases a text in one reply; an agent's solution is a sequence of actions, so here it is played again, turn
    by turn.

    One such rollout is played with every group, since the group's returns are known only when it has ended; the filter
    `repo` decides which groups use it.
    """
    return given.is_rephrased_R.to(given.batch.return_R.dtype)

"""Columns that judges, teachers and further rollouts would fill in. Axes: T tokens, U turns, R trajectories.

Only a toy can provide all of them, because it knows the best actions. Comments at the columns state how each is
computed.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

import torch
from torch import Tensor

from palaestra.benchmarks.objectives.toy import Toy, ToyEpisode
from palaestra.trainers.data.batch import TokenBatch

_DOUBT = 0.05
"""The minimum probability of the reference answer, and 1 minus its maximum."""
_UNSURE = 0.5
"""The probability of the reference answer before the first turn."""


def needs_demonstration(requires: Collection[str]) -> bool:
    """Whether a recipe that reads these columns needs a demonstration in every group."""
    return not {"chosen_R", "expert_T", "rephrased_R"}.isdisjoint(requires)


def fill_given_columns(
    batch: TokenBatch,
    requires: Collection[str],
    episodes: Sequence[ToyEpisode],
    toy: Toy,
    *,
    greedy: Mapping[int, float],
    shown: Sequence[bool],
) -> TokenBatch:
    """Add the required given columns to a batch.

    Args:
        batch: The batch of `episodes`.
        requires: The names of the columns that are read.
        episodes: The episodes, in the batch's order.
        toy: The toy in which they were played.
        greedy: The return of each task under the most likely actions.
        shown: Which episodes are demonstrations.
    """
    turns = [turn for episode in episodes for turn in episode.turns]
    shown_R = torch.tensor(shown, dtype=torch.float64)

    hope_U = torch.tensor([turn.hope for turn in turns], dtype=torch.float64)
    one_R = torch.ones(len(episodes), dtype=torch.float64)
    columns: Mapping[str, Callable[[], Tensor]] = {
        "prompt_RF": lambda: torch.eye(toy.tasks, dtype=torch.float64)[batch.column("task_R")],
        "greedy_R": lambda: torch.tensor([greedy[episode.task] for episode in episodes], dtype=torch.float64),
        "label_U": lambda: torch.tensor([turn.good for turn in turns], dtype=torch.float64),
        # The probability of the reference answer rises with the share of the best return that is still possible.
        "gold_U": lambda: torch.log(_DOUBT + (1 - 2 * _DOUBT) * hope_U),
        "gold_R": lambda: torch.log(_UNSURE * one_R),
        "potential_U": lambda: hope_U,
        "potential_R": lambda: one_R,
        # Without the only agent, nothing is done and nothing is earned.
        "counterfactual_R": lambda: 0 * one_R,
        "process_R": lambda: torch.tensor(
            [sum(turn.good for turn in episode.turns) / len(episode.turns) for episode in episodes],
            dtype=torch.float64,
        ),
        # Answers to other tasks are assumed to be as likely as under the reference.
        "mismatched_R": lambda: 0 * one_R,
        "chosen_R": lambda: shown_R,
        # The solution counts as a rephrasing in the policy's own words.
        "rephrased_R": lambda: shown_R,
        "expert_T": lambda: shown_R[batch.trajectory_T].masked_fill(~batch.trained_T, 0.0),
        "attention_T": lambda: batch.trained_T.to(torch.float64),
    }
    return batch.with_columns({name: make() for name, make in columns.items() if name in requires})

"""The columns that parts of objectives may read, and the source of each.

A name ends in its axes: T tokens, U turns or R trajectories first, and any further ones after it.

Columns of rollouts are always there. A pass through a model is made only if some part of the objective reads its
columns. Columns that are `given` come from fillers, which the settings choose: see `trainers/fillers`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from palaestra.errors import DefinitionError

ColumnSource: TypeAlias = Literal["rollout", "head", "policy", "now", "norms", "reference", "critic", "given"]
"""The sources: the records of the episodes; the records of a temperature head, if there is one; a pass through the
policy before the batch's first step, or before each step; a backward pass for each trajectory; the reference policy;
the critic; or a filler: a judge, further rollouts, demonstrations, or a user's function."""
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*_[TUR][A-Z]*", re.ASCII)
_RETURNS = frozenset({"layers_UL", "harm_U", "won_UL", "flip_RK", "greedy_R", "counterfactual_R"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchColumn:
    """A column that parts may read."""

    source: ColumnSource
    meaning: str
    is_return: bool = False
    """Whether it is in the unit of returns, so that a change of that unit converts it too."""


def declare_column(name: str, *, meaning: str = "", is_return: bool = False) -> BatchColumn:
    """The column of that name; a new name declares a column for fillers.

    Raises:
        DefinitionError: the name does not end in axes, a pass fills in the column, or a new column has no `meaning`.
    """
    if (known := COLUMNS.get(name)) is not None:
        if known.source != "given":
            raise DefinitionError(f"column {name!r} is filled in by {known.source!r} already; choose another name")
        return known
    if not _NAME.fullmatch(name):
        raise DefinitionError(
            f"column {name!r}: a name is small letters and its axes, the first of which is T (tokens), U (turns) or R "
            "(trajectories), such as surprise_U"
        )
    if not meaning:
        raise DefinitionError(f"column {name!r} is new, and nothing says what it is; give its meaning")
    return COLUMNS.setdefault(name, BatchColumn(source="given", meaning=meaning, is_return=is_return))


_OURS: Mapping[str, tuple[ColumnSource, str]] = {
    "anchor_U": ("rollout", "the world's state before the turn, without history, as a number (GiGPO)"),
    "passed_R": ("rollout", "1 if the task was solved, else 0, whatever the reward"),
    "total_R": ("rollout", "the rubric's reward for a solved task; 0 if the world does not state it"),
    "done_R": ("rollout", "1 if the world ended the episode, 0 if it was truncated"),
    "task_R": ("rollout", "the task, as a number that stays the same from batch to batch"),
    "agent_R": ("rollout", "the agent, as a number"),
    "invalid_U": ("rollout", "1 if the turn is unreadable, or has a call that fits no tool"),
    "tools_U": ("rollout", "the number of different calls of the turn that ran and were not refused"),
    "layers_UL": ("rollout", "the turn's reward, by layer of the rubric: selection, params, outcome, task"),
    "harm_U": ("rollout", "the points that prohibitions took in the turn, minus those returned"),
    "unfinished_R": ("rollout", "1 if a budget ended the episode or the agent gave up, else 0"),
    "met_UC": ("rollout", "1 if the criterion was met after the turn; padded with 0"),
    "open_UC": ("rollout", "1 if all dependencies of the criterion were met before the turn; padded with 0"),
    "points_RC": ("rollout", "each expectation's share of the rubric's points; padded with 0"),
    "won_UL": ("rollout", "the points that expectations won in the turn, by layer, before any rule about ends"),
    "shares_RL": ("rollout", "the share of the rubric's points of each layer's expectations"),
    "flip_RK": ("rollout", "the change of points if the verdict on the criterion were the opposite"),
    "chance_RK": ("rollout", "a random number in [0, 1) for each criterion, the same whenever the record is read"),
    "switch_U": ("rollout", "1 if the turn began a new subgoal (planner format), else 0"),
    "goal_U": ("rollout", "the turn's subgoal, as a number"),
    "temperature_T": ("head", "the sampling temperature of each trained token (IntroLLM)"),
    "latent_T": ("head", "its position in the head's range; 0 if the previous temperature was kept"),
    "choice_T": ("head", "log-probability of that choice at sampling"),
    "old_T": ("policy", "log-probability of each trained token before the batch's first step"),
    "entropy_T": ("policy", "entropy of the distribution at that token, in nats, at that time"),
    "square_T": ("policy", "the sum of the squared probabilities of that distribution"),
    "proxy_T": ("policy", "its log-probability under that distribution without its least likely tokens (Lp-Reg)"),
    "prompt_R": ("policy", "the mean log-probability of the prompt's tokens at that time (ProGRPO)"),
    "now_T": ("now", "log-probability of each trained token before the current step"),
    "norm_R": ("norms", "the squared norm of the gradient of the trajectory's log-probability"),
    "ref_T": ("reference", "log-probability of each trained token under the reference policy"),
    "value_T": ("critic", "the critic's value at each trained token"),
    "values_UH": ("critic", "the planner critic's values of each turn: high, low, switch (HiPER)"),
    "promise_U": ("critic", "the critic's value of each turn after it was written (AgentPRM)"),
    "greedy_R": ("given", "the return of a greedy rollout of the same task (ReMax)"),
    "label_U": ("given", "1 if a judge labels the turn as good, else 0 (ADCA)"),
    "gold_U": ("given", "the mean log-probability of the reference answer after the turn (MIG, IGPO)"),
    "gold_R": ("given", "and before the first turn"),
    "potential_U": ("given", "the value of the state after the turn (AgentPRM)"),
    "potential_R": ("given", "and before the first turn"),
    "counterfactual_R": ("given", "the return without this agent's part (SHARP)"),
    "process_R": ("given", "the mean score of the trajectory's steps by a process reward model (PROF)"),
    "mismatched_R": ("given", "the log-ratio to the reference of answers to other tasks than their own (KTO)"),
    "chosen_R": ("given", "1 for a demonstration, 0 for the policy's own answer (SPIN)"),
    "rephrased_R": ("given", "1 for a solution rephrased by the policy, else 0 (RePO)"),
    "expert_T": ("given", "1 if an expert wrote the token, else 0 (LUFFY)"),
    "attention_T": ("given", "the token's attention to tool answers and images (AT-RL)"),
    "prompt_RF": ("given", "features of the prompt, without gradient (log-partition functions)"),
}
COLUMNS: dict[str, BatchColumn] = {
    name: BatchColumn(source=source, meaning=meaning, is_return=name in _RETURNS)
    for name, (source, meaning) in _OURS.items()
}
"""Every column; `declare_column` adds those of users."""

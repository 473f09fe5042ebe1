"""The columns that parts of objectives may read, and who fills them in. Axes: T tokens, U turns, R trajectories.

Those of rollouts are there always; a pass through a model is taken only where some part of the objective reads what it
gives.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

Filler: TypeAlias = Literal["rollout", "policy", "now", "norms", "reference", "critic", "given"]
"""What was recorded of the episodes; a pass through the policy as the batch's first step finds it, or as each step
does; a backward pass for each trajectory; the reference policy; the critic; or nobody here: judges, teachers and
further rollouts are whoever's who calls the objective, and `palaestra train` refuses a recipe that reads theirs."""

COLUMNS: Mapping[str, tuple[Filler, str]] = {
    "anchor_U": ("rollout", "what the world showed before the turn, without history, as a number (GiGPO)"),
    "passed_R": ("rollout", "1 where the task was solved, else 0, whatever was paid"),
    "done_R": ("rollout", "1 where the world ended the episode, 0 where it was cut short"),
    "task_R": ("rollout", "the task, as a number that stays the same from batch to batch"),
    "agent_R": ("rollout", "who acted, as a number"),
    "invalid_U": ("rollout", "1 where the turn could not be read, or held a call that fits no tool"),
    "tools_U": ("rollout", "distinct calls of the turn that were carried out and nobody refused"),
    "layers_UL": ("rollout", "what the turn was paid, by layer of the rubric: selection, params, outcome, task"),
    "met_UC": ("rollout", "1 where the criterion was met after the turn; padded with 0"),
    "open_UC": ("rollout", "1 where all that the criterion is after were met before the turn; padded with 0"),
    "points_RC": ("rollout", "what share of the rubric's points each expectation is worth; padded with 0"),
    "switch_U": ("rollout", "1 where the turn began a new subgoal (planner format), else 0"),
    "goal_U": ("rollout", "the turn's subgoal, as a number"),
    "old_T": ("policy", "log-probability of each trained token before the batch's first step"),
    "entropy_T": ("policy", "of the distribution it was one draw from, in nats, then"),
    "square_T": ("policy", "the sum of that distribution's squared probabilities"),
    "proxy_T": ("policy", "its log-probability under that distribution without its least likely tokens (Lp-Reg)"),
    "prompt_R": ("policy", "the mean log-probability of the prompt's tokens then (ProGRPO)"),
    "now_T": ("now", "log-probability of each trained token before this very step"),
    "norm_R": ("norms", "the squared norm of the gradient of the trajectory's log-probability"),
    "ref_T": ("reference", "log-probability of each trained token under the reference policy"),
    "value_T": ("critic", "what the critic expects at each trained token"),
    "values_UH": ("critic", "what the planner's critic expects of each turn: high, low, switch (HiPER)"),
    "promise_U": ("critic", "what the critic expects of each turn, once it is written (AgentPRM)"),
    "greedy_R": ("given", "the return of a rollout of the same task without chance (ReMax)"),
    "label_U": ("given", "1 where a judge calls the turn good, else 0 (ADCA)"),
    "gold_U": ("given", "the mean log-probability of the reference answer after the turn (MIG, IGPO)"),
    "gold_R": ("given", "and before the first turn"),
    "potential_U": ("given", "the value of the state after the turn (AgentPRM)"),
    "potential_R": ("given", "and before the first turn"),
    "counterfactual_R": ("given", "the return without this agent's part (SHARP)"),
    "process_R": ("given", "the mean score of the trajectory's steps by a process reward model (PROF)"),
    "mismatched_R": ("given", "the log-ratio to the reference of answers to other tasks than their own (KTO)"),
    "chosen_R": ("given", "1 for a demonstration, 0 for what the policy wrote instead (SPIN)"),
    "expert_T": ("given", "1 where somebody else wrote the token, else 0 (LUFFY)"),
    "attention_T": ("given", "how much the token attends to what a tool or an image said (AT-RL)"),
    "prompt_RF": ("given", "features of the prompt, without gradient (log-partition functions)"),
}

"""Injections: instructions that an attacker plants in a task's content, with its goal as a criterion in code.

An injection is a goal, a style of text and a carrier (the row or message that holds the text). It is a switch of
`gym.make` and leaves the task's own rubric as it is. How far the attacker got stands in `info["injection"]`.
"""

if __name__ != "palaestra.envs.injections":
    raise ImportError(
        f"this folder is palaestra.envs.injections, not {__name__}; write `import palaestra.envs.injections`"
    )

from palaestra.envs.injections.carrier import InjectionCarrier, InjectionPlace, request_carrier, row_carrier
from palaestra.envs.injections.catalogue import WorldInjections, check_injection, load_injections
from palaestra.envs.injections.choice import InjectionChoice
from palaestra.envs.injections.goal import AttackGoal, GoalSetting, GoalTarget
from palaestra.envs.injections.part import AttackTrace, GoalPart, expect_said, expect_written, is_said
from palaestra.envs.injections.plant import find_injections, plant_injection
from palaestra.envs.injections.style import STYLES, InjectionStyle
from palaestra.envs.injections.task_injection import TaskInjection
from palaestra.envs.injections.trial import TaskTrials, play_calls, task_trials
from palaestra.envs.injections.victim import victim_calls

__all__ = [
    "STYLES",
    "AttackGoal",
    "AttackTrace",
    "GoalPart",
    "GoalSetting",
    "GoalTarget",
    "InjectionCarrier",
    "InjectionChoice",
    "InjectionPlace",
    "InjectionStyle",
    "TaskInjection",
    "TaskTrials",
    "WorldInjections",
    "check_injection",
    "expect_said",
    "expect_written",
    "find_injections",
    "is_said",
    "load_injections",
    "plant_injection",
    "play_calls",
    "request_carrier",
    "row_carrier",
    "task_trials",
    "victim_calls",
]

"""The score: the product of the parts of a task's reward basis, by the package's own evaluators."""

from collections.abc import Mapping, Sequence
from typing import Any

from palaestra.benchmarks.external.protocol import WireCheck, WireCriterion, WireVerdict
from palaestra.benchmarks.external.tau2.served import package
from palaestra.benchmarks.external.tau2.served.domains import Domain

_TEXTS = {
    "DB": "the databases are as after the solution",
    "ENV_ASSERTION": "the end state is as the task asserts",
    "COMMUNICATE": "the agent told what the user had to be told",
    "ACTION": "the calls of the solution were made",
}
_UNJUDGED = "NL_ASSERTION"
_REPLAY = "Tool call:"
"""How the package's complaint begins that a replay differs, which would be no fault of the agent's."""
STOPS = ("finished", "gave_up", "user_left")
"""Ends that the package scores; whatever else ended an episode scores nothing."""


def basis(task: Any) -> list[str]:
    """The parts that can be judged without a model. Any: the package's task."""
    return [part.value for part in task.evaluation_criteria.reward_basis if part.value != _UNJUDGED]


def criteria(task: Any) -> list[WireCriterion]:
    """The parts, which share the 100 points."""
    parts = basis(task)
    asserted = bool(task.evaluation_criteria.nl_assertions)
    left_out = len(parts) < len(task.evaluation_criteria.reward_basis)
    note = f"; {_UNJUDGED} needs a model and was left out ({'it asserts something' if asserted else 'it is empty'})"
    share = [100 // len(parts) + (number < 100 % len(parts)) for number in range(len(parts))]
    return [
        {"id": part, "text": _TEXTS[part] + (note if left_out else ""), "kind": "expect", "points": points}
        for part, points in zip(parts, share, strict=True)
    ]


def judge_episode(domain: Domain, task: Any, trajectory: Sequence[Any], end: str) -> WireVerdict:
    """What an episode is worth. Any: the package's objects.

    Args:
        domain: Where it was played.
        task: What was to be done.
        trajectory: Every message, with those that the task began with.
        end: Why it ended.
    """
    if end not in STOPS:
        reason = f"neither agent nor user ended it ({end}), which the benchmark scores with nothing"
        return _verdict({part: {"met": False, "reason": reason} for part in basis(task)})
    rewards = {part: _reward(part, domain, task, list(trajectory)) for part in basis(task)}
    return _verdict(rewards)


def _verdict(checks: dict[str, WireCheck]) -> WireVerdict:
    passed = all(check["met"] for check in checks.values())
    return {"points": 100 * passed, "passed": passed, "criteria": checks}


def _reward(part: str, domain: Domain, task: Any, trajectory: list[Any]) -> WireCheck:
    if part == "ACTION":
        info = package.ACTION.ActionEvaluator.calculate_reward(task, trajectory)
        missed = [check.action.name for check in info.action_checks or () if not check.action_match]
    elif part == "COMMUNICATE":
        info = package.COMMUNICATE.CommunicateEvaluator.calculate_reward(task, trajectory)
        missed = [check.info for check in info.communicate_checks or () if not check.met]
    else:
        try:
            info = package.ENV.EnvironmentEvaluator.calculate_reward(
                lambda solo_mode=False: domain.environment(task, solo_mode=solo_mode),
                task,
                trajectory,
                solo_mode=domain.solo,
            )
        except ValueError as error:
            if str(error).startswith(_REPLAY):
                raise
            # An assertion looked for what the agent was to make.
            return {"met": False, "reason": f"the package's assertion raised {type(error).__name__}: {error}"}
        missed = [check.env_assertion.func_name for check in info.env_assertions or () if not check.met]
    # Where nothing is to be checked, the package says so and breaks nothing down.
    parts: Mapping[Any, float] = info.reward_breakdown or {}
    reward = parts.get(package.TASKS.RewardType(part), info.reward)
    if reward == 1.0:
        return {"met": True, "reason": _TEXTS[part]}
    why = "the databases differ from those after the solution" if part == "DB" else f"missing: {', '.join(missed)}"
    return {"met": False, "reason": why}

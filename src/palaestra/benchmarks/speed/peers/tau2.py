"""tau2-bench: its retail environment called directly, and its mock domain through its Gymnasium wrapper.

Written for tau2 1.0.1. The work consists of the reference actions of tau2's own tasks. The wrapper needs a model that
plays the user, except in solo mode. The retail domain has no solo mode, so the wrapper is timed on the mock domain.
"""

import json
import os
from importlib import import_module
from itertools import islice
from typing import Any

from palaestra.benchmarks.speed.stopwatch import Stopwatch

BARE = "tau2 retail, get_response"
WRAPPED = "tau2 mock, its gym wrapper"

_STEPS = 4
"""Number of timed steps of the wrapper before the action that ends the episode."""
_EPISODES = 10


def unfit() -> str:
    """The reason why the installed version cannot be measured; empty where it can."""
    return ""


def measure(watch: Stopwatch, tasks: int) -> None:
    """Time making environments and answering the reference calls of `tasks` tasks; then time the Gymnasium wrapper."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else the import requests prices by network
    import_module("loguru").logger.disable("tau2")  # tau2 logs a line for each step
    _time_bare(watch, tasks)
    _time_wrapped(watch, min(tasks, _EPISODES))


def _time_bare(watch: Stopwatch, tasks: int) -> None:
    registry: Any = import_module("tau2.registry").registry
    call: Any = import_module("tau2.data_model.message").ToolCall
    make = registry.get_env_constructor("retail")
    for task in islice(registry.get_tasks_loader("retail")(), tasks):
        environment = watch.time(f"reset, {BARE}", make)
        for number, action in enumerate(task.evaluation_criteria.actions or ()):
            asked = call(id=str(number), name=action.name, arguments=action.arguments, requestor=action.requestor)
            watch.time(f"step, {BARE}", environment.get_response, asked)


def _time_wrapped(watch: Stopwatch, episodes: int) -> None:
    task = "update_task_1"
    env: Any = import_module("tau2.gym").AgentGymEnv("mock", task, solo_mode=True)
    action = json.dumps({"name": "update_task_status", "arguments": {"task_id": "task_1", "status": "completed"}})
    for _ in range(episodes):
        watch.time(f"reset, {WRAPPED}", env.reset)
        for _ in range(_STEPS):
            watch.time(f"step, {WRAPPED}", env.step, action)
        watch.time(f"last step, {WRAPPED}", env.step, json.dumps({"name": "done", "arguments": {}}))

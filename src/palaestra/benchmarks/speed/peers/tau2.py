"""tau2-bench: its retail environment called directly, and its mock domain through its own Gymnasium wrapper.

Written against tau2 1.0.1. The work is its own: the reference actions of its own tasks. The wrapper needs a model to
play the user except in solo mode, which the retail domain does not have; hence the mock domain.
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
"""How often the wrapper is stepped before it is told that all is done."""
_EPISODES = 10


def unfit() -> str:
    """Why the installed version cannot be measured; empty where it can."""
    return ""


def measure(watch: Stopwatch, tasks: int) -> None:
    """Time making an environment and answering the reference calls of `tasks` tasks, then the Gymnasium wrapper."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else importing it asks the network for prices
    import_module("loguru").logger.disable("tau2")  # it prints a line for each step
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

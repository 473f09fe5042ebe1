"""Code actions beside the same call as JSON: the cost of a fresh interpreter in a sandbox."""

from collections.abc import Sequence

from palaestra.agents import as_action
from palaestra.benchmarks.speed.stopwatch import Stopwatch
from palaestra.envs import ToolEnv
from palaestra.tools import FORMATS

BY_JSON = "action by JSON, one call"
BY_CODE = "action by code, one call"
MANY = 20
"""Number of calls in the program that measures the cost of one call inside code."""


def time_code_actions(watch: Stopwatch, env_id: str, task_ids: Sequence[str]) -> None:
    """Time each call of some oracles as JSON and as code, and programs without calls and with many calls.

    Raises:
        CapabilityError: this machine cannot run code in a sandbox.
    """
    by_json, by_code = ToolEnv(env_id, action_format="json"), ToolEnv(env_id, action_format="python")
    write = FORMATS.get("python").render
    for task_id in task_ids:
        by_json.reset(seed=0, options={"task": task_id})
        by_code.reset(seed=0, options={"task": task_id})
        first, *_ = by_json.oracle()
        watch.time("action by code, no call", by_code.step, "```python\npass\n```")
        watch.time(f"action by code, {MANY} calls", by_code.fork().step, write([first] * MANY))
        for call in by_json.oracle():
            watch.time(BY_JSON, by_json.step, as_action(call))
            watch.time(BY_CODE, by_code.step, write([call]))

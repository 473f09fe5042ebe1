"""What is taken from agentdojo, with its clock stopped."""

import datetime
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any

# Any: what is installed where this runs, and not where types are checked.
_SUITES: Any = import_module("agentdojo.task_suite.load_suites")
_ATTACKS: Any = import_module("agentdojo.attacks.attack_registry")
import_module("agentdojo.attacks")  # registers them
_PIPELINE: Any = import_module("agentdojo.agent_pipeline.agent_pipeline")
EXECUTION: Any = import_module("agentdojo.agent_pipeline.tool_execution")
FUNCTIONS: Any = import_module("agentdojo.functions_runtime")
MODELS: Any = import_module("agentdojo.models")
TASKS: Any = import_module("agentdojo.base_tasks")

BENCHMARK_VERSION = "v1.2.2"
NOW = datetime.datetime(2024, 5, 15, 12, 0)
"""Noon of the day that the suites call today; the package takes the machine's clock for what is sent or written."""
_CLOCKS = ("email_client", "cloud_drive_client")
for _name in _CLOCKS:  # both ask for `datetime.datetime.now()` and for nothing else of that module
    _module: Any = import_module(f"agentdojo.default_suites.v1.tools.{_name}")
    _module.datetime = SimpleNamespace(datetime=SimpleNamespace(now=lambda: NOW))

NO_ATTACK = "none"


def suites() -> Mapping[str, Any]:
    """The suites, by name."""
    found: Mapping[str, Any] = _SUITES.get_suites(BENCHMARK_VERSION)
    return found


def attacks() -> list[str]:
    """Those that need neither a model nor a person."""
    return [NO_ATTACK, *sorted(name for name in _ATTACKS.ATTACKS if name != "manual")]


def attack_on(name: str, suite: Any, victim: str) -> Any:
    """An attack of the package; `victim` is whom it speaks to."""
    return _ATTACKS.load_attack(name, suite, SimpleNamespace(name=victim))


def system_message() -> str:
    """What the package tells every agent first."""
    said: str = _PIPELINE.load_system_message(None)
    return said


@cache
def _default(suite: str) -> Any:
    """A suite's environment without injections, never written."""
    return suites()[suite].load_and_inject_default_environment({})


def environment(suite: str, injections: Mapping[str, str], user_task: Any) -> Any:
    """A user task's environment, of its own."""
    if injections:
        own = suites()[suite].load_and_inject_default_environment(dict(injections))
    else:
        own = _default(suite).model_copy(deep=True)
    return user_task.init_environment(own)

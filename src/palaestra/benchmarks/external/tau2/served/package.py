"""What is taken from tau2-bench, with its clock and its random ids stopped. Imported once its data folder is known."""

import hashlib
import sys
from importlib import import_module
from types import SimpleNamespace
from typing import Any

# Any: what is installed where this runs, and not where types are checked.
import_module("loguru").logger.remove()  # type: ignore[attr-defined,unused-ignore]
AGENT: Any = import_module("tau2.agent.llm_agent")
MESSAGES: Any = import_module("tau2.data_model.message")
TASKS: Any = import_module("tau2.data_model.tasks")
ENVIRONMENT: Any = import_module("tau2.environment.environment")
ACTION: Any = import_module("tau2.evaluator.evaluator_action")
COMMUNICATE: Any = import_module("tau2.evaluator.evaluator_communicate")
ENV: Any = import_module("tau2.evaluator.evaluator_env")
RETRIEVAL: Any = import_module("tau2.domains.banking_knowledge.retrieval")
_PIPELINE: Any = import_module("tau2.knowledge.pipeline")
_TELECOM_TOOLS: Any = import_module("tau2.domains.telecom.tools")


def domain_module(name: str) -> Any:
    """The package's module that builds a domain's environments."""
    return import_module(f"tau2.domains.{name}.environment")


def _drawn_id() -> Any:
    """In place of `uuid.uuid4()` where a bill gets its number: what it belongs to decides it, so that replays agree."""
    caller = sys._getframe(1).f_locals  # pyright: ignore[reportPrivateUsage]
    named = f"{caller['customer_id']}:{len(caller['self'].db.bills)}"
    return SimpleNamespace(hex=hashlib.sha256(named.encode()).hexdigest())


_TELECOM_TOOLS.uuid = SimpleNamespace(uuid4=_drawn_id)
_PIPELINE.time = SimpleNamespace(perf_counter=lambda: 0.0)  # searches tell how long they took

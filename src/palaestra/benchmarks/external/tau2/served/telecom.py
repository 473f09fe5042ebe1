"""Telecom's tasks where the checkout lacks them: composed anew as the package's own program does it.

That program composes 3,405 tasks and verifies each, which takes minutes; here only those that are asked for are.
"""

import contextlib
import io
import json
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from palaestra.benchmarks.external.tau2 import layout
from palaestra.benchmarks.external.tau2.served import package

_MANAGERS = {
    "mms_issues": "mms_issue_task_manager",
    "mobile_data_issues": "mobile_data_task_manager",
    "service_issues": "service_issues_task_manager",
}
_REBUILT = "palaestra_base_tasks.json"
"""Beside the links to the checkout's files."""


def base_tasks(folder: Path, ids: Sequence[str]) -> list[Any]:
    """The package's tasks of these ids, in any order.

    Args:
        folder: Where telecom's data is read from, and written where it was rebuilt.
        ids: The package's own.

    Raises:
        LookupError: the package composes no such task.
    """
    rebuilt, wanted = folder / _REBUILT, frozenset(ids)
    source = folder / "tasks.json" if (folder / "tasks.json").exists() else rebuilt
    if not source.exists():
        tasks = list(_compose(wanted))
        if lacking := wanted - {task.id for task in tasks}:
            raise LookupError(f"telecom composes no task {min(lacking)!r} (of {len(lacking)}); is it another version?")
        layout.write_json(rebuilt, [task.model_dump(mode="json") for task in tasks])
    rows = json.loads(source.read_text(encoding="utf-8"))
    return [package.TASKS.Task.model_validate(row) for row in rows if row["id"] in wanted]


def _compose(wanted: frozenset[str]) -> Iterator[Any]:
    """As `TaskManager.create_tasks`: shorter ones first, personas in turn. Any: the package's own objects."""
    compose: Any = import_module("tau2.domains.telecom.tasks.utils").compose_tasks
    personas = list(import_module("tau2.domains.telecom.tasks.const").PERSONAS)
    for module, name in _MANAGERS.items():
        manager: Any = getattr(import_module(f"tau2.domains.telecom.tasks.{module}"), name)
        with contextlib.redirect_stdout(io.StringIO()):  # it tells of each
            composed = sorted(
                compose(manager.selection_sets, manager.task_validator), key=lambda one: len(one.composed_from)
            )
            for number, one in enumerate(composed):
                persona = personas[number % len(personas)]
                if f"[{manager.name}]{one.name}[PERSONA:{persona}]" in wanted:
                    yield manager.create_task(one, persona)

"""One task in a process of its own: AppWorld keeps its databases, its clock and its guard for a whole process.

Run as a file, `python world.py TASK`, with `APPWORLD_ROOT` set. A request is a line of JSON on standard input,
`{"do": ..., ...}`; its answer is a line on what was standard output.
"""

import json
import os
import sys
from importlib import import_module
from typing import Any


class AppWorldTaskWorld:
    """A task under way. Any: the package's own objects, and JSON."""

    def __init__(self, task: str) -> None:
        package: Any = import_module("appworld")
        self._world: Any = package.AppWorld(task_id=task, experiment_name="palaestra")

    def execute(self, code: str, limit: int) -> dict[str, Any]:
        """Run code; what it prints, whether it failed, and whether the task was completed by it."""
        self._world.timeout_seconds = limit
        try:
            said = str(self._world.execute(code))
        except Exception as error:  # code that Python cannot even parse, such as one that is nested too deep
            self._world.safety_guard.disable()
            said = f"Execution failed. Traceback:\n{type(error).__name__}: {error}"
        failed = said.startswith("Execution failed. Traceback:")
        return {"said": said, "failed": failed, "completed": bool(self._world.task_completed())}

    def evaluate(self) -> dict[str, Any]:
        """What the task's own evaluator says of how things stand."""
        told: dict[str, Any] = self._world.evaluate().to_dict()
        self._world.models.reset_db_home_path()  # the evaluator may leave the databases of the beginning in use
        return told


def main(task: str) -> None:
    """Serve until nobody asks any more."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what the package prints is no answer
    world = AppWorldTaskWorld(task)
    answers.write(b'{"ready": true}\n')
    answers.flush()
    for line in requests:
        request: dict[str, Any] = json.loads(line)
        answers.write(json.dumps(getattr(world, request.pop("do"))(**request)).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    main(sys.argv[1])

"""The simulator of ScienceWorld: a Java process of its own for whoever asks, so that no two can touch each other."""

import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

# Any: what is installed where this runs, and not where types are checked.
SCIENCEWORLD: Any = import_module("scienceworld")
TASKS: tuple[str, ...] = tuple(task["task_name"] for task in import_module("scienceworld.constants").TASKS)

_ENDLESS = 1_000_000
"""Steps that the package's wrapper may not stop at: the budget is the environment's."""
_LEAVE = 5.0
"""Seconds that a Java process has to leave by itself."""


class Simulator:
    """One Java process."""

    def __init__(self) -> None:
        os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx1g")
        self._env: Any = SCIENCEWORLD.ScienceWorldEnv("", envStepLimit=_ENDLESS)
        self._process: Any = self._env._gateway.java_process  # the package has no other way to it
        self._open = True

    def load(self, task: str, variation: int, simplifications: str, *, gold: bool = False) -> str:
        """Begin a variation, and tell what is seen first."""
        self._env.load(task, variation, simplifications, gold)
        self._env.server.reset()
        return str(self._env.server.step("look around"))

    def step(self, action: str) -> str:
        """Do something, and tell what comes of it. The wrapper's own step lists all valid actions too: that is slow."""
        return str(self._env.server.step(action))

    @property
    def score(self) -> int:
        """Of 100; below 0 where the attempt has failed."""
        return round(100 * float(self._env.server.getScore()))

    @property
    def over(self) -> bool:
        """Whether the attempt has ended."""
        return bool(self._env.server.getCompleted()) or self.score < 0

    def description(self) -> str:
        """The task, in words."""
        return str(self._env.get_task_description())

    def templates(self) -> list[str]:
        """The forms of actions."""
        return [str(form) for form in self._env.get_possible_actions()]

    def valid(self) -> list[str]:
        """Actions that have an effect now, in a fixed order."""
        return sorted({str(action) for action in self._env.get_valid_action_object_combinations()})

    def gold(self) -> list[str]:
        """The solution, if the variation was loaded with it."""
        return [str(action) for action in self._env.get_gold_action_sequence()]

    def variations(self, task: str) -> dict[str, list[int]]:
        """The variations of a task, by split."""
        self._env.load(task, 0, "")
        return {
            "test": [int(n) for n in self._env.get_variations_test()],
            "dev": [int(n) for n in self._env.get_variations_dev()],
            "train": [int(n) for n in self._env.get_variations_train()],
        }

    def close(self) -> None:
        """End the process. Closing twice is fine."""
        if not self._open:
            return
        self._open = False
        with suppress(OSError):  # where it has gone already
            self._env.close()
        try:
            self._process.wait(_LEAVE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._env.close = _nothing  # the package closes again when it is forgotten


def _nothing() -> None:
    """Nothing is left to close."""


@contextmanager
def simulator() -> Generator[Simulator]:
    """A process for as long as the block runs."""
    one = Simulator()
    try:
        yield one
    finally:
        one.close()

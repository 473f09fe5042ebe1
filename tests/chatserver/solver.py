"""A model that solves tasks of a world, behind the server: it replays their own solutions, call by call.

It keeps nothing between two requests: the task is known by the words that open the chat, and how far the chat is by the
answers in it.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

from chatserver.answers import Deed, chat
from chatserver.server import Asked
from palaestra.envs import ToolEnv
from palaestra.records import ToolCall

_FAULTS = ("The arguments were no JSON object", "was cut off by its limit")


class Solver:
    """Answers each chat with the next call of the task's solution, and with `finish` behind the last.

    Args:
        env: A world of the tasks; it is reset to each of them.
        tasks: Their ids.
    """

    def __init__(self, env: ToolEnv, tasks: Sequence[str]) -> None:
        self._solutions: dict[str, tuple[ToolCall, ...]] = {}
        self._tasks: dict[str, str] = {}
        for task in tasks:
            messages, _ = env.reset(seed=0, options={"task": task})
            words = messages[-1]["content"]
            assert words not in self._tasks, "every task opens with words of its own"
            self._solutions[words], self._tasks[words] = env.oracle(), task

    def place(self, asked: Asked) -> tuple[str, int]:
        """The task of a chat, and how many calls of it have been answered."""
        messages: list[Mapping[str, Any]] = asked.body["messages"]
        words = next(m["content"] for m in messages if m["content"] in self._tasks)
        answers = [m["content"] for m in messages if m["role"] == "tool"]
        return self._tasks[words], sum(not any(fault in answer for fault in _FAULTS) for answer in answers)

    def call(self, asked: Asked) -> tuple[str, Mapping[str, Any]]:
        """The next call."""
        task, answered = self.place(asked)
        words = next(words for words, own in self._tasks.items() if own == task)
        solution = self._solutions[words]
        if answered < len(solution):
            return solution[answered].tool, solution[answered].arguments
        return "finish", {}

    def __call__(self, asked: Asked) -> Deed:
        """Make it."""
        return chat(None, self.call(asked))


class Faulty:
    """A solver whose answers go wrong now and then, and which counts how often.

    Each place of each task goes wrong at most once, so that a patient client comes through.

    Args:
        solver: What answers otherwise.
        faults: What goes wrong, by name, given the call that was to be made; the places take turns.
        every: One in so many places goes wrong.
    """

    def __init__(
        self, solver: Solver, faults: Mapping[str, Callable[[tuple[str, Mapping[str, Any]]], Deed]], *, every: int
    ) -> None:
        self._solver, self._faults, self._every = solver, faults, every
        self._met: set[tuple[str, int]] = set()
        self._lock = Lock()
        self.injected: Counter[str] = Counter()
        """How often each fault was."""

    def __call__(self, asked: Asked) -> Deed:
        """Answer, or go wrong."""
        place = self._solver.place(asked)
        call = self._solver.call(asked)
        with self._lock:
            met = place in self._met
            self._met.add(place)
            if met or len(self._met) % self._every:
                return chat(None, call)
            names = list(self._faults)
            name = names[self.injected.total() % len(names)]
            self.injected[name] += 1
        return self._faults[name](call)

"""The environments of an evaluation, kept for the next episode of their cell."""

import threading
from contextlib import suppress
from importlib import import_module

import gymnasium as gym

from palaestra.agents import Env
from palaestra.benchmarks.evaluation.suite import Cell


class EnvPool:
    """Environments by cell, for several threads."""

    def __init__(self) -> None:
        self._idle: dict[str, list[Env]] = {}
        self._lock = threading.Lock()

    def take(self, cell: Cell, *, fresh: bool = False) -> Env:
        """Take an environment of a cell, until it is given back or dropped.

        Args:
            cell: The cell.
            fresh: Whether it must be a new one.

        Raises:
            Exception: `gymnasium.make` cannot make it, for any reason.
        """
        with (
            self._lock
        ):  # also makes environments one after another: task files are modules, which threads must not import at once
            idle = self._idle.setdefault(cell.id, [])
            if idle and not fresh:
                return idle.pop()
            import_module("palaestra")
            return gym.make(cell.env_id, **cell.switches, disable_env_checker=True)

    def give_back(self, cell: Cell, env: Env) -> None:
        """Return an environment that can be used again."""
        with self._lock:
            self._idle[cell.id].append(env)

    def drop(self, env: Env) -> None:
        """Close an environment that failed."""
        with suppress(Exception):  # it is not used again anyway
            env.close()

    def close(self) -> None:
        """Close every environment that is not in use."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for env in (env for envs in idle.values() for env in envs):
            self.drop(env)

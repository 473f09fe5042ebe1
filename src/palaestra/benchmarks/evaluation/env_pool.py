"""The worlds of an evaluation, kept for the next episode of their cell."""

import threading
from contextlib import suppress
from importlib import import_module

import gymnasium as gym

from palaestra.agents import Env
from palaestra.benchmarks.evaluation.suite import Cell


class EnvPool:
    """Worlds by cell. Several threads may ask."""

    def __init__(self) -> None:
        self._idle: dict[str, list[Env]] = {}
        self._lock = threading.Lock()

    def take(self, cell: Cell, *, fresh: bool = False) -> Env:
        """A world of a cell, until it is given back or dropped.

        Args:
            cell: How it is made.
            fresh: Whether one that has been played in will not do.

        Raises:
            Exception: it cannot be made, for whatever reason `gymnasium.make` has.
        """
        with (
            self._lock
        ):  # which also makes one after the other: task files are modules, which threads must not race for
            idle = self._idle.setdefault(cell.id, [])
            if idle and not fresh:
                return idle.pop()
            import_module("palaestra")
            return gym.make(cell.env_id, **cell.switches, disable_env_checker=True)

    def give_back(self, cell: Cell, env: Env) -> None:
        """It may be played in again."""
        with self._lock:
            self._idle[cell.id].append(env)

    def drop(self, env: Env) -> None:
        """It failed and is of no more use."""
        with suppress(Exception):  # as it is of no more use anyway
            env.close()

    def close(self) -> None:
        """Free every one that is not being played in."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for env in (env for envs in idle.values() for env in envs):
            self.drop(env)

"""An author's view of a served episode: digests, solution and score from the server, the task from a local copy."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, cast

import gymnasium as gym

from palaestra.envs import Instance, TaskSet, ToolEnv, World, open_world
from palaestra.errors import CapabilityError
from palaestra.protocols import Action
from palaestra.records import Score, TaskSpec, ToolCall, ToolEvent
from palaestra.serving.client.author_records import read_calls, read_events, read_score, read_task
from palaestra.tools import Tool


class AuthorView(ABC):
    """The part of `ServedEnv` that needs a key for authors; with a lesser key, each method raises `KeyScopeError`.

    `world`, `task_set`, `offered_tools` and `instance` come from the world's pack, which must be registered locally
    too.
    """

    env_id: str
    view: str
    _switches: Mapping[str, Any]
    _copy: ToolEnv | None

    @abstractmethod
    def inspect(self, *parts: str, **choices: Any) -> dict[str, Any]:
        """Parts of the session, in the server's JSON. Any: JSON."""

    @property
    @abstractmethod
    def _is_playing(self) -> bool:
        """Whether an episode has begun and is not void."""

    @property
    def task(self) -> TaskSpec:
        """The task being played."""
        return read_task(self.inspect("task")["task"])

    def digest(self) -> str:
        """A hash of everything in the episode."""
        return str(self.inspect("digest")["digest"])

    def state_hash(self) -> str:
        """A hash of the rows."""
        return str(self.inspect("state_hash")["state_hash"])

    def anchor(self) -> str:
        """A hash of the rows and the current observation."""
        return str(self.inspect("anchor")["anchor"])

    def score(self) -> Score:
        """The rubric's judgement so far."""
        return read_score(self.inspect("score")["score"])

    @property
    def events(self) -> tuple[ToolEvent, ...]:
        """One event for every call of the episode."""
        return read_events(self.inspect("events")["events"])

    def oracle(self) -> tuple[ToolCall, ...]:
        """Calls that solve the task."""
        return read_calls(self.inspect("oracle")["oracle"])

    def legal_actions(self, count: int = 8, *, seed: int | None = None) -> list[Action]:
        """Calls that fit their schemas and whose ids exist.

        Args:
            count: The number of calls.
            seed: The random seed; `None` derives it from the state of the episode.
        """
        return cast("list[Action]", self.inspect("legal_actions", count=count, seed=seed)["legal_actions"])

    def table_ids(self, table: str) -> list[str]:
        """The ids of the present rows of a table."""
        return cast("list[str]", self.inspect("table_ids", table=table)["table_ids"])

    @property
    def world(self) -> World:
        """The world, from its pack."""
        return open_world(self.env_id)

    @property
    def surface(self) -> str:
        """The surface in use."""
        return self._local_env.surface

    @property
    def task_set(self) -> TaskSet:
        """The tasks of the world, from its pack."""
        return self._local_env.task_set

    @property
    def offered_tools(self) -> tuple[Tool, ...]:
        """The offered tools, from the world's pack."""
        return (self._local_episode if self._is_playing else self._local_env).offered_tools

    @property
    def instance(self) -> Instance:
        """The complete task being played, made here by the world's pack."""
        return self._local_episode.instance

    @property
    def _local_env(self) -> ToolEnv:
        """A local environment with the same switches."""
        if self.view != "author":
            raise CapabilityError("the session has the view of a player; connect with a key for authors")
        if self._copy is None:
            self._copy = cast("ToolEnv", gym.make(self.env_id, **self._switches, disable_env_checker=True).unwrapped)
        return self._copy

    @property
    def _local_episode(self) -> ToolEnv:
        """That environment at the beginning of the episode that the server plays."""
        copy, shown = self._local_env, self.inspect("task", "episode")
        task, seed = shown["task"]["id"], shown["episode"]["seed"]
        if copy._episode is None or (copy.task.id, copy.episode.seed) != (task, seed):
            copy.reset(seed=seed, options={"task": task})
        return copy

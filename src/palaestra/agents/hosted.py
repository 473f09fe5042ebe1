"""A world for remote callers: text actions in, plain records out, and every crash as a fault.

This module imports nothing heavy, so that a process that hosts worlds starts quickly and stays small.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from importlib import import_module
from typing import Any

import gymnasium as gym
import orjson

import palaestra
from palaestra.agents.rollout import Env, EpisodeRecorder
from palaestra.errors import EpisodeOverError, InfrastructureError, PalaestraError
from palaestra.record import record
from palaestra.records import EndReason, JsonObject, Message
from palaestra.steps import AgentView, ResetRecord
from palaestra.trajectory import Episode


@record
class WorldSpec:
    """The settings of a world, with which any process can make it."""

    env_id: str
    """The id in `gymnasium.make`."""
    action_format: str
    """The format in which a policy's text is read."""
    switches: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further arguments of `gymnasium.make`: task files, a surface, a handbook, noise."""
    place: str | None = None
    """The place of its world pack, so that any process can register it."""
    imports: tuple[str, ...] = ("palaestra",)
    """Modules that register environments, imported before the world is made."""

    def make(self) -> Env:
        """The environment."""
        for module in self.imports:
            import_module(module)
        if self.place is not None:
            palaestra.register_world(self.place, env_id=self.env_id)
        return gym.make(self.env_id, **self.switches, action_format=self.action_format, disable_env_checker=True)


class HostedEnv:
    """An environment that plays one episode after another.

    Args:
        spec: The settings of the environment.

    Raises:
        Exception: it cannot be made; any error of `gymnasium.make`.
    """

    def __init__(self, spec: WorldSpec) -> None:
        self._spec = spec
        self._env = spec.make()
        self._recording: EpisodeRecorder | None = None
        self._task = ""

    def reset(self, task: str, seed: int) -> ResetRecord:
        """Begin an episode.

        Raises:
            InfrastructureError: the environment crashed.
            UnknownNameError: there is no such task.
            TaskError: the task breaks a rule.
        """
        self._recording, self._task = None, task
        try:
            self._recording = EpisodeRecorder(self._env, agent="policy", seed=seed, task=task)
        except PalaestraError:
            raise
        except Exception as error:
            raise self._crash("reset", error) from error
        return self._recording.opening

    def step(self, text: str) -> AgentView:
        """Take one turn; a change of the offered tools is announced in the messages.

        Raises:
            InfrastructureError: the world failed or crashed; the episode is void.
            EpisodeOverError: there is no episode, or it is over.
        """
        recording = self._active_recorder
        if recording.over:
            raise EpisodeOverError(f"step of {self._place(recording)}, which is over; reset the world first")
        before = recording.offered
        try:
            recording.step(text)
        except Exception as error:
            recording.fault = self._crash("step", error)
            raise recording.fault from error
        if recording.fault is not None:
            raise recording.fault
        return AgentView(
            messages=(*recording.observation, *_announce(before, recording.offered)),
            end=recording.end,
        )

    def stop(self, reason: EndReason) -> None:
        """End the episode from outside; the world judges it as ended so.

        Raises:
            InfrastructureError: the world could not give its state; the episode is void.
            EpisodeOverError: there is no episode.
        """
        recording = self._active_recorder
        try:
            recording.stop(reason)
        except Exception as error:
            recording.fault = self._crash("score", error)
            raise recording.fault from error

    def episode(self) -> Episode:
        """The episode so far.

        Raises:
            EpisodeOverError: no episode has begun.
        """
        return self._active_recorder.episode()

    def close(self) -> None:
        """Close the environment."""
        self._recording = None
        self._env.close()

    @property
    def _active_recorder(self) -> EpisodeRecorder:
        if self._recording is None:
            raise EpisodeOverError("no episode has begun in this world; reset it first")
        return self._recording

    def _place(self, recording: EpisodeRecorder | None) -> str:
        return f"{self._spec.env_id}, task {self._task!r}, turn {recording.turns if recording else 0}"

    def _crash(self, what: str, error: Exception) -> InfrastructureError:
        return InfrastructureError(
            f"{self._place(self._recording)}: {what} raised {type(error).__name__}: {error}; "
            "a world that raises is at fault, and its episode is void"
        )


def _announce(before: Sequence[JsonObject], now: Sequence[JsonObject]) -> tuple[Message, ...]:
    """The message about newly offered tools: a policy got the earlier schemas at the beginning, as text."""
    if now == before:  # almost always, and much faster than a search for each tool
        return ()
    new = [tool for tool in now if tool not in before]
    if not new:
        return ()
    return (Message(role="system", content=f"Further tools are on offer now: {orjson.dumps(new).decode()}"),)

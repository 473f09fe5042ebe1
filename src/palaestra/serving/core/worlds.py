"""The worlds that a server serves: how their environments are made, and the handles of their tasks."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from hashlib import blake2b
from typing import Any

import gymnasium as gym

from palaestra.envs import ToolEnv
from palaestra.errors import CapabilityError, RequestError, SessionError, UnknownNameError
from palaestra.record import record

SWITCHES = frozenset(
    {
        *("action_format", "handbook", "injection", "max_turns", "noise", "reward", "split", "stakes", "surface"),
        *("surface_settings", "temper", "wording"),
    }
)
"""The switches of authors. Folders, packs and users are not among them: they are code or files on the server."""


@record
class ServedWorld:
    """A world that the server offers."""

    name: str
    """The name that clients use, such as "storefront"."""
    env_id: str
    """The id for `gymnasium.make`."""
    switches: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The default switches of sessions. Any: arguments of `gymnasium.make`."""
    shows_reward: bool = False
    """Whether players see rewards by default."""


class TaskHandles:
    """Opaque names of tasks: a keyed hash of the id, the same for everybody as long as the secret stays.

    Args:
        secret: The secret key; without it nobody can compute the handle of an id.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._ids: dict[tuple[str, str], dict[str, str]] = {}

    def handle(self, task: str) -> str:
        """The handle of a task."""
        return blake2b(task.encode(), key=self._secret[:64], digest_size=12).hexdigest()

    def handles(self, env: ToolEnv, split: str) -> Mapping[str, str]:
        """The ids of the tasks of a split, by handle."""
        place = (env.env_id, split)
        if place not in self._ids:
            self._ids[place] = {self.handle(task): task for task in env.task_set.ids(split)}
        return self._ids[place]


class ServedWorlds:
    """All worlds that the server offers.

    Args:
        worlds: The worlds; no two share a name.
        secret: The secret of task handles.

    Raises:
        ValueError: two worlds share a name, or there is no world.
        CapabilityError: an id is not an environment that can be served.
    """

    def __init__(self, worlds: Sequence[ServedWorld], *, secret: bytes) -> None:
        self._worlds = {world.name: world for world in worlds}
        if len(self._worlds) != len(worlds) or not worlds:
            raise ValueError(f"{len(worlds)} worlds with {len(self._worlds)} names: give each world a name of its own")
        self.task_handles = TaskHandles(secret)
        # Made once now, so that a broken world fails at the start and not for the first client.
        self._first = {world.name: self.make(world, {}) for world in worlds}

    def __iter__(self) -> Any:
        return iter(self._worlds.values())

    def find(self, name: str) -> ServedWorld:
        """The world with a name.

        Raises:
            SessionError: this server serves no such world.
        """
        if name not in self._worlds:
            raise SessionError(f"this server serves no world {name!r}; it serves {', '.join(sorted(self._worlds))}")
        return self._worlds[name]

    def make(self, world: ServedWorld, switches: Mapping[str, Any]) -> ToolEnv:
        """An environment for one session.

        Raises:
            RequestError: a switch does not exist, or cannot have this value.
            CapabilityError: the world does not declare it.
        """
        for name in switches:
            if name not in SWITCHES:
                raise RequestError(f"switch {name!r}: a session has {', '.join(sorted(SWITCHES))}")
        chosen = {**world.switches, **switches}
        try:
            env = gym.make(world.env_id, **chosen, disable_env_checker=True).unwrapped
        except (TypeError, ValueError, UnknownNameError) as error:
            if isinstance(error, CapabilityError):
                raise
            raise RequestError(f"{world.name}: {error}") from error
        if not isinstance(env, ToolEnv):
            raise CapabilityError(f"{world.env_id} cannot be served: its episodes do not fork; choose another world")
        return env

    def split(self, world: ServedWorld, switches: Mapping[str, Any]) -> str:
        """The split that sessions with these switches draw tasks from."""
        split: str | None = {**world.switches, **switches}.get("split")
        return self._first[world.name].task_set.splits[0] if split is None else split

    def handles(self, world: ServedWorld, split: str) -> Mapping[str, str]:
        """The ids of the tasks of a split, by handle.

        Raises:
            RequestError: the world has no such split.
        """
        try:
            return self.task_handles.handles(self._first[world.name], split)
        except (CapabilityError, UnknownNameError) as error:
            raise RequestError(str(error)) from error

"""`palaestra/Served-v0`: a world on a server as a Gymnasium environment.

State
    The world's state is on the server. The client holds the last observation and the names of session and snapshots.
Actions, observations, ends, seeds
    Those of the served world (`palaestra.envs.ToolEnv`). Equal seeds and actions give equal episodes.
Reward
    That of the served world. If the session's creator hides rewards, each is NaN, so that nobody learns from zeros.
Faults
    A fault of the world, an unreachable server and a lost session raise `InfrastructureError`. The episode is void. The
    next `reset` begins a new one, in a new session if the old one is gone.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

import gymnasium as gym

from palaestra.envs.spaces import MessageSpace
from palaestra.errors import (
    ConfigError,
    EpisodeOverError,
    RequestError,
    UnknownNameError,
)
from palaestra.protocols import Action
from palaestra.record import record
from palaestra.records import EndReason, JsonObject, Message, ToolEvent
from palaestra.secret import SecretText
from palaestra.serving.client.author_records import AuthorRecords, read_events, read_tools
from palaestra.serving.client.author_view import AuthorView
from palaestra.serving.client.connection import ServerConnection
from palaestra.serving.client.hidden_key import HiddenKeySpec
from palaestra.serving.client.schema_space import SchemaSpace
from palaestra.serving.client.session import ClientSession, find_world
from palaestra.serving.core.action_text import write_action
from palaestra.steps import Returned
from palaestra.tools import FORMATS, read_action

_LARGEST_SEED = 2**63 - 1


@record
class ServedSnapshot:
    """The name of a snapshot on a server, and for authors some facts about it. It can be pickled."""

    id: str
    turn: int
    max_turns: int | None = None
    elapsed: int | None = None
    answer: JsonObject | None = None
    end: EndReason | None = None
    events: tuple[ToolEvent, ...] | None = None


class ServedEnv(HiddenKeySpec, AuthorView, gym.Env[tuple[Message, ...], Action]):  # pyright: ignore[reportIncompatibleVariableOverride]
    """A world on a server, one episode at a time; see the module's text.

    Args:
        env_id: The registered id, "palaestra/Served-v0".
        url: The server, such as "http://127.0.0.1:8765".
        world: The name of one of its worlds; may be `None` if it serves only one.
        key: The key; `None` reads the environment variable `PALAESTRA_KEY`, if it is set.
        view: "author" for full records, "play" for what a player sees; `None` for as much as the key allows.
        task: The task of every episode: a handle, or for authors an id.
        action_format: How text is read.
        lease: Seconds without a call after which the server closes the session; `None` for its own setting.
        session: An existing session to play: one that an author made for the key's owner, or the owner's own; `None`
            makes a new one. Its creator's settings apply, so leave out world, view, lease, player, show_reward and
            switches.
        player: For authors: another owner who may play the session, and sees it as a player.
        show_reward: For authors: whether a player of the session sees rewards; `None` for the server's setting.
        timeout: Maximum seconds per attempt of a request.
        render_mode: "ansi" for text, or `None`.
        switches: For authors: arguments of the world's own environment, such as split, surface, noise and handbook.

    Raises:
        ConfigError: the address is invalid, the server serves several worlds and `world` is `None`, or an argument is
            set that the creator of `session` chose.
        AccessError: the key is missing, wrong or expired, or too small for the switches.
        RequestError: a switch does not exist, or cannot have this value.
        SessionError: the key's owner has no such `session`.
        ServerError: the server cannot be reached.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"], "render_fps": 1}  # type: ignore[misc]

    def __init__(
        self,
        env_id: str = "palaestra/Served-v0",
        *,
        url: str,
        world: str | None = None,
        key: str | None = None,
        view: str | None = None,
        task: str | None = None,
        action_format: str = "hermes",
        lease: float | None = None,
        session: str | None = None,
        player: str | None = None,
        show_reward: bool | None = None,
        timeout: float = 60.0,
        render_mode: str | None = None,
        **switches: Any,
    ) -> None:
        del env_id  # the registry's id; `self.env_id` is the served world's
        if render_mode not in (None, "ansi"):
            raise UnknownNameError.of("render mode", str(render_mode), ["ansi"])
        self.render_mode = render_mode
        self._switches: Mapping[str, Any] = {"action_format": action_format, **switches}
        self._task_id = task
        self._copy = None
        self._played: str | None = None
        """The session of the running episode."""
        self._observation: tuple[Message, ...] = ()
        self.connection = ServerConnection(url, key=None if key is None else SecretText(key), timeout=timeout)
        settings: dict[str, Any] = {"view": view, "lease": lease, "player": player}
        created: dict[str, Any]
        try:
            if session is None:
                name, self.env_id = find_world(self.connection, world)
                settings |= {"world": name, "action_format": action_format, "reward": show_reward}
                if switches:
                    settings["switches"] = switches
                self.session = ClientSession(self.connection, settings)
                created = self.session.create(tools=True)
            else:  # its tools come with the first reset
                _check_left_out(session, {"world": world, **settings, "show_reward": show_reward, **switches})
                self.session = ClientSession(self.connection, None)
                created = {**self.session.join(session), "tools": []}
                _, self.env_id = find_world(self.connection, str(created["world"]))
        except BaseException:
            self.connection.close()
            raise
        self.view = str(created["view"])
        self._records = AuthorRecords(self.world) if self.view == "author" else None
        self.action_space = SchemaSpace(read_tools(created["tools"]), FORMATS.get(action_format))
        self.observation_space = MessageSpace()

    def _fork(self, session: ClientSession) -> "ServedEnv":
        """A copy that plays another session, without the parts that cannot be shared."""
        copy = type(self).__new__(type(self))
        vars(copy).update(vars(self))
        copy.session = session
        # A generator advances with each draw, and a local copy of the world holds one task at a time.
        copy._np_random = None
        copy._copy = None
        copy._played = None
        assert isinstance(self.action_space, SchemaSpace), "it is ours"
        copy.action_space = self.action_space.fork()
        copy.observation_space = MessageSpace()
        return copy

    @property
    def _is_playing(self) -> bool:
        return self._played is not None and self._played == self.session.id

    # Gymnasium

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[tuple[Message, ...], dict[str, Any]]:
        """Begin an episode, like `ToolEnv.reset`. `options={"task": ...}` takes a handle, or for authors an id.

        Raises:
            UnknownNameError: an option is unknown.
            ValueError: the seed is below 0.
            RequestError: there is no such task, or the seed is above 2**63 - 1.
            InfrastructureError: the world failed, or the server cannot be reached.
        """
        return self._begin(self.session.reset(self._reset_item(seed, options)))

    def _reset_item(self, seed: int | None, options: Mapping[str, Any] | None) -> dict[str, Any]:
        """The item of `reset`, without the session."""
        if seed is not None and seed < 0:
            raise ValueError(f"seed={seed}: seeds are 0 or above")
        if seed is not None and seed > _LARGEST_SEED:
            raise RequestError(f"seed={seed}: a server takes seeds up to {_LARGEST_SEED}")
        super().reset(seed=seed)
        for option in options or {}:
            if option != "task":
                raise UnknownNameError.of("reset option", option, ["task"])
        if seed is None:
            seed = int(self.np_random.integers(2**31))
        task = (options or {}).get("task", self._task_id)
        return {"seed": seed, "task": task, "request": self.connection.request_key()}

    def _begin(self, shown: dict[str, Any]) -> tuple[tuple[Message, ...], dict[str, Any]]:
        """Begin the episode that the server shows."""
        self._played = self.session.id
        if self._records is not None:
            record = self._records.read_reset(shown["record"])
            self._observation = record.messages
            self._offer(record.tools)
            return record.to_gymnasium()
        self._observation = _read_messages(shown["messages"])
        tools = read_tools(shown["tools"])
        self._offer(tools)
        return self._copy_observation(), {"tools": tools.fresh(), "task": shown["task"], "seed": shown["seed"]}

    def _offer(self, tools: Any) -> None:
        assert isinstance(self.action_space, SchemaSpace), "it is ours"
        self.action_space.offer(tools)

    def step(self, action: Action) -> Returned:
        """Take one turn, like `ToolEnv.step`.

        Raises:
            EpisodeOverError: there is no episode, or it has ended.
            ActionError: `action` is not an action.
            RequestError: it holds something that is not JSON, such as bytes or a set.
            SessionLostError: the server has closed the session or was restarted; the episode is void.
            InfrastructureError: the world failed, or the server cannot be reached; the episode is void.
        """
        return self._take_step(self.session.ask("step", **self._step_item(action)))

    def _step_item(self, action: Action) -> dict[str, Any]:
        """The item of `step`, without the session; nothing is sent yet.

        Raises:
            EpisodeOverError: there is no episode.
            ActionError: `action` is not an action.
            RequestError: it holds something that is not JSON.
        """
        if not self._is_playing:
            raise EpisodeOverError("step before reset; call env.reset() to begin an episode")
        read_action(action)  # an invalid action is refused here, with the message of a local environment
        return {**write_action(action), "request": self.connection.request_key()}

    def _take_step(self, shown: dict[str, Any]) -> Returned:
        """Apply the turn that the server shows."""
        if self._records is not None:
            record = self._records.read_step(shown["record"])
            self._observation = record.messages
            if record.tools is not None:
                self._offer(record.tools)
            return record.to_gymnasium()
        return self._player_step(shown)

    def end_episode(self, reason: EndReason = EndReason.TOKEN_BUDGET) -> int | None:
        """End the episode from outside, for a budget that the world does not know. The server counts it.

        Args:
            reason: Which budget: `TOKEN_BUDGET` or `TIME_BUDGET`. An episode that has ended stays unchanged.

        Returns:
            The score in points; `None` if the session's creator hides rewards.

        Raises:
            EpisodeOverError: there is no episode, or it is void.
            InfrastructureError: the world failed, or the server cannot be reached; the episode is void.
        """
        shown = self.session.ask("end", reason=reason, request=self.connection.request_key())
        self._played = None
        points: int | None = shown.get("points")
        return points

    def _player_step(self, shown: dict[str, Any]) -> Returned:
        self._observation = _read_messages(shown["messages"])
        end = None if shown["end"] is None else EndReason(shown["end"])
        info: dict[str, Any] = {"end": end, "unreadable": shown["unreadable"], "turn": shown["turn"]}
        if "tools" in shown:
            tools = read_tools(shown["tools"])
            self._offer(tools)
            info["tools"] = tools.fresh()
        is_over = end is not None and end.terminates
        return (
            self._copy_observation(),
            float(shown.get("reward", "nan")),
            is_over,
            end is not None and not is_over,
            info,
        )

    def _copy_observation(self) -> tuple[Message, ...]:
        return tuple(message.copy() for message in self._observation)

    def render(self) -> str:
        """The observation as text."""
        return "\n".join(f"[{m.get('name', m['role'])}] {m['content']}" for m in self._observation)

    def close(self) -> None:
        """Close the session, and the connection if no fork uses it. Closing twice is allowed."""
        self.session.close()

    # Snapshots, forks and sessions

    def snapshot(self) -> ServedSnapshot:
        """Take a snapshot, which stays on the server. The server drops one that is not restored for a long time.

        Raises:
            EpisodeOverError: no episode has begun.
        """
        shown = self.session.ask("snapshot", request=self.connection.request_key())
        events = None if "events" not in shown else read_events(shown["events"])
        end = shown.get("end")
        return ServedSnapshot(
            id=shown["snapshot"],
            turn=shown["turn"],
            max_turns=shown.get("max_turns"),
            elapsed=shown.get("elapsed"),
            answer=shown.get("answer"),
            end=None if end is None else EndReason(end),
            events=events,
        )

    def restore(self, snapshot: ServedSnapshot) -> None:
        """Restore `snapshot`, taken in this session or another one of the same creator and switches.

        Raises:
            SessionError: the server has dropped it.
            RequestError: it does not fit the session.
        """
        if self.session.id is None:
            self.session.create()
        shown = self.session.ask("restore", snapshot=snapshot.id, request=self.connection.request_key())
        self._observation = _read_messages(shown["messages"])
        self._played = self.session.id

    def drop(self, snapshot: ServedSnapshot) -> None:
        """Drop a snapshot on the server."""
        self.connection.call("drop", {"snapshot": snapshot.id})

    def fork(self) -> "ServedEnv":
        """An independent environment in the same state, with a session of its own.

        Raises:
            EpisodeOverError: no episode has begun.
            LimitError: the owner has reached the limit of sessions.
        """
        copy = self._fork(self.session.fork())
        if self._is_playing:
            copy._played = copy.session.id
        return copy

    def heartbeat(self) -> float:
        """Renew the lease of the session while nothing is played; return its seconds.

        Raises:
            SessionLostError: the session is gone.
        """
        return float(self.session.ask("heartbeat")["lease"])

    @property
    def session_id(self) -> str:
        """The name of the session; the player that its author named joins the session by it.

        Raises:
            EpisodeOverError: the environment is closed.
        """
        return self.session.open_id

    @property
    def mcp_url(self) -> str:
        """The address at which an MCP client plays the session, with a key of its player.

        Raises:
            EpisodeOverError: the environment is closed.
        """
        return f"{self.connection.url}/v1/mcp/{self.session.open_id}"

    def inspect(self, *parts: str, **choices: Any) -> dict[str, Any]:
        """Parts of the session, for authors. Any: JSON.

        Args:
            parts: Such as "digest", "score", "oracle", "events" and "task".
            choices: Arguments of parts: `table`, `count`, `seed`.
        """
        return self.session.ask("inspect", parts=parts, **choices)


def _check_left_out(session: str, settings: Mapping[str, object]) -> None:
    """Check that no setting is given that the creator of a session chose.

    Raises:
        ConfigError: one is given.
    """
    stated = [f"{name}=" for name, value in settings.items() if value is not None]
    if stated:
        raise ConfigError(f"{', '.join(stated)}: session {session} has what its creator chose; leave it out")


def _read_messages(shown: list[Any]) -> tuple[Message, ...]:
    return tuple(cast("list[Message]", shown))

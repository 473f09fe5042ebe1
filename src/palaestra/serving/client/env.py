"""`palaestra/Served-v0`: a world on a server as a Gymnasium environment.

State
    The world's, on the server. Here are the last observation and the names of session and snapshots.
Actions, observations, ends, seeds
    As of the served world (`palaestra.envs.ToolEnv`). Equal seeds and actions give equal episodes.
Reward
    As of the served world. Where the session's creator hides rewards, each is NaN, so that nobody learns from zeros.
Faults
    A fault of the world, a server that cannot be reached and a session that is lost are `InfrastructureError`s. The
    episode is void. The next `reset` begins a new one, in a new session where the old one is gone.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

import gymnasium as gym

from palaestra.envs.spaces import MessageSpace
from palaestra.errors import (
    ConfigError,
    EpisodeOverError,
    PalaestraError,
    RequestError,
    SessionError,
    SessionLostError,
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
from palaestra.serving.core.action_text import write_action
from palaestra.steps import Returned
from palaestra.tools import FORMATS, read_action

_LARGEST_SEED = 2**63 - 1


@record
class ServedSnapshot:
    """The name of a snapshot on a server, and for authors some facts of it. It pickles."""

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
        world: Which of its worlds, by name; `None` where it serves one alone.
        key: The key; `None` for that of the environment variable `PALAESTRA_KEY`, if it is set.
        view: "author" for full records, "play" for what a player sees; `None` for as much as the key allows.
        task: A task that every episode plays: a handle, or for authors an id.
        action_format: How text is read.
        lease: Seconds without a call after which the server closes the session; `None` for its own setting.
        session: A session to play that an author has made for the key's owner, or one's own; `None` makes a new one. It
            keeps what its creator chose: leave world, view, lease, player, show_reward and switches out.
        player: For authors: another owner who may play the session, and sees it as a player.
        show_reward: For authors: whether a player of the session is shown rewards; `None` for the server's setting.
        timeout: Seconds that one try of a request may take.
        render_mode: "ansi" for text, or `None`.
        switches: For authors: what the world's own environment takes, such as split, surface, noise and handbook.

    Raises:
        ConfigError: the address is none, the server serves several worlds and `world` names none, or something is set
            that the creator of `session` chose.
        AccessError: the key is missing, wrong or expired, or too small for the switches.
        RequestError: a switch is none, or has no such value.
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
        del env_id  # of the registry; `self.env_id` is the served world's
        if render_mode not in (None, "ansi"):
            raise UnknownNameError.of("render mode", str(render_mode), ["ansi"])
        self.render_mode = render_mode
        self.connection = ServerConnection(url, key=None if key is None else SecretText(key), timeout=timeout)
        self._sharers = [0]
        self._switches: Mapping[str, Any] = {"action_format": action_format, **switches}
        self._task_id = task
        self._copy = None
        self._session: str | None = None
        self._is_playing = False
        self._observation: tuple[Message, ...] = ()
        creation: dict[str, Any] = {"view": view, "lease": lease, "player": player}
        self._creation: dict[str, Any] | None = None
        created: dict[str, Any]
        try:
            if session is None:
                name, self.env_id = self._find_world(world)
                self._creation = {**creation, "world": name, "action_format": action_format, "reward": show_reward}
                if switches:
                    self._creation["switches"] = switches
                created = self._create(tools=True)
            else:  # its tools come with the first reset
                _check_left_out(session, {"world": world, **creation, "show_reward": show_reward, **switches})
                created = {**self._find_session(session), "tools": []}
                _, self.env_id = self._find_world(str(created["world"]))
                self._hold(created)
        except BaseException:
            self.connection.close()
            raise
        self.view = str(created["view"])
        self._records = AuthorRecords(self.world) if self.view == "author" else None
        self.action_space = SchemaSpace(read_tools(created["tools"]), FORMATS.get(action_format))
        self.observation_space = MessageSpace()

    def _find_session(self, session: str) -> dict[str, Any]:
        """What the server lists of a session that was made for the key's owner, or by them. Any: JSON."""
        for one in self.connection.get("sessions")["sessions"]:
            if one["session"] == session:
                return dict(one)
        raise SessionError(f"there is no session {session!r} for this key; its author names the player by `player=`")

    def _find_world(self, name: str | None) -> tuple[str, str]:
        """Name and environment id of the served world."""
        served: dict[str, str] = {one["name"]: one["env_id"] for one in self.connection.get("worlds")["worlds"]}
        if name is None and len(served) == 1:
            name = next(iter(served))
        if name is None:
            raise ConfigError(f"{self.connection.url} serves {', '.join(sorted(served))}; give world=")
        if name not in served:
            raise UnknownNameError.of("served world", name, served)
        return name, served[name]

    def _create(self, *, tools: bool = False) -> dict[str, Any]:
        if self._creation is None:
            raise SessionLostError("the session is gone; ask its author for another one")
        item = {**self._creation, "tools": tools, "request": self.connection.request_key()}
        created = self.connection.call("create", item)
        self._hold(created)
        return created

    def _hold(self, created: dict[str, Any]) -> None:
        self._session = str(created["session"])
        self._sharers[0] += 1

    def _siblings(self, count: int) -> list["ServedEnv"]:
        """Further environments like this one that share its connection, each with a session of its own.

        Raises:
            PalaestraError: the server refuses one; those that were made are closed by their leases.
        """
        made: list[ServedEnv] = []
        if self._creation is None and count:
            raise ConfigError(f"session=: {count + 1} environments cannot play one session; leave session out")
        items = [
            {**(self._creation or {}), "tools": False, "request": self.connection.request_key()} for _ in range(count)
        ]
        for created in self.connection.call_all("create", items) if items else ():
            if isinstance(created, PalaestraError):
                raise created
            sibling = self._make_sibling()
            sibling._hold(created)
            made.append(sibling)
        return made

    def _make_sibling(self) -> "ServedEnv":
        """A copy without what moves or is at one place at a time."""
        copy = type(self).__new__(type(self))
        vars(copy).update(vars(self))
        # A generator moves when drawn from, and a copy of the world is at one task at a time.
        copy._np_random = None
        copy._copy = None
        copy._is_playing = False
        assert isinstance(self.action_space, SchemaSpace), "it is ours"
        copy.action_space = self.action_space.fork()
        copy.observation_space = MessageSpace()
        return copy

    def _let_go(self) -> None:
        """Have no session any more."""
        self._session = None
        self._is_playing = False
        self._sharers[0] -= 1

    # Gymnasium

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[tuple[Message, ...], dict[str, Any]]:
        """Begin an episode; as `ToolEnv.reset`. `options={"task": ...}` takes a handle, or for authors an id.

        Raises:
            UnknownNameError: an option is unknown.
            ValueError: the seed is below 0.
            RequestError: there is no such task, or the seed is above 2**63 - 1.
            InfrastructureError: the world failed, or the server cannot be reached.
        """
        return self._begin(self._reset_session(self._reset_item(seed, options)))

    def _reset_item(self, seed: int | None, options: Mapping[str, Any] | None) -> dict[str, Any]:
        """What `reset` asks for, without the session."""
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
        self._is_playing = True
        if self._records is not None:
            record = self._records.read_reset(shown["record"])
            self._observation = record.messages
            self._offer(record.tools)
            return record.to_gymnasium()
        self._observation = _read_messages(shown["messages"])
        tools = read_tools(shown["tools"])
        self._offer(tools)
        return self._copy_observation(), {"tools": tools.fresh(), "task": shown["task"], "seed": shown["seed"]}

    def _reset_session(self, item: dict[str, Any]) -> dict[str, Any]:
        """Reset the session, or a new one where it is gone: its lease may have expired between two episodes."""
        if self._session is not None:
            try:
                return self.connection.call("reset", {"session": self._session, **item})
            except (SessionError, SessionLostError):
                self._let_go()
        self._create()
        return self.connection.call("reset", {"session": self._session, **item})

    def _offer(self, tools: Any) -> None:
        assert isinstance(self.action_space, SchemaSpace), "it is ours"
        self.action_space.offer(tools)

    def step(self, action: Action) -> Returned:
        """Take one turn; as `ToolEnv.step`.

        Raises:
            EpisodeOverError: there is no episode, or it has ended.
            ActionError: `action` is no action.
            RequestError: it holds what is no JSON, such as bytes or a set.
            SessionLostError: the server has closed the session or was restarted; the episode is void.
            InfrastructureError: the world failed, or the server cannot be reached; the episode is void.
        """
        return self._take_step(self._ask("step", **self._step_item(action)))

    def _step_item(self, action: Action) -> dict[str, Any]:
        """What `step` asks for, without the session; nothing is sent yet.

        Raises:
            EpisodeOverError: there is no episode.
            ActionError: `action` is no action.
            RequestError: it holds what is no JSON.
        """
        if not self._is_playing:
            raise EpisodeOverError("step before reset; call env.reset() to begin an episode")
        read_action(action)  # what is none is refused here, in the words of an environment in process
        return {**write_action(action), "request": self.connection.request_key()}

    def _take_step(self, shown: dict[str, Any]) -> Returned:
        """Take in the turn that the server shows."""
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
            reason: Which budget: `TOKEN_BUDGET` or `TIME_BUDGET`. An episode that has ended stays as it is.

        Returns:
            The score in points; `None` where the session's creator hides rewards.

        Raises:
            EpisodeOverError: there is no episode, or it is void.
            InfrastructureError: the world failed, or the server cannot be reached; the episode is void.
        """
        shown = self._ask("end", reason=reason, request=self.connection.request_key())
        self._is_playing = False
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
        """Close the session, and the connection where no fork uses it. Closing twice is fine."""
        session = self._session
        if session is None:
            return
        self._let_go()
        try:
            self.connection.call("close", {"session": session})
        except (SessionError, SessionLostError):
            pass  # the server has closed it before
        finally:
            if self._sharers[0] == 0:
                self.connection.close()

    # Where the episode goes on

    def snapshot(self) -> ServedSnapshot:
        """A snapshot, which stays on the server. One that is not restored for long is dropped there.

        Raises:
            EpisodeOverError: no episode has begun.
        """
        shown = self._ask("snapshot", request=self.connection.request_key())
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
        """Go to where `snapshot` was taken, in this session or another one of the same creator and switches.

        Raises:
            SessionError: the server has dropped it.
            RequestError: it does not fit the session.
        """
        if self._session is None:
            self._create()
        shown = self._ask("restore", snapshot=snapshot.id, request=self.connection.request_key())
        self._observation = _read_messages(shown["messages"])
        self._is_playing = True

    def drop(self, snapshot: ServedSnapshot) -> None:
        """Let the server forget a snapshot."""
        self.connection.call("drop", {"snapshot": snapshot.id})

    def fork(self) -> "ServedEnv":
        """An independent environment, with a session of its own, that stands at the same place.

        Raises:
            EpisodeOverError: no episode has begun.
            LimitError: the owner has as many sessions as it may.
        """
        shown = self._ask("fork", request=self.connection.request_key())
        copy = self._make_sibling()
        copy._is_playing = self._is_playing
        copy._hold(shown)
        return copy

    def heartbeat(self) -> float:
        """Renew the lease of the session while nothing is played; how many seconds it is.

        Raises:
            SessionLostError: the session is gone.
        """
        return float(self._ask("heartbeat")["lease"])

    @property
    def session_id(self) -> str:
        """The name of the session, by which the player that its author has named can join it.

        Raises:
            EpisodeOverError: the environment is closed.
        """
        return self._open_session()

    @property
    def mcp_url(self) -> str:
        """The address at which an MCP client plays the session, with a key of its player's.

        Raises:
            EpisodeOverError: the environment is closed.
        """
        return f"{self.connection.url}/v1/mcp/{self._open_session()}"

    def inspect(self, *parts: str, **choices: Any) -> dict[str, Any]:
        """Parts of the session, for authors. Any: JSON.

        Args:
            parts: Such as "digest", "score", "oracle", "events" and "task".
            choices: What parts take: `table`, `count`, `seed`.
        """
        return self._ask("inspect", parts=parts, **choices)

    def _ask(self, operation: str, **fields: Any) -> dict[str, Any]:
        """One question about the session. One that the server does not know is lost: it was there."""
        session = self._open_session()
        try:
            return self.connection.call(operation, {"session": session, **fields})
        except SessionError as error:
            if operation in ("restore", "drop"):
                raise
            raise SessionLostError(f"{error}; the server was restarted, and the episode is void") from error

    def _open_session(self) -> str:
        if self._session is None:
            raise EpisodeOverError("the environment is closed; call env.reset() to begin an episode in a new session")
        return self._session


def _check_left_out(session: str, settings: Mapping[str, object]) -> None:
    """Check that nothing is set that the creator of a session has set.

    Raises:
        ConfigError: something is.
    """
    stated = [f"{name}=" for name, value in settings.items() if value is not None]
    if stated:
        raise ConfigError(f"{', '.join(stated)}: session {session} has what its creator chose; leave it out")


def _read_messages(shown: list[Any]) -> tuple[Message, ...]:
    return tuple(cast("list[Message]", shown))

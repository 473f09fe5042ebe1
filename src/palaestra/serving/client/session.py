"""The client's side of a session on a server: create or join it, use it, replace it if it is gone, close it."""

from collections.abc import Mapping
from typing import Any

from palaestra.errors import (
    ConfigError,
    EpisodeOverError,
    PalaestraError,
    SessionError,
    SessionLostError,
    UnknownNameError,
)
from palaestra.serving.client.connection import ServerConnection


class ClientSession:
    """A session over a connection that other sessions may share; the last to close also closes the connection.

    Args:
        connection: The connection.
        creation: The item that creates it; `None` for somebody else's session, which is never created again.
    """

    def __init__(self, connection: ServerConnection, creation: Mapping[str, Any] | None) -> None:
        self.connection = connection
        self.id: str | None = None
        """Its name on the server; `None` where it is closed, gone or not yet made."""
        self._creation = creation

    @property
    def open_id(self) -> str:
        """Its name on the server.

        Raises:
            EpisodeOverError: the session is not open.
        """
        if self.id is None:
            raise EpisodeOverError("the environment is closed; call env.reset() to begin an episode in a new session")
        return self.id

    def create(self, *, tools: bool = False) -> dict[str, Any]:
        """Create it on the server and return the answer, with the tools if asked. Any: JSON.

        Raises:
            SessionLostError: it was somebody else's session.
            PalaestraError: the server refuses.
        """
        if self._creation is None:
            raise SessionLostError("the session is gone; ask its author for another one")
        item = {**self._creation, "tools": tools, "request": self.connection.request_key()}
        created = self.connection.call("create", item)
        self._open(created)
        return created

    def create_more(self, count: int) -> list["ClientSession"]:
        """Create more sessions with the same settings over the same connection, with one message.

        Raises:
            ConfigError: it is somebody else's session.
            PalaestraError: the server refuses one; the leases of the others close them.
        """
        if count and self._creation is None:
            raise ConfigError(f"session=: {count + 1} environments cannot play one session; leave session out")
        items = [
            {**(self._creation or {}), "tools": False, "request": self.connection.request_key()} for _ in range(count)
        ]
        made: list[ClientSession] = []
        for created in self.connection.call_all("create", items) if items else ():
            if isinstance(created, PalaestraError):
                raise created
            made.append(self._sibling(created))
        return made

    def join(self, name: str) -> dict[str, Any]:
        """Join a session that was made for the key's owner or by them; return the server's listing of it.

        Raises:
            SessionError: there is no such session.
        """
        for listed in self.connection.get("sessions")["sessions"]:
            if listed["session"] == name:
                self._open(listed)
                return dict(listed)
        raise SessionError(f"there is no session {name!r} for this key; its author names the player by `player=`")

    def reset(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """Begin an episode, in a new session if this one is gone: a lease may end between two episodes."""
        if self.id is not None:
            try:
                return self.connection.call("reset", {"session": self.id, **item})
            except (SessionError, SessionLostError):
                self.lose()
        self.create()
        return self.connection.call("reset", {"session": self.id, **item})

    def ask(self, operation: str, **fields: Any) -> dict[str, Any]:
        """Ask about the session. Any: JSON.

        Raises:
            EpisodeOverError: the session is not open.
            SessionLostError: the server no longer knows the session.
            PalaestraError: the error in the server's answer.
        """
        session = self.open_id
        try:
            return self.connection.call(operation, {"session": session, **fields})
        except SessionError as error:
            if operation == "restore":  # the server does not know the snapshot
                raise
            raise SessionLostError(f"{error}; the server was restarted, and the episode is void") from error

    def fork(self) -> "ClientSession":
        """Another session over the same connection, in the same state."""
        return self._sibling(self.ask("fork", request=self.connection.request_key()))

    def lose(self) -> None:
        """Mark the session as gone."""
        if self.id is not None:
            self.id = None
            self.connection.sessions -= 1

    def close(self) -> None:
        """Close it, and the connection if no other session uses it. Closing twice is allowed."""
        session = self.id
        if session is None:
            return
        self.lose()
        try:
            self.connection.call("close", {"session": session})
        except (SessionError, SessionLostError):
            pass  # the server has closed it before
        finally:
            if not self.connection.sessions:
                self.connection.close()

    def _sibling(self, created: Mapping[str, Any]) -> "ClientSession":
        sibling = ClientSession(self.connection, self._creation)
        sibling._open(created)
        return sibling

    def _open(self, created: Mapping[str, Any]) -> None:
        self.lose()
        self.id = str(created["session"])
        self.connection.sessions += 1


def find_world(connection: ServerConnection, name: str | None) -> tuple[str, str]:
    """The name and environment id of a served world; without `name`, those of the only one.

    Raises:
        ConfigError: there are several worlds and no name.
        UnknownNameError: no world has this name.
    """
    served: dict[str, str] = {one["name"]: one["env_id"] for one in connection.get("worlds")["worlds"]}
    if name is None and len(served) == 1:
        name = next(iter(served))
    if name is None:
        raise ConfigError(f"{connection.url} serves {', '.join(sorted(served))}; give world=")
    if name not in served:
        raise UnknownNameError.of("served world", name, served)
    return name, served[name]

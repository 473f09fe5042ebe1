"""A session on a server as its client holds it: made or joined, asked, made again where it is gone, closed."""

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
    """A session over a connection that others may share; the last one that closes also closes the connection.

    Args:
        connection: The connection.
        creation: What the server makes it of; `None` for a session of somebody else's, which is not made again.
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
            EpisodeOverError: it is not open.
        """
        if self.id is None:
            raise EpisodeOverError("the environment is closed; call env.reset() to begin an episode in a new session")
        return self.id

    def create(self, *, tools: bool = False) -> dict[str, Any]:
        """Have the server make it; what the server answers, with the tools where asked. Any: JSON.

        Raises:
            SessionLostError: it was somebody else's.
            PalaestraError: the server refuses.
        """
        if self._creation is None:
            raise SessionLostError("the session is gone; ask its author for another one")
        item = {**self._creation, "tools": tools, "request": self.connection.request_key()}
        created = self.connection.call("create", item)
        self._open(created)
        return created

    def create_more(self, count: int) -> list["ClientSession"]:
        """Further sessions of the same settings over the same connection, made by one message.

        Raises:
            ConfigError: it is somebody else's.
            PalaestraError: the server refuses one; those that were made are closed by their leases.
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
        """Take the session of that name, which was made for the key's owner or by them; what the server lists of it.

        Raises:
            SessionError: there is none.
        """
        for listed in self.connection.get("sessions")["sessions"]:
            if listed["session"] == name:
                self._open(listed)
                return dict(listed)
        raise SessionError(f"there is no session {name!r} for this key; its author names the player by `player=`")

    def reset(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """Begin an episode, in a new session where this one is gone: a lease may end between two episodes."""
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
            EpisodeOverError: it is not open.
            SessionLostError: the server does not know it any more.
            PalaestraError: as the server answers.
        """
        session = self.open_id
        try:
            return self.connection.call(operation, {"session": session, **fields})
        except SessionError as error:
            if operation == "restore":  # the snapshot is what is not known
                raise
            raise SessionLostError(f"{error}; the server was restarted, and the episode is void") from error

    def fork(self) -> "ClientSession":
        """Another session over the same connection, at the same place."""
        return self._sibling(self.ask("fork", request=self.connection.request_key()))

    def lose(self) -> None:
        """Take it as gone."""
        if self.id is not None:
            self.id = None
            self.connection.sessions -= 1

    def close(self) -> None:
        """Close it, and the connection where no other session uses it. Closing twice is fine."""
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
    """Name and environment id of a served world; without a name, of the only one.

    Raises:
        ConfigError: there are several, and no name.
        UnknownNameError: there is none of that name.
    """
    served: dict[str, str] = {one["name"]: one["env_id"] for one in connection.get("worlds")["worlds"]}
    if name is None and len(served) == 1:
        name = next(iter(served))
    if name is None:
        raise ConfigError(f"{connection.url} serves {', '.join(sorted(served))}; give world=")
    if name not in served:
        raise UnknownNameError.of("served world", name, served)
    return name, served[name]

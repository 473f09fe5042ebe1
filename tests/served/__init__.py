"""Servers of the library for tests: a clock that tests move, callers, and requests without a socket."""

import asyncio
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Any

import httpx
import orjson

from palaestra.serving.access import (
    Caller,
    KeyRecord,
    KeyRing,
    KeyScope,
    RateLimiter,
    RateLimits,
    expand_scopes,
    make_key,
)
from palaestra.serving.core import (
    OPERATIONS,
    EpisodeEntry,
    EpisodeLedger,
    ItemReader,
    OperationRunner,
    ServedWorld,
    ServedWorlds,
    SessionCore,
    SessionLimits,
)
from palaestra.serving.http import HttpLimits, WorldServer, make_app
from palaestra.serving.workers import CoreThread
from worlds.registration import LIBRARY_ID, register

SECRET = bytes(range(32))
LIBRARY = ServedWorld(name="library", env_id=LIBRARY_ID)
PAID = ServedWorld(name="paid", env_id=LIBRARY_ID, shows_reward=True)


def caller(owner: str, *scopes: KeyScope) -> Caller:
    """Somebody with these scopes and those that they imply."""
    return Caller(key_id=f"key-{owner}-{'-'.join(scopes)}", owner=owner, scopes=expand_scopes(scopes))


PLAYER = caller("player", KeyScope.PLAY)
OTHER = caller("other", KeyScope.PLAY)
AUTHOR = caller("author", KeyScope.AUTHOR)
READER = caller("reader", KeyScope.READ)
ADMIN = caller("admin", KeyScope.ADMIN)


class ManualClock:
    """A clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class CoreUnderTest:
    """A session core that is asked in JSON, as protocols do."""

    def __init__(self, *worlds: ServedWorld, **limits: Any) -> None:
        register()
        self.clock = ManualClock()
        self.entries: list[EpisodeEntry] = []
        numbers = count()
        self.core = SessionCore(
            ServedWorlds(worlds or (LIBRARY, PAID), secret=SECRET),
            limits=SessionLimits(**limits),
            ledger=EpisodeLedger(self.entries.append),
            clock=self.clock,
            new_id=lambda: f"id-{next(numbers)}",
        )
        self.operations = OperationRunner(self.core)
        self.reader = ItemReader(self.core.limits.batch)

    def send(self, who: Caller, name: str, *items: Mapping[str, Any]) -> bytes:
        """The answer to a batch, as bytes."""
        operation = OPERATIONS[name]
        read = self.reader.read(operation, orjson.dumps({"items": items}))
        return self.operations.run(operation, who, read.items).body

    def ask(self, who: Caller, name: str, **item: Any) -> dict[str, Any]:
        """The answer to one item that succeeds."""
        [result] = orjson.loads(self.send(who, name, item))["results"]
        assert "ok" in result, result
        return dict(result["ok"])

    def refusal(self, who: Caller, name: str, **item: Any) -> tuple[str, str]:
        """Code and message of one item that fails."""
        [result] = orjson.loads(self.send(who, name, item))["results"]
        assert "error" in result, result
        return result["error"]["code"], result["error"]["message"]

    def begin(self, who: Caller, *, seed: int = 0, **creation: Any) -> str:
        """A session with an episode."""
        session = str(self.ask(who, "create", **{"world": "library", **creation})["session"])
        self.ask(who, "reset", session=session, seed=seed)
        return session

    def check_account(self) -> None:
        """Every episode that has begun is running or over, and none is over twice."""
        ledger = self.core.ledger
        assert ledger.episodes_begun == ledger.running + sum(ledger.outcomes.values())
        numbers = [entry.number for entry in self.entries]
        assert len(numbers) == len({*numbers}) == sum(ledger.outcomes.values())
        assert ledger.running == sum(session.running is not None for session in self.core.sessions)


class Door:
    """The HTTP interface without a socket.

    Attributes:
        tokens: A key of each kind: "play", "author", "read", "admin", "expired", and "other" of another player.
    """

    def __init__(
        self, *, keys: bool = True, http: HttpLimits | None = None, rates: RateLimits | None = None, **limits: Any
    ) -> None:
        made = CoreUnderTest(**limits)
        self.core, self.clock = made.core, made.clock
        self.wall = ManualClock()
        self.tokens: dict[str, str] = {}
        records: list[KeyRecord] = []
        for name in ("play", "author", "read", "admin", "expired", "other"):
            scope = KeyScope(name) if name in KeyScope._value2member_map_ else KeyScope.PLAY
            lifetime = 1.0 if name == "expired" else 1e6
            self.tokens[name], one = make_key(name, [scope], now=self.wall.now, lifetime=lifetime)
            records.append(one)
        self.wall.now = 10.0
        bounds = http or HttpLimits()
        self.thread = CoreThread(made.core, most=bounds.pending)
        self.server = WorldServer(
            self.thread,
            worlds=made.core.worlds,
            reader=made.reader,
            keys=KeyRing(records, clock=self.wall) if keys else None,
            rates=RateLimiter(rates or RateLimits(), clock=self.clock),
            limits=bounds,
        )
        self.app = make_app(self.server)

    def send(
        self,
        method: str,
        path: str,
        *,
        who: str | None = None,
        headers: Mapping[str, str] | None = None,
        **content: Any,
    ) -> httpx.Response:
        """The answer to a request; `who` names one of `tokens`, or is a token itself."""
        sent = dict(headers or {})
        if who is not None:
            sent["Authorization"] = f"Bearer {self.tokens.get(who, who)}"

        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                return await client.request(method, f"/v1/{path}", headers=sent, **content)

        return asyncio.run(ask())

    def post(self, who: str | None, name: str, *items: Mapping[str, Any]) -> httpx.Response:
        """The answer to a batch."""
        return self.send("POST", name, who=who, json={"items": items})

    def ask(self, who: str | None, name: str, **item: Any) -> dict[str, Any]:
        """The answer to one item that succeeds."""
        response = self.post(who, name, item)
        assert response.status_code == 200, response.text
        [result] = response.json()["results"]
        assert "ok" in result, result
        return dict(result["ok"])

    def close(self) -> None:
        """End the core's thread."""
        self.thread.close()


@contextmanager
def open_door(**settings: Any) -> Generator[Door]:
    """A door that is closed again."""
    door = Door(**settings)
    try:
        yield door
    finally:
        door.close()

"""One session in this process, for one local client: an episode of one task over MCP on standard input and output."""

import secrets
from collections.abc import Mapping
from typing import Any

import orjson
from mcp.server.stdio import stdio_server

from palaestra.errors import PalaestraError
from palaestra.record import record
from palaestra.serving.access import LOCAL, Caller, KeyScope
from palaestra.serving.core import (
    OPERATIONS,
    EpisodeLedger,
    ItemBatch,
    ItemReader,
    OperationRunner,
    ServedWorld,
    ServedWorlds,
    SessionCore,
    SessionLimits,
    error_of,
)
from palaestra.serving.mcp.session_server import Context, McpCall, make_session_server

_PLAYER = Caller(key_id=LOCAL.key_id, owner=LOCAL.owner, scopes=frozenset({KeyScope.PLAY}))


@record
class LocalResult:
    """The result of the episode."""

    task: str
    seed: int
    turns: int
    end: str | None
    """Why the episode ended; `None` if the client left before."""
    points: int
    total: int
    passed: bool
    digest: str


class LocalSession:
    """A session that one client plays.

    Args:
        world: The world, with its switches.
        seed: Seed of the episode. It also draws the task if none is named.
        task: The id of the task; `None` draws one.

    Raises:
        RequestError: a switch or the task does not exist.
        CapabilityError: the world does not declare a switch.
    """

    def __init__(self, world: ServedWorld, *, seed: int, task: str | None = None) -> None:
        limits = SessionLimits()
        core = SessionCore(
            ServedWorlds([world], secret=secrets.token_bytes(32)),
            limits=limits,
            ledger=EpisodeLedger(),
            clock=_stand_still,
            new_id=lambda: secrets.token_urlsafe(16),
        )
        self._operations = OperationRunner(core)
        self._reader = ItemReader(limits.batch)
        self._session = str(self._ask("create", world=world.name)["session"])
        self._ask("reset", session=self._session, seed=seed, task=task)
        call = McpCall(caller=_PLAYER, session=self._session, connection="local")

        def identify(_: Context) -> McpCall:
            return call

        self.server = make_session_server(self._reader, self._run, identify)

    async def serve(self) -> None:
        """Serve over standard input and output until the client closes its end."""
        async with stdio_server() as (reading, writing):
            await self.server.run(reading, writing, self.server.create_initialization_options())

    def result(self) -> LocalResult:
        """The result of the episode so far."""
        shown = self._ask("inspect", session=self._session, parts=["task", "episode", "score", "digest"])
        score = shown["score"]
        return LocalResult(
            task=shown["task"]["id"],
            seed=shown["episode"]["seed"],
            turns=shown["episode"]["turn"],
            end=self._ask("observe", session=self._session)["end"],
            points=score["points"],
            total=score["total"],
            passed=score["passed"],
            digest=shown["digest"],
        )

    async def _run(self, caller: Caller, batch: ItemBatch) -> bytes:
        return self._operations.run(batch.operation, caller, batch.items).body

    def _ask(self, name: str, **item: Any) -> Mapping[str, Any]:
        """The answer to an item of the session's author. Any: JSON."""
        operation = OPERATIONS[name]
        [read] = self._reader.read_items(operation, [item]).items
        result = orjson.loads(self._operations.run_item(operation, LOCAL, read)[0])
        if "error" in result:
            error: PalaestraError = error_of(result["error"])
            raise error
        shown: dict[str, Any] = result["ok"]
        return shown


def _stand_still() -> float:
    """A clock for leases that never expire: the session lives as long as its process."""
    return 0.0

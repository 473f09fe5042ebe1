"""What all routes share: the runner of session cores, keys, limits, metrics, and periodic work."""

import asyncio
import logging
from contextlib import suppress
from pathlib import Path

from starlette.requests import HTTPConnection

from palaestra.durable import file_state
from palaestra.errors import InfrastructureError, LimitError, RecordError, RequestError
from palaestra.serving.access import LOCAL, Caller, KeyRing, KeyScope, RateLimiter, read_keys
from palaestra.serving.core import BatchAnswer, CreateItem, ItemBatch, ItemReader, ServedWorlds
from palaestra.serving.http.metrics import ServerMetrics
from palaestra.serving.http.requests import HttpLimits, caller_of
from palaestra.serving.http.socket_count import SocketCount
from palaestra.serving.workers import CoreRunner

_LOG = logging.getLogger("palaestra.serving")
_ROUND = 1.0
"""Seconds between checks of leases and the file of keys."""


class WorldServer:
    """A server of worlds, without its routes.

    Attributes:
        runner: Runs the items of requests.
        worlds: The served worlds.
        reader: Reads requests.
        keys: The accepted keys; `None` for a server on the loopback interface that needs none.
        rates: The rate limits of each key.
        limits: Bounds of requests.
        metrics: The counters.
        sockets: The open WebSocket connections.
        is_stopping: Whether new requests are refused because the server is stopping.
        start_error: The error that prevented the start, if any.
    """

    def __init__(
        self,
        runner: CoreRunner,
        *,
        worlds: ServedWorlds,
        reader: ItemReader,
        keys: KeyRing | None,
        rates: RateLimiter,
        limits: HttpLimits,
        key_file: Path | None = None,
    ) -> None:
        self.runner = runner
        self.worlds = worlds
        self.reader = reader
        self.keys = keys
        self.rates = rates
        self.limits = limits
        self.metrics = ServerMetrics()
        self.sockets = SocketCount(limits)
        self.is_stopping = False
        self.start_error: InfrastructureError | None = None
        self._key_file = key_file
        self._key_file_state = file_state(key_file)
        self._rounds: asyncio.Task[None] | None = None

    def identify(self, connection: HTTPConnection) -> Caller:
        """The caller of a request or a message.

        Raises:
            AccessError: the key is missing, wrong or expired.
            LimitError: the server is stopping.
        """
        caller = caller_of(connection, self.keys)
        if self.is_stopping:
            raise LimitError("the server stops; its sessions are lost", 5.0)
        return caller

    async def run(self, caller: Caller, batch: ItemBatch) -> BatchAnswer:
        """Run a batch and count its items.

        Raises:
            RequestError: an item creates a session for a player without a key; nothing is run.
            LimitError: as `CoreRunner.run`.
        """
        if KeyScope.AUTHOR in caller.scopes:  # anybody else is refused in any case
            self._check_players(batch)
        answer = await self.runner.run(caller, batch)
        self.metrics.count_items(batch.operation.name, answer)
        return answer

    def _check_players(self, batch: ItemBatch) -> None:
        players = {item.player: number for number, item in enumerate(batch.items) if isinstance(item, CreateItem)}
        for player, number in players.items():
            if player is None:
                continue
            if player != LOCAL.owner if self.keys is None else not self.keys.can_play(player):
                way_out = f"`palaestra keys add FILE {player} --scope play` makes one"
                raise RequestError(f"items.{number}.player: no key of {player!r} may play; {way_out}")

    def record_request(
        self, operation: str, *, status: int, seconds: float, caller: Caller, items: int, code: str | None
    ) -> None:
        """Count and log a request that was answered."""
        self.metrics.count_request(operation, status, seconds)
        fields = {"operation": operation, "status": status, "ms": round(seconds * 1e3, 2), "items": items}
        fields |= {"key_id": caller.key_id, "owner": caller.owner}
        _LOG.info("request", extra=fields if code is None else {**fields, "code": code})

    async def start(self) -> None:
        """Start the runner and the periodic checks of leases and keys.

        Raises:
            InfrastructureError: a worker does not start.
        """
        try:
            await self.runner.start()
        except InfrastructureError as error:
            self.start_error = error
            raise
        self._rounds = asyncio.create_task(self._go_round())

    async def stop(self) -> None:
        """End every session. Episodes that have not ended are void."""
        self.is_stopping = True
        if self._rounds is not None:
            self._rounds.cancel()
            with suppress(asyncio.CancelledError):
                await self._rounds
        account = await self.runner.stop()
        _LOG.info("stopped", extra={"count": account.begun})

    async def _go_round(self) -> None:
        while True:
            await asyncio.sleep(_ROUND)
            try:
                await self.run_round()
            except Exception:  # the checks must continue
                _LOG.exception("round failed")

    async def run_round(self) -> None:
        """Free expired sessions and snapshots, and read the keys again if their file has changed."""
        freed = await self.runner.expire()
        if freed:
            _LOG.info("leases expired", extra={"count": freed})
        state = file_state(self._key_file)
        if self.keys is not None and self._key_file is not None and state != self._key_file_state:
            self._key_file_state = state
            try:
                self.keys.replace(read_keys(self._key_file).keys)
            except RecordError:
                _LOG.exception("keys could not be read; the former ones stay")
            else:
                _LOG.info("keys were read again", extra={"count": len(self.keys)})

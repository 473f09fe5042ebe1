"""Session cores in several workers: a batch is split by session, sent at once, and joined in order."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import orjson

from palaestra.errors import InfrastructureError, PalaestraError, SessionLostError
from palaestra.record import record
from palaestra.serving.access import Caller
from palaestra.serving.core import (
    BatchAnswer,
    ItemBatch,
    SessionCounts,
    SessionLimits,
    code_of,
    error_json,
)
from palaestra.serving.workers.core_runner import CoreRunner
from palaestra.serving.workers.creation_places import CreationPlaces
from palaestra.serving.workers.frames import Header, read_answer, write_caller
from palaestra.serving.workers.session_worker import SessionWorker, WorkerLostError, WorkerReply, WorkerTimeouts
from palaestra.serving.workers.worker_host import WorkerSettings
from palaestra.serving.workers.worker_link import WorkerLauncher
from palaestra.serving.workers.worker_name import WorkerName, worker_of
from palaestra.serving.workers.worker_set import WorkerSet

_GROWS = {"create": "sessions", "fork": "sessions", "snapshot": "snapshots"}
"""Operations that add something that limits count."""
_EXPIRE_SECONDS = 1.0
"""How long a round waits for busy workers; what they free is counted in a later round."""


@record
class _Plan:
    """Which worker runs which items of a batch."""

    parts: Mapping[SessionWorker, list[int]]
    refused: Mapping[int, tuple[bytes, str | None]]
    """Items that no worker runs: their results, and the codes of their errors."""


class WorkerPool(CoreRunner):
    """Workers. Their sessions are played at the same time.

    Args:
        count: The number of workers.
        settings: Returns the settings of the worker with a name.
        launcher: Starts the workers.
        limits: Bounds of sessions and snapshots over all workers.
        most: Maximum requests that wait or run at once.
        timeouts: Seconds after which a worker counts as hanging.
    """

    def __init__(
        self,
        count: int,
        settings: Callable[[WorkerName], WorkerSettings],
        *,
        launcher: WorkerLauncher,
        limits: SessionLimits,
        most: int,
        timeouts: WorkerTimeouts,
    ) -> None:
        super().__init__(most)
        self.workers = WorkerSet(count, settings, launcher=launcher, timeouts=timeouts)
        self._limits = limits
        self._timeouts = timeouts
        self._places = CreationPlaces()
        self._near_a_limit = asyncio.Lock()
        self._expiries: dict[SessionWorker, asyncio.Future[WorkerReply]] = {}

    async def start(self) -> None:
        """Start the workers.

        Raises:
            InfrastructureError: a worker does not start.
        """
        await self.workers.start()

    # Batches

    async def _run(self, caller: Caller, batch: ItemBatch) -> BatchAnswer:
        if not self._may_reach_a_limit(batch):
            return await self._run_split(caller, batch)
        async with self._near_a_limit:
            return await self._run_one_by_one(caller, batch)

    def _may_reach_a_limit(self, batch: ItemBatch) -> bool:
        """Whether an item could be refused because of what other workers hold."""
        grows, limits = _GROWS.get(batch.operation.name), self._limits
        if grows is None:
            return False
        held = self.workers.counts()
        if grows == "snapshots":
            most, now = limits.owner_snapshots, held.snapshots
        else:
            most, now = min(limits.sessions, limits.owner_sessions), held.sessions
        return now + sum(worker.growth[grows] for worker in self.workers) + len(batch.items) > most

    async def _run_split(self, caller: Caller, batch: ItemBatch) -> BatchAnswer:
        copies = await self._copy_snapshots(caller, batch) if batch.operation.name == "restore" else {}
        plan = self._plan(caller, batch)
        asked = [self._ask(worker, caller, batch.pick(places), copies=copies) for worker, places in plan.parts.items()]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        results: list[bytes] = [b""] * len(batch.items)
        errors: Counter[str] = Counter()
        for place, (result, code) in plan.refused.items():
            results[place] = result
            errors.update([] if code is None else [code])
        for places, answer in zip(plan.parts.values(), answers, strict=True):
            part = self._read(batch.pick(places), answer)
            errors.update(part.errors)
            for place, result in zip(places, part.results, strict=True):
                results[place] = result
        return BatchAnswer(results=results, errors=errors)

    async def _copy_snapshots(self, caller: Caller, batch: ItemBatch) -> dict[str, bytes]:
        """Copies of the snapshots that are restored in sessions of another worker."""
        wanted: dict[str, SessionWorker] = {}
        for item in batch.items:
            holder = worker_of(item.snapshot)
            if holder is not None and holder != worker_of(item.session):
                with suppress(SessionLostError):  # the session's worker reports that there is none
                    if (worker := self.workers.find(holder)) is not None:
                        wanted[item.snapshot] = worker
        asked = (
            worker.ask({"do": "copy", "caller": write_caller(caller), "snapshot": id_}, seconds=self._timeouts.request)
            for id_, worker in wanted.items()
        )
        replies = await asyncio.gather(*asked, return_exceptions=True)
        return {
            id_: reply.body
            for id_, reply in zip(wanted, replies, strict=True)
            if isinstance(reply, WorkerReply) and reply.body
        }

    async def _run_one_by_one(self, caller: Caller, batch: ItemBatch) -> BatchAnswer:
        """Run items one after another, with each worker knowing what the others hold: exact but slower."""
        owners: dict[SessionWorker, Mapping[str, Mapping[str, int]]] = {}
        workers = list(self.workers)
        asked = (worker.ask({"do": "count"}, seconds=self._timeouts.request) for worker in workers)
        for worker, reply in zip(workers, await asyncio.gather(*asked, return_exceptions=True), strict=True):
            owners[worker] = {} if isinstance(reply, BaseException) else reply.header["owners"]
        results: list[bytes] = []
        errors: Counter[str] = Counter()
        for place in range(len(batch.items)):
            one = batch.pick([place])
            plan = self._plan(caller, one)
            for result, code in plan.refused.values():
                results.append(result)
                errors.update([] if code is None else [code])
            for worker in plan.parts:
                elsewhere = self._count_elsewhere(worker, owners)
                [answer] = await asyncio.gather(
                    self._ask(worker, caller, one, elsewhere=elsewhere), return_exceptions=True
                )
                if isinstance(answer, WorkerReply):
                    owners[worker] = answer.header["owners"]
                part = self._read(one, answer)
                results += part.results
                errors.update(part.errors)
        return BatchAnswer(results=results, errors=errors)

    def _count_elsewhere(
        self, worker: SessionWorker, owners: Mapping[SessionWorker, Mapping[str, Mapping[str, int]]]
    ) -> Header:
        """Sessions and snapshots by owner in the other workers. Those being added have no owner's name yet."""
        found: dict[str, Counter[str]] = {"sessions": Counter(), "snapshots": Counter()}
        for other in self.workers:
            if other is not worker:
                for kind, held in found.items():
                    held.update(owners.get(other, {}).get(kind, {}))
                    held[""] += other.growth[kind]
        return found

    def _ask(
        self,
        worker: SessionWorker,
        caller: Caller,
        batch: ItemBatch,
        *,
        copies: Mapping[str, bytes] | None = None,
        **fields: Any,
    ) -> asyncio.Future[WorkerReply]:
        name, number = batch.operation.name, len(batch.items)
        header = {"do": "run", "operation": name, "caller": write_caller(caller), **fields}
        body = batch.body()
        if copies:  # the last one is read first
            header["carried"] = [[id_, len(copy)] for id_, copy in reversed([*copies.items()])]
            body = b"".join((body, *copies.values()))
        return worker.ask(
            header,
            body,
            seconds=self._timeouts.request + number * self._timeouts.item,
            growth={_GROWS[name]: number} if name in _GROWS else None,
        )

    def _read(self, batch: ItemBatch, answer: WorkerReply | BaseException) -> BatchAnswer:
        """A worker's answer; if the worker was lost first, each item has an error.

        Raises:
            InfrastructureError: the worker could not run the batch.
        """
        if isinstance(answer, WorkerReply):
            return read_answer(answer.header, answer.body)
        if not isinstance(answer, WorkerLostError):
            raise answer
        refused = [_refuse(_describe_loss(item)) for item in batch.items]
        return BatchAnswer(
            results=[result for result, _ in refused], errors=Counter(code for _, code in refused if code)
        )

    # Routing

    def _plan(self, caller: Caller, batch: ItemBatch) -> _Plan:
        parts: dict[SessionWorker, list[int]] = {}
        refused: dict[int, tuple[bytes, str | None]] = {}
        planned: Counter[WorkerName] = Counter()
        for place, item in enumerate(batch.items):
            try:
                worker = self._route(caller, batch.operation.name, item, planned)
            except SessionLostError:
                # Closing a lost session is allowed, as in a session core.
                is_closed = batch.operation.name == "close"
                refused[place] = (b'{"ok":{}}', None) if is_closed else _refuse(_describe_loss(item))
            else:
                parts.setdefault(worker, []).append(place)
        return _Plan(parts=parts, refused=refused)

    def _route(self, caller: Caller, operation: str, item: Any, planned: Counter[WorkerName]) -> SessionWorker:
        """The worker that runs an item.

        Raises:
            LimitError: no worker is available now.
            SessionLostError: the worker that held the session has ended.
        """
        if operation == "create":
            return self._place(caller, item, planned)
        if operation == "tasks":
            return self.workers.choose()
        name = worker_of(item.snapshot if operation == "drop" else item.session)
        worker = None if name is None else self.workers.find(name)
        # Any worker refuses an id that no worker has made.
        return self.workers.choose() if worker is None else worker

    def _place(self, caller: Caller, item: Any, planned: Counter[WorkerName]) -> SessionWorker:
        if item.request is not None and (former := self._places.find(caller.owner, item.request)) is not None:
            try:
                worker = self.workers.find(former)
            except SessionLostError:  # the session is gone too, so any other worker will do
                worker = None
            if worker is not None:
                return worker
        worker = self.workers.choose(planned)
        planned[worker.name] += 1
        if item.request is not None:
            self._places.keep(caller.owner, item.request, worker.name)
        return worker

    # About the server

    async def _list_sessions(self, caller: Caller) -> list[Mapping[str, Any]]:
        asked = (
            worker.ask({"do": "list", "caller": write_caller(caller)}, seconds=self._timeouts.request)
            for worker in self.workers
        )
        replies = await asyncio.gather(*asked, return_exceptions=True)
        found: list[Mapping[str, Any]] = []
        for reply in replies:
            if isinstance(reply, WorkerReply):
                found += orjson.loads(reply.body)
            elif not isinstance(reply, WorkerLostError):
                raise reply
        return found

    async def counts(self) -> SessionCounts:
        """The number of sessions and snapshots, and the account of episodes, as of the latest answers."""
        return self.workers.counts()

    async def expire(self) -> int:
        """Free sessions and snapshots whose lease has expired; return their number."""
        for worker in self.workers:
            if worker not in self._expiries:
                self._expiries[worker] = worker.ask({"do": "expire"}, seconds=self._timeouts.request)
        if not self._expiries:
            return 0
        await asyncio.wait(self._expiries.values(), timeout=_EXPIRE_SECONDS)
        done = {worker: reply for worker, reply in self._expiries.items() if reply.done()}
        for worker in done:
            del self._expiries[worker]
        replies: Sequence[Any] = await asyncio.gather(*done.values(), return_exceptions=True)
        return sum(int(reply.header["freed"]) for reply in replies if isinstance(reply, WorkerReply))

    async def stop(self) -> SessionCounts:
        """Close every session and end the workers. Return the final account."""
        await self.workers.stop()
        return self.workers.counts()


def _refuse(error: PalaestraError) -> tuple[bytes, str]:
    return error_json(error), code_of(error)


def _describe_loss(item: Any) -> InfrastructureError:
    """The error for an item whose worker has ended: it was not run, or nobody knows whether it was."""
    session = getattr(item, "session", None)
    if session is not None:
        return SessionLostError(
            f"session {session} was lost with its worker process; an episode that had not ended is void"
        )
    snapshot = getattr(item, "snapshot", None)
    if snapshot is not None:
        return SessionLostError(f"snapshot {snapshot} was lost with its worker process")
    return InfrastructureError("the worker process ended before it answered; nothing of it is left, so ask again")

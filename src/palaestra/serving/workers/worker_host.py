"""A worker: one session core that runs what the server sends it, in order, and the process that holds it.

The process ends when the server closes the socket between them, for whatever reason. It trusts the server.
"""

import logging
import os
import pickle
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from queue import SimpleQueue
from types import FrameType
from typing import Any

import orjson

import palaestra
from palaestra.errors import SessionError
from palaestra.packs import PACKS
from palaestra.record import record
from palaestra.serving.core import (
    OPERATIONS,
    EpisodeLedger,
    ItemReader,
    OperationRunner,
    ServedWorld,
    ServedWorlds,
    SessionCore,
    SessionLimits,
    StoredSnapshot,
)
from palaestra.serving.log_lines import log_to
from palaestra.serving.workers.frames import (
    LENGTH,
    Header,
    read_caller,
    read_frame,
    write_answer,
    write_counts,
    write_frame,
)
from palaestra.serving.workers.garbage_collection import collect_rarely
from palaestra.serving.workers.worker_name import WorkerName

_LOG = logging.getLogger("palaestra.serving")
GRACE = 2.0
"""Seconds that a worker has to close its sessions, once the server has closed the socket."""


@record
class WorkerSettings:
    """The settings that a worker gets when it starts. They can be pickled."""

    name: WorkerName
    worlds: Sequence[ServedWorld]
    secret: bytes
    """The secret of task handles, the same in all workers."""
    limits: SessionLimits
    places: Mapping[str, str] = field(default_factory=dict[str, str])
    """The places of the world packs, by environment id."""
    is_logged: bool = False
    """Whether errors are logged on standard error."""


class WorkerHost:
    """The session core of a worker.

    Args:
        settings: The settings from the server.
    """

    def __init__(self, settings: WorkerSettings) -> None:
        for env_id, place in settings.places.items():
            if env_id not in PACKS:
                palaestra.register_world(place, env_id=env_id)
        self._core = SessionCore(
            ServedWorlds(settings.worlds, secret=settings.secret),
            limits=settings.limits,
            ledger=EpisodeLedger(),
            clock=time.monotonic,
            new_id=lambda: settings.name.make_id(secrets.token_urlsafe(16)),
        )
        self._operations = OperationRunner(self._core)
        self._reader = ItemReader(settings.limits.batch)

    def greet(self) -> bytes:
        """The frame that says that the worker is ready."""
        return write_frame({"pid": os.getpid(), "counts": write_counts(self._core.counts())})

    def answer(self, frame: bytes) -> bytes:
        """Run the request in a frame; return the answer as a frame."""
        header, body = read_frame(frame)
        try:
            fields, answered = self._do(header, body)
        except Exception:
            _LOG.exception("worker failed", extra={"operation": header["do"]})
            fields, answered = {"failed": True}, b""
        return write_frame({**fields, "counts": write_counts(self._core.counts())}, answered)

    def _do(self, header: Header, body: bytes) -> tuple[Header, bytes]:
        match header["do"]:
            case "run":
                return self._run(header, body)
            case "list":
                return {}, orjson.dumps(self._core.listing(read_caller(header["caller"])))
            case "expire":
                return {"freed": self._core.expire()}, b""
            case "count":
                return {"owners": self._owners()}, b""
            case "copy":
                return self._copy(header)
            case "stop":
                self._core.stop()
                return {}, b""
            case unknown:
                raise AssertionError(f"do={unknown!r}: the server knows what a worker does")

    def _run(self, header: Header, body: bytes) -> tuple[Header, bytes]:
        operation = OPERATIONS[header["operation"]]
        elsewhere: dict[str, dict[str, int]] = header.get("elsewhere") or {"sessions": {}, "snapshots": {}}
        self._core.sessions.elsewhere = elsewhere["sessions"]
        self._core.snapshots.elsewhere = elsewhere["snapshots"]
        items, copies = body, dict[str, StoredSnapshot]()
        for id_, length in header.get("carried", ()):
            items, copy = items[:-length], items[-length:]
            copies[id_] = pickle.loads(copy)  # noqa: S301  from another worker of the server
        self._core.snapshots.carried = copies
        batch = self._reader.read(operation, items)
        answer = self._operations.run(operation, read_caller(header["caller"]), batch.items)
        fields, answered = write_answer(answer)
        return fields if "elsewhere" not in header else {**fields, "owners": self._owners()}, answered

    def _copy(self, header: Header) -> tuple[Header, bytes]:
        """A snapshot for a session of another worker; empty if the caller has no such snapshot."""
        try:
            stored = self._core.snapshots.find(read_caller(header["caller"]), header["snapshot"])
        except SessionError:
            return {}, b""
        return {}, pickle.dumps(stored)

    def _owners(self) -> dict[str, Any]:
        return {"sessions": self._core.sessions.owners, "snapshots": self._core.snapshots.owners}

    def close(self) -> None:
        """Close every session."""
        self._core.stop()


def make_host(first: bytes) -> WorkerHost:
    """The host that the first frame of a server describes."""
    settings: WorkerSettings = pickle.loads(first)  # noqa: S301  from our own program
    if settings.is_logged:
        log_to(sys.stderr)
    return WorkerHost(settings)


def serve_sessions(descriptor: int) -> None:
    """Hold sessions for the server at the other end of a socket, until the server closes it."""
    # A signal to the whole group reaches every process; the server alone decides what to do.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _do_nothing)  # unlike SIG_IGN, processes that a world starts do not inherit it
    link = socket.socket(fileno=descriptor)
    frames: SimpleQueue[bytes | None] = SimpleQueue()
    threading.Thread(target=_receive, args=(link, frames), daemon=True).start()
    first = frames.get()
    if first is None:
        return
    host = make_host(first)
    _send(link, host.greet())
    with collect_rarely():
        while (frame := frames.get()) is not None:
            _send(link, host.answer(frame))
    host.close()


def _do_nothing(number: int, frame: FrameType | None) -> None:
    del number, frame


def _send(link: socket.socket, frame: bytes) -> None:
    with suppress(OSError):  # the server has closed the socket, and `frames` will end
        link.sendall(len(frame).to_bytes(LENGTH) + frame)


def _receive(link: socket.socket, frames: SimpleQueue[bytes | None]) -> None:
    """Queue incoming frames. When the socket closes, end the process, even if a world hangs."""
    with suppress(OSError), link.makefile("rb") as stream:
        while len(head := stream.read(LENGTH)) == LENGTH:
            frame = stream.read(length := int.from_bytes(head))
            if len(frame) < length:
                break
            frames.put(frame)
    frames.put(None)
    time.sleep(GRACE)
    os._exit(1)

"""Workers that are Ray actors, on the machines of a cluster. Needs the extra `ray`; only this module imports it.

Ray places an actor where a core is free, spread over the machines, and never starts it again by itself: what it held
would be gone without a word. The server does, as it does with processes. An actor ends with the server, because Ray
ends what a program has left behind.
"""

import asyncio
import logging
import os
import secrets
import signal
import socket
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ray
from ray.exceptions import RayError

from palaestra.errors import InfrastructureError
from palaestra.serving.workers.worker_host import GRACE, WorkerHost, make_host
from palaestra.serving.workers.worker_link import WorkerLauncher, WorkerLink

_RAY: Any = ray  # not all of it has types
_LOCAL = "local"
"""Ray's word for a cluster that is started for the one who asks, and ends with it."""
_WATCH = "watch"
_REACH_SECONDS = 10.0
"""How long the head of a cluster may take to answer at all."""


class SessionActor:
    """What an actor runs: one session core, which answers frames in their order."""

    def __init__(self) -> None:
        self._host: WorkerHost | None = None

    def answer(self, frame: bytes) -> bytes:
        """The answer to a frame."""
        if self._host is not None:
            return self._host.answer(frame)
        try:
            self._host = make_host(frame)
        except Exception:
            traceback.print_exc()  # into Ray's log of the actor; the server ends it
            raise
        return self._host.greet()

    def wait(self) -> None:
        """Never return: the call fails when the actor ends, so the server learns of it at once."""
        threading.Event().wait()


class RayLink(WorkerLink):
    """An actor, seen from the server.

    Args:
        actor: The handle. Any: an actor's methods are known to Ray at run time alone.
    """

    def __init__(self, actor: Any) -> None:
        self._actor = actor
        self._answers: asyncio.Queue[Any] = asyncio.Queue()
        self._reason: str | None = None
        self._end = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        try:
            await self._actor.wait.options(concurrency_group=_WATCH).remote()
        except RayError as error:
            self._keep_reason(error)
        self._answers.put_nowait(None)

    def _keep_reason(self, error: RayError) -> None:
        """The first error says why; later ones that the actor was killed for it. Its text may quote a request."""
        if self._reason is None:
            self._reason = type(error).__name__

    def send(self, frame: bytes) -> None:
        """Hand a frame over. Where the worker has ended, nothing happens."""
        self._answers.put_nowait(self._actor.answer.remote(frame))

    async def receive(self) -> bytes | None:
        """Wait for the next answer; `None` where no more will come, because the worker has ended."""
        answering = await self._answers.get()
        if answering is None:
            return None
        try:
            answer: bytes = await answering
        except RayError as error:
            self._keep_reason(error)
            return None
        return answer

    def kill(self) -> None:
        """End the actor at once."""
        _RAY.kill(self._actor)

    def release(self) -> None:
        """End the actor at once: it has closed its sessions, or does not answer."""
        self.kill()

    async def reap(self) -> str:
        """Wait until Ray says that the actor has ended, and say how it did."""
        # An actor that Ray could not reach for a while may run again.
        self.kill()
        await asyncio.wait([self._end], timeout=2 * GRACE)
        self._end.cancel()
        return self._reason or "Ray does not say how"


class RayLauncher(WorkerLauncher):
    """Starts actors. Ray is used as it was initialised; where it was not, this does so, and ends it.

    Args:
        address: Of the cluster, as Ray takes it: "HOST:PORT"; "auto" for the one that this machine belongs to; "local"
            for one of this machine alone, which is started here and ends with the server.
        count: How many actors there will be: as many cores has a cluster that is started here.
    """

    start_delay = "start; an actor waits until a machine of the Ray cluster has a free core"

    def __init__(self, address: str, *, count: int) -> None:
        self._address = address
        self._count = count
        self._is_ours = False
        self._actors: Any = _RAY.remote(
            num_cpus=1,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
            concurrency_groups={_WATCH: 1},
        )(SessionActor)
        # In the main thread Ray would handle its signals. What a thread has started ends with that thread.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="palaestra-ray")

    async def open(self) -> None:
        """Join the cluster, or start one.

        Raises:
            InfrastructureError: there is none that can be joined, or none can be started.
        """
        if not _RAY.is_initialized():
            await asyncio.get_running_loop().run_in_executor(self._thread, self._init)
            self._is_ours = True
            _take_signals_back()

    def _init(self) -> None:
        options: dict[str, Any] = {}
        if self._address == _LOCAL:
            # Nobody else has to reach it. Otherwise Ray keeps a token in the home of the user.
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
            options = {"num_cpus": self._count, "num_gpus": 0, "include_dashboard": False}
        try:
            _check_address(self._address)
            _RAY.init(self._address, log_to_driver=False, logging_level=logging.ERROR, **options)
        except (RayError, OSError, RuntimeError, ValueError) as error:
            raise InfrastructureError(
                f"Ray at {self._address!r} cannot be used: {error}. "
                "Start a cluster by `ray start --head`, or give the address 'local'"
            ) from error

    async def start(self) -> WorkerLink:
        """A new actor, which may wait for a free core.

        Raises:
            InfrastructureError: Ray does not take it.
        """
        try:
            return RayLink(self._actors.remote())
        except (RayError, ConnectionError, RuntimeError) as error:
            raise InfrastructureError(f"no Ray actor can be started: {error}") from error

    async def close(self) -> None:
        """Leave the cluster, or end the one that was started here."""
        if self._is_ours:
            await asyncio.get_running_loop().run_in_executor(self._thread, _RAY.shutdown)
        self._thread.shutdown()


def _check_address(address: str) -> None:
    """Ask whether anybody listens: Ray itself goes on asking for many minutes, and cannot be stopped meanwhile.

    Raises:
        OSError: nobody does.
        ValueError: it is none of the addresses that a server takes.
    """
    if address in ("auto", _LOCAL):
        return
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or "/" in host:
        raise ValueError("an address is HOST:PORT, 'auto' or 'local'")
    with socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_SECONDS):
        pass


def _take_signals_back() -> None:
    """Install the handler of SIGTERM again: Ray puts one of its own before it, which prints a trace and aborts."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))

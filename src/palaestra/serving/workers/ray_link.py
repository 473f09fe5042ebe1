"""Workers that are Ray actors, on the machines of a cluster. Needs the extra `ray`; only this module imports it.

Ray places actors on free cores, spread over the machines. Ray does not restart an actor, since its sessions would be
lost silently; the server does, as with processes. An actor ends with the server, because Ray ends the actors of a
program that has ended.
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
"""Ray's name for a cluster that is started for this program and ends with it."""
_WATCH = "watch"
_REACH_SECONDS = 10.0
"""Maximum seconds for the head of a cluster to answer."""


class SessionActor:
    """The program of an actor: one session core, which answers frames in order."""

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
        """Never return: the call fails when the actor ends, so the server notices at once."""
        threading.Event().wait()


class RayLink(WorkerLink):
    """An actor, seen from the server.

    Args:
        actor: The handle. Any: an actor's methods are known only at run time.
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
        """Keep the first error: later ones only say that the actor was killed. Its text may quote a request."""
        if self._reason is None:
            self._reason = type(error).__name__

    def send(self, frame: bytes) -> None:
        """Send a frame. If the worker has ended, do nothing."""
        self._answers.put_nowait(self._actor.answer.remote(frame))

    async def receive(self) -> bytes | None:
        """Wait for the next answer; `None` if the worker has ended."""
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
        """End the actor at once, because it has closed its sessions or does not answer."""
        self.kill()

    async def reap(self) -> str:
        """Wait until Ray reports that the actor has ended, and return how."""
        # An actor that Ray could not reach for a while may still be running.
        self.kill()
        await asyncio.wait([self._end], timeout=2 * GRACE)
        self._end.cancel()
        return self._reason or "Ray does not say how"


class RayLauncher(WorkerLauncher):
    """Starts actors. If Ray is not initialised yet, the launcher initialises it and shuts it down at the end.

    Args:
        address: The cluster's address for Ray: "HOST:PORT"; "auto" for the cluster of this machine; "local" for a new
            one on this machine alone, which ends with the server.
        count: The number of actors, which is also the number of cores of a cluster that is started here.
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
        # In the main thread, Ray would handle its signals. Ray's work ends with the thread that started it.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="palaestra-ray")

    async def open(self) -> None:
        """Join the cluster, or start one.

        Raises:
            InfrastructureError: no cluster can be joined or started.
        """
        if not _RAY.is_initialized():
            await asyncio.get_running_loop().run_in_executor(self._thread, self._init)
            self._is_ours = True
            _take_signals_back()

    def _init(self) -> None:
        options: dict[str, Any] = {}
        if self._address == _LOCAL:
            # Nobody else needs to reach it. Otherwise Ray stores a token in the user's home.
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
            InfrastructureError: Ray does not accept the actor.
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
    """Check that something listens at the address: Ray itself would try for many minutes and cannot be interrupted.

    Raises:
        OSError: nothing listens.
        ValueError: the address does not have a form that a server accepts.
    """
    if address in ("auto", _LOCAL):
        return
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or "/" in host:
        raise ValueError("an address is HOST:PORT, 'auto' or 'local'")
    with socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_SECONDS):
        pass


def _take_signals_back() -> None:
    """Install the SIGTERM handler again: Ray replaces it with one that prints a trace and aborts."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))

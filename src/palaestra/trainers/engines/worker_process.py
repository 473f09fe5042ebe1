"""A worker process of an engine: start it, send requests, and end it, independent of the engine's kind."""

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, TypeAlias

import orjson

from palaestra.errors import EngineError

WorkerMessage: TypeAlias = dict[str, Any]
"""Any: JSON, with both ends in this package."""
SocketStream: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]

_TAIL = 6000
"""Bytes of the worker's last output that are kept for errors."""
_FAREWELL = 5.0
"""Seconds that a worker has to end on request."""
_LAST_BREATH = 1.0
"""Seconds that a worker has to end after it has closed its socket; an orderly end takes longer than closing."""


class WorkerProcess:
    """A process at the other end of a socket, and its unanswered requests; see `spawn`.

    Args:
        process: The process, in its own process session, so that everything it starts can be killed with it.
        line: The stream of requests and answers.
        mutter: Its output.
        name: Its name in errors.
        hear: Called with messages that are neither answers nor counts.
    """

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        line: SocketStream,
        mutter: SocketStream,
        *,
        name: str,
        hear: Callable[[WorkerMessage], object],
    ) -> None:
        self.pid = process.pid
        self._name = name
        self._hear = hear
        self.counts: WorkerMessage = {}
        """Its last report of its state."""
        self._process = process
        self._reader, self._writer = line
        self._clock = asyncio.get_running_loop().time
        self._heard = self._clock()
        self._numbers = count()
        self._ready: asyncio.Future[WorkerMessage] = asyncio.get_running_loop().create_future()
        self._asked: dict[int, asyncio.Future[WorkerMessage]] = {}
        self._said = b""
        self._why = self._obituary = ""
        """Why it was killed; and the report of its end."""
        self._mutter = asyncio.create_task(self._overhear(*mutter))
        self._talk = asyncio.create_task(self._attend())

    @classmethod
    async def spawn(
        cls,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        name: str,
        hear: Callable[[WorkerMessage], object] = lambda _: None,
    ) -> "WorkerProcess":
        """Start a process.

        Args:
            command: The command; the descriptor of the process's end of the socket is appended as the last argument.
            environment: The complete environment.
            name: Its name in errors, such as "vLLM's worker".
            hear: Called with messages that are neither answers nor counts, in order with them.

        Raises:
            EngineError: the command cannot be run.
        """
        (line, its_line), (mutter, its_mutter) = socket.socketpair(), socket.socketpair()
        with its_line, its_mutter:
            try:
                process = await asyncio.create_subprocess_exec(
                    *command,
                    str(its_line.fileno()),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=its_mutter.fileno(),
                    stderr=its_mutter.fileno(),
                    pass_fds=[its_line.fileno()],
                    start_new_session=True,
                    env=environment,
                )
            except OSError as error:
                line.close()
                mutter.close()
                raise EngineError(f"{command[0]} cannot be run ({error.strerror}); name a Python that can") from error
        streams = await asyncio.open_connection(sock=line), await asyncio.open_connection(sock=mutter)
        return cls(process, *streams, name=name, hear=hear)

    @property
    def alive(self) -> bool:
        """Whether it may still answer."""
        return not self._why and not self._talk.done()

    @property
    def obituary(self) -> str:
        """A description of how it ended, with its last output."""
        return self._obituary or f"{self._name}, process {self.pid}, {self._why or 'is alive'}"

    async def begin(self, setup: WorkerMessage, *, timeout: float) -> WorkerMessage:
        """Send the setup, and return the worker's answer once it is ready.

        Raises:
            EngineError: it ended, or was not ready in time and was killed; the message quotes its last output.
        """
        self._send(setup)
        done, _ = await asyncio.wait((self._ready,), timeout=timeout)
        if not done:
            await self._kill(f"was killed since it was not ready within {timeout:g} s")
        return self._ready.result()

    async def ask(
        self, do: str, arguments: WorkerMessage, *, silence: float, held: Callable[[], bool] = lambda: False
    ) -> WorkerMessage:
        """Send a request and return the answer. Cancelling the call makes the worker drop the request.

        Args:
            do: The name of the request.
            arguments: Its arguments.
            silence: Seconds without any message, after which the worker counts as stuck and is killed.
            held: Whether it is silent on request.

        Raises:
            EngineError: the request failed, or the worker ended or was stuck.
        """
        if not self.alive:
            raise EngineError(self.obituary)
        number = next(self._numbers)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        self._heard = self._clock()
        try:
            self._send({"do": do, "id": number, "with": arguments})
            while not answer.done():
                await asyncio.wait((answer,), timeout=silence)
                if not answer.done() and not held() and self._clock() - self._heard >= silence:
                    await self._kill(f"was killed since it said nothing for {silence:g} s, asked to {do}")
        except asyncio.CancelledError:
            if self.alive:
                self._send({"do": "abort", "id": number})
            raise
        finally:
            del self._asked[number]
            answer.cancel()  # an abandoned answer is never set, and `drained` may wait for it
        said: WorkerMessage = answer.result()
        if "error" in said:
            raise EngineError(f"{self._name} could not {do}: {said['error']}")
        return said

    def tell(self, do: str, arguments: WorkerMessage) -> None:
        """Send a message without answer, in order with requests; do nothing if the worker has ended."""
        if self.alive:
            self._send({"do": do, "id": next(self._numbers), "with": arguments})

    @property
    def busy(self) -> int:
        """The number of unanswered requests."""
        return len(self._asked)

    async def drained(self) -> None:
        """Return once it has answered all earlier requests, or has ended."""
        if self._asked:
            await asyncio.wait(list(self._asked.values()))

    async def stop(self) -> None:
        """End it within seconds; unanswered requests fail at once."""
        self._why, listens = "was closed", self._ready.done()
        self._fail("the engine was closed")
        if listens:
            self._send({"do": "stop", "id": next(self._numbers)})
            await asyncio.wait((self._talk,), timeout=_FAREWELL)
        await self._kill(self._why)

    async def kill(self) -> None:
        """Kill it at once, because its state is unknown."""
        await self._kill("was killed")

    async def _kill(self, why: str) -> None:
        self._why = why
        self._signal()
        await asyncio.wait((self._talk,))

    def _signal(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def _send(self, message: WorkerMessage) -> None:
        body = orjson.dumps(message)
        self._writer.write(len(body).to_bytes(4, "big") + body)

    async def _receive(self) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                size = int.from_bytes(await self._reader.readexactly(4), "big")
                self._take(orjson.loads(await self._reader.readexactly(size)))

    async def _attend(self) -> None:
        # It may close the socket and live on; or end while a child process keeps the socket open.
        receiving, end = asyncio.create_task(self._receive()), asyncio.create_task(self._process.wait())
        await asyncio.wait((receiving, end), return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait((end,), timeout=_LAST_BREATH)
        self._signal()
        code = await end
        await asyncio.wait((receiving, self._mutter), timeout=_LAST_BREATH)
        receiving.cancel()
        self._mutter.cancel()
        self._writer.close()
        why = self._why or (f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}")
        said = self._said.decode(errors="replace").strip()
        self._obituary = f"{self._name}, process {self.pid}, {why}" + (f"; it said last:\n{said}" if said else "")
        self._fail(self._obituary)

    def _take(self, message: WorkerMessage) -> None:
        self._heard = self._clock()
        if "counts" in message:
            self.counts = message["counts"]
        elif "ready" in message:
            if not self._ready.done():
                self._ready.set_result(message["ready"])
        elif "id" not in message:
            self._hear(message)
        elif (answer := self._asked.get(message["id"])) is not None and not answer.done():
            answer.set_result(message)

    async def _overhear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(ConnectionError):
            while said := await reader.read(_TAIL):
                self._said = (self._said + said)[-_TAIL:]

    def _fail(self, message: str) -> None:
        for answer in (self._ready, *self._asked.values()):
            if not answer.done():
                answer.set_exception(EngineError(message))
                answer.exception()  # the caller may be gone

"""The process of a replica: a native engine that serves the process at the other end of a socket.

Messages are JSON after their length in four bytes, in the format of `WorkerProcess`. The first message is the setup;
each later one is a request with an id and is answered with that id. Reports of the engine's state and the decisions of
its schedule are sent without a request, before the answers that depend on them. The process ends as soon as the other
end closes, and removes the folder that passes weights.
"""

import asyncio
import os
import select
import shutil
import signal
import socket
import sys
import threading
import time
import traceback
from dataclasses import asdict
from functools import partial
from pathlib import Path

import orjson
import torch
from pydantic import TypeAdapter

from palaestra.errors import EngineError, PalaestraError
from palaestra.trainers.engines.engine import InFlight
from palaestra.trainers.engines.native import (
    EngineSchedule,
    FreeSchedule,
    NativeConfig,
    NativeEngine,
    ReplaySchedule,
    ScheduleRecorder,
)
from palaestra.trainers.engines.replicas.messages import read_request, write_completion, write_error
from palaestra.trainers.engines.replicas.weights import read_weights
from palaestra.trainers.engines.worker_process import WorkerMessage
from palaestra.trainers.model.assembly import assemble_decoder
from palaestra.trainers.model.shape import DecoderShape

_SIZE = 4
_SHAPE: TypeAdapter[DecoderShape] = TypeAdapter(DecoderShape)
_TICK = 0.02
"""Seconds between two reports of the engine's state, while it is busy."""


def serve(descriptor: int) -> None:
    """Serve the other end of a socket until it closes.

    Args:
        descriptor: The descriptor of this end. The folder for weights is the environment's TMPDIR.
    """
    parent = socket.socket(fileno=descriptor)
    threading.Thread(target=_end_with, args=(parent, os.environ["TMPDIR"]), daemon=True).start()
    asyncio.run(_serve(parent))


def _end_with(parent: socket.socket, folder: str) -> None:
    poll = select.poll()
    poll.register(parent, getattr(select, "POLLRDHUP", 0) | select.POLLHUP)
    poll.poll()
    shutil.rmtree(folder, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


async def _serve(parent: socket.socket) -> None:
    line = _Line(*await asyncio.open_connection(sock=parent))
    setup = await line.receive()
    torch.set_num_threads(setup["threads"])
    await _ReplicaWorker(line, setup).serve()


class _Line:
    """The connection to the parent."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def receive(self) -> WorkerMessage:
        size = int.from_bytes(await self._reader.readexactly(_SIZE))
        message: WorkerMessage = orjson.loads(await self._reader.readexactly(size))
        return message

    def send(self, message: WorkerMessage) -> None:
        body = orjson.dumps(message)
        self._writer.write(len(body).to_bytes(_SIZE) + body)


class _ReplicaWorker:
    """The engine and its open requests."""

    def __init__(self, line: _Line, setup: WorkerMessage) -> None:
        self._line = line
        self._asked: dict[int, asyncio.Task[None]] = {}
        self._engine = NativeEngine(
            assemble_decoder(_SHAPE.validate_python(setup["shape"]), read_weights(Path(setup["file"]))),
            NativeConfig(**setup["config"]),
            schedule=self._schedule(setup),
            temperature_head=setup["temperature_head"],
            version=setup["version"],
        )
        self._paused: bool = setup["paused"]

    def _schedule(self, setup: WorkerMessage) -> EngineSchedule:
        if setup["replay"] is not None:
            return ReplaySchedule((text.encode() for text in setup["replay"]), replica=setup["number"])
        if not setup["records"]:
            return FreeSchedule()
        return ScheduleRecorder(FreeSchedule(), self._tell_decision, replica=setup["number"])

    def _tell_decision(self, line: bytes) -> None:
        self._line.send({"line": line.decode()})

    async def serve(self) -> None:
        """Answer requests until asked to stop."""
        if self._paused:
            await self._engine.pause()
        self._line.send({"ready": {}})
        self._report()
        self._reports = asyncio.create_task(self._keep_reporting())
        while (message := await self._line.receive())["do"] != "stop":
            match message["do"]:
                case "abort":
                    if (task := self._asked.get(message["id"])) is not None:
                        task.cancel()
                case "release":
                    self._engine.release(message["with"]["trajectory"])
                    self._report()
                case _:
                    task = self._asked[message["id"]] = asyncio.create_task(self._answer(message))
                    # Not in the task itself: a task that is cancelled before it starts runs nothing.
                    task.add_done_callback(partial(self._forget, message["id"]))
        os._exit(0)  # there is nothing to save, and an orderly exit of torch takes seconds

    async def _answer(self, message: WorkerMessage) -> None:
        number = message["id"]
        try:
            answer = await getattr(self, f"_{message['do']}")(**message["with"])
        except asyncio.CancelledError:
            return
        except PalaestraError as error:
            if isinstance(self._engine.fault, EngineError):
                # The engine is lost. The parent reports this to all waiting callers, with this process's output.
                traceback.print_exc()
                sys.stderr.flush()
                os._exit(1)
            answer = write_error(error)
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        self._report()
        self._line.send({"id": number, **answer})

    def _forget(self, number: int, _: asyncio.Task[None]) -> None:
        del self._asked[number]

    async def _draw(self, request: WorkerMessage) -> WorkerMessage:
        return write_completion(await self._engine.generate(read_request(request)))

    async def _update(self, file: str, version: int, in_flight: InFlight) -> WorkerMessage:
        await self._engine.update_weights(read_weights(Path(file)), version, in_flight=in_flight)
        return {}

    async def _pause(self) -> WorkerMessage:
        await self._engine.pause()
        return {}

    async def _resume(self) -> WorkerMessage:
        await self._engine.resume()
        return {}

    def _report(self) -> None:
        self._line.send({"counts": {**asdict(self._engine.stats()), "processor_seconds": time.process_time()}})

    async def _keep_reporting(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            if self._asked:
                self._report()

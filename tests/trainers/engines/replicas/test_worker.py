"""The process of a replica, here in the test's own: what it holds of what it was asked."""

import asyncio
from dataclasses import asdict
from pathlib import Path

import orjson

from decoders import tiny
from engines.bench import until
from engines.plain import telling
from palaestra.trainers.engines.engine import Sampling, TurnRequest
from palaestra.trainers.engines.native import NativeConfig
from palaestra.trainers.engines.replicas.messages import write_request
from palaestra.trainers.engines.replicas.weights import write_weights
from palaestra.trainers.engines.replicas.worker import _Line, _ReplicaWorker
from palaestra.trainers.engines.worker_process import WorkerMessage

SHAPE = tiny(head_dim=16, context=512)
REQUEST = TurnRequest(trajectory="t", context=(1, 2), sampling=Sampling(limit=3, stop=()))


class Recorder(_Line):
    """A parent that has said everything at once, and notes what it is told."""

    def __init__(self, *messages: WorkerMessage) -> None:
        reader = asyncio.StreamReader()
        for body in map(orjson.dumps, messages):
            reader.feed_data(len(body).to_bytes(4) + body)
        self._reader = reader
        self.told: list[WorkerMessage] = []

    def send(self, message: WorkerMessage) -> None:
        self.told.append(message)


def test_a_turn_that_is_given_up_before_it_begins_is_forgotten(tmp_path: Path) -> None:
    file = tmp_path / "weights.safetensors"
    write_weights(telling(SHAPE, seed=0).state_dict(), file, version=0, tied=SHAPE.tied)
    setup = {
        "shape": asdict(SHAPE),
        "file": str(file),
        "version": 0,
        "config": asdict(NativeConfig()),
        "temperature_head": False,
        "records": False,
        "replay": None,
        "paused": False,
    }
    draw = {"do": "draw", "with": {"request": write_request(REQUEST)}}

    async def test() -> None:
        line = Recorder({**draw, "id": 0}, {"do": "abort", "id": 0}, {**draw, "id": 1})
        worker = _ReplicaWorker(line, setup)
        serving = asyncio.ensure_future(worker.serve())
        async with asyncio.timeout(30):
            await until(lambda: any(message.get("id") == 1 for message in line.told))
            await until(lambda: not worker._asked)
        assert not any(message.get("id") == 0 for message in line.told)
        serving.cancel()
        worker._reports.cancel()

    asyncio.run(test())

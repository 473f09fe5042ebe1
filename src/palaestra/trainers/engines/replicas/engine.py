"""Several native engines behind one interface, each in its own process with its own cores.

Each turn is sampled with the noise of its own places, regardless of the batch. The choice of replica therefore affects
results at most by rounding, and not at all in the invariant mode.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from itertools import count
from pathlib import Path
from time import perf_counter

from palaestra.errors import EngineError, ReplayError
from palaestra.trainers.engines.engine import Completion, Engine, EngineStats, InFlight, TurnRequest, Weights
from palaestra.trainers.engines.native import NativeConfig, recorded_placements
from palaestra.trainers.engines.native.setup import engine_setup
from palaestra.trainers.engines.native.weights import check_weights
from palaestra.trainers.engines.replicas.config import ReplicasConfig
from palaestra.trainers.engines.replicas.places import ReplicaPlaces
from palaestra.trainers.engines.replicas.replica import Replica
from palaestra.trainers.engines.replicas.weights import write_weights
from palaestra.trainers.engines.rules import check_request
from palaestra.trainers.engines.scratch import scratch_folder
from palaestra.trainers.engines.worker_process import WorkerMessage
from palaestra.trainers.model.decoder import Decoder


class ReplicaEngine(Engine):
    """Samples turns with a native decoder, in several processes.

    The processes start with the first turn. When one dies, its turns fail at once with an `EngineError`, and the next
    turn requested there starts another process, with the latest weights. All processes end with this one, however it
    ends.

    Trajectories of one group are sampled by one replica, which holds their shared prefix once. New weights are written
    once, to shared memory if it has room, and every replica reads them between two of its own steps; `update_weights`
    returns when all have. Meanwhile, turns of different replicas may have different versions.

    `busy_seconds` is the mean over the replicas, and `update_seconds` the time until the last one had the weights.

    Args:
        model: The model; its weights are copied, so later training has no effect until `update_weights`.
        config: Size and precision of each replica.
        replicas: The number of replicas and their devices.
        temperature_head: Whether the model's head chooses the temperature of each token.
        version: The version of the weights in `model`.
        sink: Called with each line of the schedules.
        replay: The lines of a recorded run to replay.
        say: Called with a message when a process has died.

    Raises:
        ValueError: the capacity is less than one trajectory may need, or the model lacks a temperature head.
        ConfigError: a device does not support the settings.
        ReplayError: the replayed run had more replicas, or one that was replaced.
    """

    def __init__(
        self,
        model: Decoder,
        config: NativeConfig | None = None,
        replicas: ReplicasConfig | None = None,
        *,
        temperature_head: bool = False,
        version: int = 0,
        sink: Callable[[bytes], object] | None = None,
        replay: Sequence[bytes] | None = None,
        say: Callable[[str], object] = print,
    ) -> None:
        config, replicas = config or NativeConfig(), replicas or ReplicasConfig()
        devices = replicas.devices or (config.device or str(model.lm_head.weight.device),) * replicas.count
        self._configs = [replace(config, device=device) for device in devices]
        # Checked here first, so that errors are raised in this process, and kernels are compiled once.
        setups = [
            engine_setup(model.shape, one, device=model.lm_head.weight.device, temperature_head=temperature_head)
            for one in self._configs
        ]
        self._context = setups[0].context
        self._config = replicas
        self._capacity = config.capacity * replicas.count
        self._temperature_head = temperature_head
        self._shape = model.shape
        weights = model.state_dict()
        self._shapes = {name: weight.shape for name, weight in weights.items()}
        self._replay = None if replay is None else [line.decode() for line in replay]
        self._places = ReplicaPlaces(replicas.count, recorded=_placements(replay or (), replicas.count))
        self._sink = sink
        self._scratch = scratch_folder("palaestra-replicas-", sum(weight.nbytes for weight in weights.values()))
        self._files = count()
        self._version = version
        self._file = self._write(weights, version)
        self._processes = count()
        """Process numbers in the record; the first ones equal the numbers of the replicas."""
        self._replicas = [
            Replica(
                number, replicas, folder=self._scratch.name, setup=self._setup, record=self._record_decision, say=say
            )
            for number in range(replicas.count)
        ]
        self._turns: set[str] = set()
        """Trajectories with a running turn."""
        self._updates = asyncio.Lock()
        self._update_seconds = 0.0
        self._begun = self._paused = self._closed = False
        self._fault: OSError | None = None

    @property
    def context(self) -> int:
        """See `Engine`."""
        return self._context

    async def generate(self, request: TurnRequest) -> Completion:
        """See `Engine`. The first turns wait for the processes to start; this does not count towards their time-out."""
        self._check_usable()
        check_request(request, context=self._context, vocabulary=self._shape.vocabulary)
        if request.trajectory in self._turns:
            raise ValueError(
                f"trajectory {request.trajectory!r} has a turn under way already; wait for it or cancel it"
            )
        self._turns.add(request.trajectory)
        try:
            if not self._begun:
                self._begin()
            drawn = await self._replicas[self._places.place(request.trajectory, request.group)].draw(request)
        finally:
            self._turns.remove(request.trajectory)
        self._check_usable()
        return drawn

    def release(self, trajectory: str) -> None:
        """See `Engine`."""
        replica = self._places.release(trajectory)
        if replica is not None and not self._closed:
            self._replicas[replica].release(trajectory)

    async def update_weights(self, weights: Weights, version: int, *, in_flight: InFlight = "keep") -> None:
        """See `Engine`. A replica that fails during the update is replaced by one that starts with the new weights."""
        self._check_usable()
        check_weights(self._shapes, weights, version=version, tied=self._shape.tied)
        async with self._updates:
            self._check_usable()
            began = perf_counter()
            before, self._file = self._file, await asyncio.to_thread(self._write, weights, version)
            self._version = version
            update: WorkerMessage = {"file": str(self._file), "version": version, "in_flight": in_flight}
            await asyncio.gather(*(replica.update(update) for replica in self._replicas))
            before.unlink(missing_ok=True)
            self._update_seconds = perf_counter() - began

    async def pause(self) -> None:
        """See `Engine`."""
        self._check_usable()
        self._paused = True
        await asyncio.gather(*(replica.command("pause") for replica in self._replicas))

    async def resume(self) -> None:
        """See `Engine`."""
        self._check_usable()
        self._paused = False
        await asyncio.gather(*(replica.command("resume") for replica in self._replicas))

    def stats(self) -> EngineStats:
        """See `Engine`; from the replicas' last reports."""
        counts = [replica.counts() for replica in self._replicas]
        return EngineStats(
            running=sum(replica.running for replica in self._replicas),
            waiting=sum(replica.waiting for replica in self._replicas),
            resident=sum(replica.resident for replica in self._replicas),
            capacity=self._capacity,
            drawn=int(sum(one["drawn"] for one in counts)),
            prefilled=int(sum(one["prefilled"] for one in counts)),
            reused=int(sum(one["reused"] for one in counts)),
            busy_seconds=sum(one["busy_seconds"] for one in counts) / len(counts),
            version=self._version,
            weight_bytes=sum(replica.weight_bytes for replica in self._replicas),
            cache_bytes=sum(replica.cache_bytes for replica in self._replicas),
            update_seconds=self._update_seconds,
        )

    def processor_seconds(self) -> float:
        """Processor seconds of the processes, including their start; from their last reports."""
        return sum(replica.counts()["processor_seconds"] for replica in self._replicas)

    async def close(self) -> None:
        """See `Engine`; when it returns, all processes have ended."""
        self._closed = True
        await asyncio.gather(*(replica.close() for replica in self._replicas))
        self._scratch.cleanup()

    def _check_usable(self) -> None:
        if self._closed:
            raise EngineError("the engine was closed; make a new one to draw with")
        if self._fault is not None:
            raise EngineError(
                f"what the engine decides cannot be written down ({self._fault}); make room, and make a new engine"
            ) from self._fault

    def _begin(self) -> None:
        """Start every replica with one version; later weights of each are recorded."""
        self._begun = True
        for replica in self._replicas:
            replica.start()

    def _setup(self, replica: int) -> WorkerMessage:
        """The setup of a replica's process that starts now."""
        process = next(self._processes)
        if self._replay is not None and process >= len(self._replicas):
            raise ReplayError(f"replica {replica} has ended, and what it held with it; replay from the beginning")
        return {
            "number": process,
            "file": str(self._file),
            "shape": asdict(self._shape),
            "version": self._version,
            "config": asdict(self._configs[replica]),
            "threads": self._config.threads,
            "temperature_head": self._temperature_head,
            "records": self._sink is not None,
            "replay": self._replay,
            "paused": self._paused,
        }

    def _record_decision(self, message: WorkerMessage) -> None:
        if self._sink is None or self._fault is not None:
            return
        try:
            self._sink(message["line"].encode())
        except OSError as error:
            self._fault = error

    def _write(self, weights: Weights, version: int) -> Path:
        path = Path(self._scratch.name) / f"{next(self._files)}.safetensors"
        write_weights(weights, path, version=version, tied=self._shape.tied)
        return path


def _placements(replay: Sequence[bytes], replicas: int) -> dict[str, int]:
    placements = recorded_placements(replay)
    if (highest := max(placements.values(), default=0)) >= replicas:
        raise ReplayError(
            f"the record is of {highest + 1} processes that drew, and replicas.count={replicas}: one has ended and was "
            "replaced, and what it had drawn is not repeatable"
        )
    return placements

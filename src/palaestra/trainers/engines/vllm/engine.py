"""vLLM as an engine: tokens are sampled in a separate process, with a separate Python."""

import asyncio
import os
import shutil
from pathlib import Path

import torch
from safetensors import SafetensorError

from palaestra.errors import CheckpointError, EngineError, WaitError
from palaestra.seeding import Stream
from palaestra.trainers.engines.engine import Completion, Engine, EngineStats, InFlight, TurnRequest, Weights
from palaestra.trainers.engines.rules import check_request
from palaestra.trainers.engines.scratch import scratch_folder
from palaestra.trainers.engines.vllm.config import VllmConfig
from palaestra.trainers.engines.vllm.weights import ModelFolder
from palaestra.trainers.engines.worker_process import WorkerMessage, WorkerProcess

_WORKER = Path(__file__).with_name("worker.py")
_ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "PYTHONSAFEPATH": "1",
    "PYTHONUNBUFFERED": "1",
}
_NOT_COMPILED = {"TORCH_COMPILE_DISABLE": "1"}
"""Environment if `eager` is set. vLLM still compiles parts of its sampler, for each scratch folder."""
_OURS = ("PYTHONPATH", "PYTHONHOME", "PYTHONWARNINGS")
"""Variables for this Python that would mislead another one."""
_COUNTS = ("drawn", "prefilled", "reused", "busy_seconds")


class VllmEngine(Engine):
    """Turns sampled by vLLM.

    A worker process starts with the first turn. When it dies, its requests fail at once with an `EngineError`, and the
    next turn starts another worker, with the latest weights and version.

    vLLM takes no noise from outside: each turn has a seed, from the request's noise and the place where it begins.
    Tokens are marked with the version that vLLM reports for the step that sampled them. vLLM manages its own prefix
    cache, so `release` does nothing, and `resident` counts only running turns. New weights are passed as a file, in
    shared memory if it has room; the file stays for the next worker.

    Args:
        config: The model and vLLM's settings.
        version: The version of the weights in `config.model`.

    Raises:
        CheckpointError: `config.model` holds no model.
    """

    def __init__(self, config: VllmConfig, *, version: int = 0) -> None:
        if config.model is None:
            raise CheckpointError("model=None: vLLM serves the model of a folder; give one")
        self._config = config
        self._model = ModelFolder(config.model)
        self._dtype = config.dtype or self._model.dtype
        self._scratch = scratch_folder("palaestra-vllm-", self._model.bytes)
        self._folder, self._version, self._updates = config.model, version, 0
        self._worker: WorkerProcess | None = None
        self._start: asyncio.Task[None] | None = None
        self._capacity = 0
        self._past = dict.fromkeys(_COUNTS, 0.0)
        """Counts of workers that have ended."""
        self._turns: set[str] = set()
        """Trajectories with a running turn."""
        self._order = asyncio.Lock()
        """Held during pauses and updates."""
        self._resumed, self._open = asyncio.Event(), asyncio.Event()
        """Two events: not paused; and ready for turns, that is, neither paused nor in an update."""
        self._resumed.set()
        self._open.set()
        self._closed = False

    @property
    def context(self) -> int:
        """Maximum tokens of a trajectory."""
        return self._config.context or self._model.context

    async def generate(self, request: TurnRequest) -> Completion:
        """Sample one turn; see `Engine`. The first one waits until vLLM has started."""
        self._check(request)
        self._turns.add(request.trajectory)
        limit = asyncio.timeout(request.timeout)
        try:
            async with limit:
                return await self._turn(request)
        except TimeoutError:
            if not limit.expired():
                raise
            raise WaitError(
                f"trajectory {request.trajectory!r} waited for a turn of {request.sampling.limit} tokens from vLLM for "
                f"{request.timeout:g} s, its time-out; {len(self._turns)} turns are under way"
            ) from None
        finally:
            self._turns.remove(request.trajectory)

    def release(self, trajectory: str) -> None:
        """Do nothing: vLLM drops the least recently used entries itself."""

    async def update_weights(self, weights: Weights, version: int, *, in_flight: InFlight = "keep") -> None:
        """Sample with new weights from now on; see `Engine`. After an `EngineError` the old ones are in use."""
        self._model.check(weights)
        while True:
            if in_flight == "wait":
                await self._resumed.wait()
            async with self._order:
                if in_flight != "wait" or self._resumed.is_set():
                    return await self._update(weights, version, in_flight)

    async def pause(self) -> None:
        """Stop sampling; turns requested meanwhile wait."""
        async with self._order:
            self._check_open()
            self._resumed.clear()
            self._open.clear()
            await self._tell("pause")

    async def resume(self) -> None:
        """Continue after `pause`."""
        async with self._order:
            self._check_open()
            await self._tell("resume")
            self._resumed.set()
            self._open.set()

    def stats(self) -> EngineStats:
        """The state that vLLM reported after its last step; counts continue when a worker is replaced."""
        now: WorkerMessage = self._worker.counts if self._worker is not None else {}
        counts = {name: past + now.get(name, 0) for name, past in self._past.items()}
        at_worker = min(len(self._turns), self._worker.busy) if self._worker is not None else 0
        running = max(0, at_worker - int(now.get("waiting", 0)))
        return EngineStats(
            running=running,
            waiting=len(self._turns) - running,
            resident=round(now.get("usage", 0.0) * self._capacity) if at_worker else 0,
            capacity=self._capacity,
            drawn=int(counts["drawn"]),
            prefilled=int(counts["prefilled"]),
            reused=int(counts["reused"]),
            busy_seconds=counts["busy_seconds"],
            version=self._version,
        )

    @property
    def pid(self) -> int | None:
        """The id of the worker process; `None` before the first turn."""
        return None if self._worker is None else self._worker.pid

    async def close(self) -> None:
        """End the worker and remove its files; running turns end with an `EngineError`."""
        self._closed = True
        self._open.set()
        self._resumed.set()
        if self._worker is not None:
            await self._worker.stop()
        if self._start is not None:
            await asyncio.wait((self._start,))
        self._scratch.cleanup()

    def _check_open(self) -> None:
        if self._closed:
            raise EngineError("the engine was closed; make another one")

    def _check(self, request: TurnRequest) -> None:
        self._check_open()
        check_request(request, context=self.context, vocabulary=self._model.vocabulary)
        if request.trajectory in self._turns:
            raise ValueError(
                f"trajectory {request.trajectory!r} has a turn under way, and one at a time; wait for it, or cancel it"
            )

    async def _turn(self, request: TurnRequest) -> Completion:
        sampling = request.sampling
        wanted = {
            "context": request.context,
            "max_tokens": min(sampling.limit, self.context - len(request.context)),
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "stop_token_ids": sampling.stop,
            "seed": Stream(request.noise, len(request.context)).word() >> 1,
        }
        worker = await self._ready_for_turns()
        turn = await worker.ask("draw", wanted, silence=self._config.silence, held=lambda: not self._resumed.is_set())
        return Completion(
            ids=tuple(turn["ids"]),
            logprobs=tuple(turn["logprobs"]),
            versions=tuple(turn["versions"]),
            stop=turn["stop"],
        )

    async def _ready_for_turns(self) -> WorkerProcess:
        while True:
            await self._open.wait()
            self._check_open()
            if self._start is None and (self._worker is None or not self._worker.alive):
                self._start = asyncio.create_task(self._begin())
                self._start.add_done_callback(self._begun)
            if self._start is not None:
                await asyncio.shield(self._start)
            elif self._open.is_set() and self._worker is not None:
                return self._worker

    async def _begin(self) -> None:
        if self._worker is not None:
            self._past = {name: past + self._worker.counts.get(name, 0) for name, past in self._past.items()}
            self._worker = None
        environment = {name: value for name, value in os.environ.items() if name not in _OURS}
        compiling = _NOT_COMPILED if self._config.eager else {}
        environment |= {**_ENVIRONMENT, **compiling, "TMPDIR": self._scratch.name, **self._config.environment}
        self._worker = await WorkerProcess.spawn(
            (str(self._config.python), str(_WORKER), self._scratch.name), environment, name="vLLM's worker"
        )
        if self._closed:
            await self._worker.stop()
        ready = await self._worker.begin(self._setup(), timeout=self._config.start_timeout)
        self._capacity = ready["capacity"]

    def _begun(self, start: asyncio.Task[None]) -> None:
        self._start = None
        if not start.cancelled():
            start.exception()  # its waiting turns get the error; all may have been cancelled

    def _setup(self) -> WorkerMessage:
        return {
            "version": self._version,
            "arguments": {
                "model": str(self._folder),
                "max_model_len": self.context,
                "dtype": self._dtype,
                "kv_cache_memory_bytes": self._config.cache_bytes,
                "max_num_seqs": self._config.turns,
                "enforce_eager": self._config.eager,
                **self._config.arguments,
            },
        }

    async def _tell(self, do: str) -> None:
        worker = self._worker
        if self._start is not None or worker is None or not worker.alive:
            return
        try:
            await worker.ask(do, {}, silence=self._config.silence)
        except EngineError:
            # A worker that has ended need not be paused; the next one starts unpaused.
            if worker.alive:
                raise

    async def _update(self, weights: Weights, version: int, in_flight: InFlight) -> None:
        self._check_open()
        self._updates += 1
        folder = Path(self._scratch.name) / str(self._updates)
        try:
            dtype = getattr(torch, self._dtype)
            await asyncio.to_thread(self._model.write, weights, folder, dtype=dtype)
            self._open.clear()
            await self._hand_over(folder, version, in_flight)
        except BaseException as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, OSError | SafetensorError):
                raise EngineError(f"version {version} could not be written to {folder}: {error}") from error
            raise
        finally:
            if self._resumed.is_set():
                self._open.set()
        if self._folder != self._config.model:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._folder, self._version = folder, version

    async def _hand_over(self, folder: Path, version: int, in_flight: InFlight) -> None:
        while True:
            worker = self._worker
            if self._start is not None:
                await asyncio.wait((self._start,))
            elif worker is None or not worker.alive:
                return
            elif in_flight == "wait" and worker.busy:
                await worker.drained()
            else:
                break
        update = {
            "folder": str(folder),
            "version": version,
            "forget": in_flight != "keep",
            "resume": self._resumed.is_set(),
        }
        try:
            await worker.ask("update", update, silence=self._config.silence)
        except BaseException:
            # It is unknown which weights it holds now; a new worker starts with the old ones.
            await worker.kill()
            raise

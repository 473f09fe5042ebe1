# vLLM is installed under another Python than the one that checks types.
# mypy: disable-error-code="import-not-found, misc"
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUntypedBaseClass=false
# ruff: noqa: E402
"""The process that runs vLLM: a script for another Python, which imports only vLLM and the standard library.

    python worker.py <folder for passing files> <descriptor of a socket>

Messages are JSON after their length in four bytes. The first message is vLLM's setup; each later one is a request with
an id and is answered with that id. Sampled tokens are reported without a request. The process, and those that vLLM
starts, end as soon as the other end of the socket closes, and remove the folder.

All uses of vLLM's interfaces, as of version 0.32, are in this file.
"""

import os
import select
import shutil
import signal
import socket
import sys
import threading


def _die_with_parent(parent: socket.socket, scratch: str) -> None:
    """Wait for the other end to close, then end this process and its children and remove the folder."""
    poll = select.poll()
    poll.register(parent, select.POLLRDHUP | select.POLLHUP)
    poll.poll()
    shutil.rmtree(scratch, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


def _tied_to_parent() -> socket.socket:
    parent = socket.socket(fileno=int(sys.argv[2]))
    parent.set_inheritable(False)
    threading.Thread(target=_die_with_parent, args=(parent, sys.argv[1]), daemon=True).start()
    return parent


# Before vLLM is imported, which takes seconds.
PARENT = _tied_to_parent() if __name__ == "__main__" else None

import asyncio
import functools
import itertools
import json
import time
import traceback
from typing import Any

from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.inputs.engine import tokens_input
from vllm.model_executor.layers.utils import dispatch_cpu_unquantized_gemm
from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead
from vllm.platforms import current_platform
from vllm.sampling_params import RequestOutputKind, SamplingParams
from vllm.v1.engine.async_llm import AsyncLLM
from vllm.v1.metrics.loggers import StatLoggerBase

Message = dict[str, Any]
"""Any: JSON, with both ends in this package."""


class Line:
    """The connection to the parent."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def receive(self) -> Message:
        """The next message."""
        size = int.from_bytes(await self._reader.readexactly(4), "big")
        message: Message = json.loads(await self._reader.readexactly(size))
        return message

    def send(self, message: Message) -> None:
        """Send a message, in order."""
        body = json.dumps(message).encode()
        self._writer.write(len(body).to_bytes(4, "big") + body)

    async def flush(self) -> None:
        """Wait until almost everything has been sent to the parent."""
        await self._writer.drain()


class VllmWorker:
    """vLLM and its open requests."""

    def __init__(self, line: Line, setup: Message) -> None:
        self._line = line
        self._counts = VllmCounts(line)
        self._engine = _engine(setup["arguments"], self._counts)
        self._drawing = 0
        """The number of running turns."""
        self._asked: dict[int, asyncio.Task[None]] = {}
        self._names = itertools.count()
        self._salt = 0
        """Turns share keys and values only with an equal salt, which changes with the weights."""

    async def serve(self, version: int) -> None:
        """Answer requests until asked to stop."""
        await self._engine.update_weight_version(str(version))
        cache = self._engine.vllm_config.cache_config
        self._line.send({"ready": {"capacity": cache.num_gpu_blocks * cache.block_size}})
        while (message := await self._line.receive())["do"] != "stop":
            if message["do"] == "abort":
                if (task := self._asked.get(message["id"])) is not None:
                    task.cancel()
                continue
            task = self._asked[message["id"]] = asyncio.create_task(self._answer(message))
            # Not in the task itself: a task that is cancelled before it starts runs nothing.
            task.add_done_callback(functools.partial(self._forget, message["id"]))
        self._engine.shutdown()
        os._exit(0)

    async def _answer(self, message: Message) -> None:
        number = message["id"]
        try:
            answer = await getattr(self, f"_{message['do']}")(**message["with"])
        except asyncio.CancelledError:
            return
        except Exception as error:
            traceback.print_exc()
            if self._engine.errored:
                # vLLM is lost. The parent reports this to all waiting callers, with this process's output.
                sys.stderr.flush()
                os._exit(1)
            answer = {"error": f"{type(error).__name__}: {error}"}
        self._line.send({"id": number, **answer})
        await self._line.flush()

    def _forget(self, number: int, _: object) -> None:
        del self._asked[number]

    async def _draw(self, context: list[int], **wanted: Any) -> Message:
        sampling = SamplingParams(
            **wanted,
            ignore_eos=True,
            detokenize=False,
            logprobs=0,
            flat_logprobs=True,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )
        prompt = tokens_input(context, cache_salt=str(self._salt))
        self._drawing += 1
        if self._drawing == 1:
            self._counts.begin()
        try:
            told = [output async for output in self._engine.generate(prompt, sampling, str(next(self._names)))]
        finally:
            self._drawing -= 1
        turn = told[-1].outputs[0]
        if turn.finish_reason not in {"stop", "length"}:
            return {"error": f"vLLM ended the turn with {turn.finish_reason!r}"}
        return {
            "ids": list(turn.token_ids),
            "logprobs": [turn.logprobs.logprobs[start] for start in turn.logprobs.start_indices],
            "versions": [int(span.version) for span in turn.weight_versions for _ in range(span.start, span.end)],
            "stop": "end" if turn.finish_reason == "stop" else "length",
        }

    async def _pause(self) -> Message:
        await self._engine.pause_generation(mode="keep", clear_cache=False)
        return {}

    async def _resume(self) -> Message:
        self._counts.begin()
        await self._engine.resume_generation()
        return {}

    async def _update(self, folder: str, version: int, forget: bool, resume: bool) -> Message:  # noqa: FBT001
        # Clearing the cache puts running turns back into the queue: their contexts are computed again.
        await self._engine.pause_generation(mode="keep", clear_cache=forget)
        await self._engine.collective_rpc("reload_weights", kwargs={"weights_path": folder})
        if current_platform.is_cpu():
            await self._engine.collective_rpc("apply_model", args=(_repack_output_layer,))
        await self._engine.update_weight_version(str(version))
        self._salt += 1
        if resume:
            await self._resume()
        return {}


class VllmCounts(StatLoggerBase):
    """Sums up vLLM's statistics of each step and sends them."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._drawn = self._prefilled = self._reused = 0
        self._busy, self._since = 0.0, time.monotonic()

    def begin(self) -> None:
        """Start the clock after an idle time."""
        self._since = time.monotonic()

    def record(self, scheduler_stats: Any, iteration_stats: Any, *_: Any, **__: Any) -> None:
        """Add a step, including the time since the one before."""
        now = time.monotonic()
        self._busy, self._since = self._busy + now - self._since, now
        if iteration_stats is not None:
            self._drawn += iteration_stats.num_generation_tokens
        if scheduler_stats is None:
            return
        read = scheduler_stats.prefix_cache_stats
        self._reused += read.hits + read.preempted_hits
        self._prefilled += read.queries + read.preempted_queries - read.hits - read.preempted_hits
        counts = {
            "drawn": self._drawn,
            "prefilled": self._prefilled,
            "reused": self._reused,
            "busy_seconds": self._busy,
            "waiting": scheduler_stats.num_waiting_reqs + scheduler_stats.num_skipped_waiting_reqs,
            "usage": scheduler_stats.kv_cache_usage,
        }
        self._line.send({"counts": counts})

    def log_engine_initialized(self) -> None:
        """Do nothing."""


def _engine(arguments: Message, counts: VllmCounts) -> Any:
    on_cpu = current_platform.is_cpu()
    if on_cpu:
        arguments = {**_on_cpu(arguments), **arguments}
        # The first lets the model run in the engine core's process; the second lets functions be sent there.
        os.environ |= {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_ALLOW_INSECURE_SERIALIZATION": "1"}
    config = AsyncEngineArgs(
        **{
            "skip_tokenizer_init": True,
            "generation_config": "vllm",
            "logprobs_mode": "processed_logprobs",
            "enable_prefix_caching": True,
            "disable_log_stats": True,
            "seed": 0,
            **arguments,
        }
    ).create_engine_config()
    if on_cpu:
        # vLLM's own default, which its CPU platform changes because of threads that do not run in this process. A
        # second start of the interpreter would double the start time.
        os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "fork"

    def same(*_: Any) -> VllmCounts:
        return counts

    return AsyncLLM.from_vllm_config(config, stat_loggers=[same], disable_log_stats=True)


def _on_cpu(arguments: Message) -> Message:
    return {
        # Reading a context in parts rewinds its generator, which the CPU's cannot do.
        "enable_chunked_prefill": False,
        "max_num_batched_tokens": max(arguments["max_model_len"], 8192),
        "distributed_executor_backend": "uni",
    }


def _repack_output_layer(model: Any) -> None:
    """Repack the output layer with its new weights: a tied one is loaded as the embedding and keeps its old packing."""
    for layer in model.modules():
        if isinstance(layer, ParallelLMHead):
            dispatch_cpu_unquantized_gemm(layer, remove_weight=False)


async def main(parent: socket.socket) -> None:
    """Serve the parent."""
    line = Line(*await asyncio.open_connection(sock=parent))
    setup = await line.receive()
    await VllmWorker(line, setup).serve(setup["version"])


if PARENT is not None:
    asyncio.run(main(PARENT))

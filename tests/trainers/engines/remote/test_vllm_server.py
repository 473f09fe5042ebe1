"""vLLM's own server, on the CPU: what we ask it in its dialect, it understands. It is started once."""

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import TypeVar

import pytest
import torch
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from engines.plain import expected, telling
from palaestra.agents.remote import EndpointConfig, RemoteChat, RemoteChatConfig, TokenUsage
from palaestra.agents.remote.edge import run_in_thread
from palaestra.errors import EngineError
from palaestra.seeding import Stream
from palaestra.trainers.engines.engine import Sampling, TurnRequest
from palaestra.trainers.engines.noise import noise_key
from palaestra.trainers.engines.remote import RemoteEngine, RemoteEngineConfig
from palaestra.trainers.model.checkpoint import save_decoder
from palaestra.trainers.model.shape import DecoderShape

pytestmark = pytest.mark.xdist_group("vllm")

T = TypeVar("T")
SHAPE = DecoderShape(
    vocabulary=2048, hidden=256, layers=6, heads=8, kv_heads=4, head_dim=32, mlp=1024, context=512, tied=True
)
PYTHON = Path(__file__).parents[4] / ".venv-vllm" / "bin" / "python"
UNKNOWN = "w0"
KEY = "PALAESTRA_TEST_KEY"
OPEN = Sampling(limit=16, stop=())


def save_model(folder: Path) -> None:
    """A decoder with opinions, and a tokenizer of words that are its ids."""
    save_decoder(telling(SHAPE, seed=1), folder)
    words = models.WordLevel({f"w{number}": number for number in range(SHAPE.vocabulary)}, unk_token=UNKNOWN)
    template = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
    PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(words), unk_token=UNKNOWN, chat_template=template
    ).save_pretrained(folder)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if not PYTHON.is_file():
        pytest.fail(f"{PYTHON} is missing: `make .venv-vllm/vllm.stamp` builds vLLM's environment, `make test` does so")
    folder = tmp_path_factory.mktemp("served")
    save_model(folder)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = {
        "model": folder,
        "served-model-name": "tiny",
        "host": "127.0.0.1",
        "port": port,
        "max-model-len": SHAPE.context,
        "max-num-seqs": 16,
        "dtype": "float32",
        "kv-cache-memory-bytes": 24 << 20,
        "logprobs-mode": "processed_logprobs",
    }
    command = [str(PYTHON), "-m", "vllm.entrypoints.openai.api_server", "--enforce-eager"]
    command += [f"--{name}={value}" for name, value in options.items()]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": "1",
        "TORCH_COMPILE_DISABLE": "1",  # it compiles parts of its sampler even so, which takes 17 s
        "VLLM_API_KEY": "sk-served",
    }
    said: list[str] = []
    settled = Event()
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:

        def listen() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                said.append(line)
                if "startup complete" in line:
                    settled.set()
            settled.set()

        listening = Thread(target=listen)
        listening.start()
        try:
            assert settled.wait(timeout=300)
            assert process.poll() is None, "".join(said[-40:])
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            listening.join()


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "sk-served")


def endpoint(url: str) -> EndpointConfig:
    return EndpointConfig(base_url=url, key_variable=KEY, tries=2)


def with_engine(url: str, story: Callable[[RemoteEngine], Awaitable[T]], *, model: str = "tiny") -> T:
    config = RemoteEngineConfig(
        endpoint=endpoint(url),
        model=model,
        context=SHAPE.context,
        vocabulary=SHAPE.vocabulary,
        logprobs="processed",
        version=3,
    )

    async def told() -> T:
        engine = RemoteEngine(config)
        try:
            async with asyncio.timeout(120):
                return await story(engine)
        finally:
            await engine.close()

    return asyncio.run(told())


def request(name: str, sampling: Sampling, *, length: int = 30) -> TurnRequest:
    stream = Stream.root("ids", name)
    context = tuple(stream.below(SHAPE.vocabulary) for _ in range(length))
    return TurnRequest(trajectory=name, context=context, sampling=sampling, noise=noise_key(name))


def test_log_probabilities_are_those_of_the_distribution_that_was_drawn_from(url: str) -> None:
    requests = [
        request(f"{temperature} {top_p}", Sampling(limit=16, stop=(), temperature=temperature, top_p=top_p))
        for temperature in (0.7, 1.0, 1.6)
        for top_p in (0.4, 1.0)
    ]

    async def story(engine: RemoteEngine) -> None:
        turns = await asyncio.gather(*map(engine.generate, requests))
        decoder = telling(SHAPE, seed=1)
        for asked, turn in zip(requests, turns, strict=True):
            logp_TV = expected(decoder, asked.context, turn.ids, asked.sampling)
            wanted_T = logp_TV[range(16), list(turn.ids)]
            assert (torch.tensor(turn.logprobs) - wanted_T).abs().max().item() < 5e-4
            assert (turn.stop, turn.versions) == ("length", (3,) * 16)
        assert await asyncio.gather(*map(engine.generate, requests)) == turns, "equal seeds give equal turns"

    with_engine(url, story)


def test_turns_end_at_stop_tokens_and_where_the_context_does(url: str) -> None:
    stop = tuple(range(0, SHAPE.vocabulary, 4))

    async def story(engine: RemoteEngine) -> None:
        requests = [request(f"stop {n}", Sampling(limit=200, stop=stop)) for n in range(8)]
        for turn in await asyncio.gather(*map(engine.generate, requests)):
            assert turn.stop == "end"
            assert [token in stop for token in turn.ids] == [False] * (len(turn.ids) - 1) + [True]
        turn = await engine.generate(request("long", OPEN, length=SHAPE.context - 3))
        assert (len(turn.ids), turn.stop) == (3, "length")

    with_engine(url, story)


def test_a_wrong_key_and_a_wrong_model_are_told(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EngineError, match=r"status 404: The model `other` does not exist.*check the address and"):
        with_engine(url, lambda engine: engine.generate(request("a", OPEN)), model="other")
    monkeypatch.setenv(KEY, "sk-wrong")
    with pytest.raises(EngineError, match="status 401: Unauthorized; check the key"):
        with_engine(url, lambda engine: engine.generate(request("a", OPEN)))


def test_a_chat_is_answered(url: str) -> None:
    config = RemoteChatConfig(endpoint=endpoint(url), model="tiny", options={"max_tokens": 5})
    with RemoteChat(config) as model:
        reply = run_in_thread(model.chat([{"role": "user", "content": "w5"}], seed=3))
        assert reply.cut_off
        assert len((reply.content or "").split()) == 5
        assert reply.usage == TokenUsage(prompt=1, completion=5)
        assert run_in_thread(model.chat([{"role": "user", "content": "w5"}], seed=3)) == reply

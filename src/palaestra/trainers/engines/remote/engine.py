"""A remote server as an engine, by token ids: for measuring a policy whose weights cannot be updated here."""

import asyncio
import time

from palaestra.agents.remote.endpoint import Endpoint
from palaestra.errors import EngineError, ReplyError, ServerError, WaitError
from palaestra.records import JsonObject
from palaestra.seeding import Stream
from palaestra.trainers.engines.engine import Completion, Engine, EngineStats, InFlight, TurnRequest, Weights
from palaestra.trainers.engines.remote.completion import CompletionRequest, read_completion
from palaestra.trainers.engines.remote.config import RemoteEngineConfig
from palaestra.trainers.engines.rules import check_request

_NOTHING_ELSE: JsonObject = {
    "top_k": -1,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}
"""Other settings that change the distribution; if they are not sent, a server uses the model's defaults."""


class RemoteEngine(Engine):
    """Turns sampled by a remote server.

    Its weights are not under our control: update, pause and resume are refused. The noise of a request becomes a seed,
    from its key and the place where the turn begins; how far equal seeds give equal turns depends on the server. The
    server manages its own prefix cache, so `release` does nothing, and `resident`, `capacity` and `reused` stay 0.

    A reply that is not aligned or outside what was requested raises an `EngineError`.

    Args:
        config: The server and the options that it was started with.
        endpoint: The endpoint, if it is not made from `config`.
    """

    def __init__(self, config: RemoteEngineConfig, *, endpoint: Endpoint | None = None) -> None:
        self._config = config
        self._endpoint = endpoint or Endpoint(config.endpoint)
        self._turns: dict[str, asyncio.Task[Completion]] = {}
        self._drawn = self._prefilled = 0
        self._busy, self._busy_since = 0.0, 0.0
        self._closed = False

    @property
    def context(self) -> int:
        """Maximum tokens of a trajectory."""
        return self._config.context

    async def generate(self, request: TurnRequest) -> Completion:
        """Sample one turn; see `Engine`."""
        self._check(request)
        if not self._turns:
            self._busy_since = time.monotonic()
        turn = self._turns[request.trajectory] = asyncio.create_task(self._drawn_turn(request))
        limit = asyncio.timeout(request.timeout)
        try:
            async with limit:
                return await turn
        except TimeoutError as error:
            if isinstance(error, WaitError):
                raise
            raise WaitError(
                f"trajectory {request.trajectory!r} waited for a turn of {request.sampling.limit} tokens from "
                f"{self._name} for {request.timeout:g} s, its time-out; {len(self._turns)} turns are under way"
            ) from None
        except asyncio.CancelledError:
            if self._closed and turn.cancelled():
                raise EngineError("the engine was closed while the turn was drawn") from None
            raise
        finally:
            del self._turns[request.trajectory]
            if not self._turns:
                self._busy += time.monotonic() - self._busy_since

    def release(self, trajectory: str) -> None:
        """Do nothing: the server manages its own cache."""

    async def update_weights(self, weights: Weights, version: int, *, in_flight: InFlight = "keep") -> None:
        """Refuse the update.

        Raises:
            EngineError: always.
        """
        del weights, in_flight
        raise self._not_ours(f"be given version {version} of the weights")

    async def pause(self) -> None:
        """Refuse to pause.

        Raises:
            EngineError: always.
        """
        raise self._not_ours("be paused")

    async def resume(self) -> None:
        """Refuse to resume.

        Raises:
            EngineError: always.
        """
        raise self._not_ours("be resumed")

    def stats(self) -> EngineStats:
        """The state of the engine, as far as it is known here."""
        places = self._config.endpoint.concurrency
        running = min(len(self._turns), places)
        return EngineStats(
            running=running,
            waiting=len(self._turns) - running,
            resident=0,
            capacity=0,
            drawn=self._drawn,
            prefilled=self._prefilled,
            reused=0,
            busy_seconds=self._busy + (time.monotonic() - self._busy_since if self._turns else 0.0),
            version=self._config.version,
        )

    async def close(self) -> None:
        """Close the connections; running turns end with an `EngineError`."""
        self._closed = True
        turns = list(self._turns.values())
        for turn in turns:
            turn.cancel()
        if turns:
            await asyncio.wait(turns)
        await self._endpoint.close()

    @property
    def _name(self) -> str:
        return f"{self._config.model} at {self._config.endpoint.base_url}"

    def _not_ours(self, what: str) -> EngineError:
        return EngineError(
            f"{self._name} cannot {what}: a remote server's weights are not ours; use the native engine or vLLM's"
        )

    def _check(self, request: TurnRequest) -> None:
        if self._closed:
            raise EngineError("the engine was closed; make another one")
        check_request(request, context=self.context, vocabulary=self._config.vocabulary)
        if request.trajectory in self._turns:
            raise ValueError(
                f"trajectory {request.trajectory!r} has a turn under way, and one at a time; wait for it, or cancel it"
            )
        sampling = request.sampling
        if self._config.logprobs == "raw" and (sampling.temperature, sampling.top_p) != (1.0, 1.0):
            raise ValueError(
                f"temperature={sampling.temperature} and top_p={sampling.top_p}: {self._name} tells log-probabilities "
                "of the raw distribution, which are those of what is drawn at 1 and 1 alone; start it with "
                "--logprobs-mode processed_logprobs and say so"
            )

    async def _drawn_turn(self, request: TurnRequest) -> Completion:
        sampling = request.sampling
        limit = min(sampling.limit, self.context - len(request.context))
        body: JsonObject = {
            "model": self._config.model,
            "prompt": list(request.context),
            "max_tokens": limit,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "stop_token_ids": list(sampling.stop),
            "ignore_eos": True,
            "seed": Stream(request.noise, len(request.context)).word() >> 1,
            "logprobs": 1,
            "return_token_ids": True,
            "skip_special_tokens": False,
            **_NOTHING_ELSE,
        }
        try:
            answer = await self._endpoint.post("completions", body)
        except (ServerError, ReplyError) as error:
            raise EngineError(str(error)) from None
        asked = CompletionRequest(
            name=self._name,
            context=request.context,
            stop=sampling.stop,
            limit=limit,
            vocabulary=self._config.vocabulary,
            version=self._config.version,
        )
        turn = read_completion(answer, asked)
        self._drawn += len(turn.ids)
        self._prefilled += len(request.context)
        return turn

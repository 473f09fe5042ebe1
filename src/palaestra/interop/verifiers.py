# verifiers lives under another Python than the one that checks types.
# mypy: disable-error-code="import-not-found, misc, untyped-decorator, unused-ignore"
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUntypedBaseClass=false
# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false, reportUnknownArgumentType=false
# pyright: reportUntypedFunctionDecorator=false
"""Worlds as a taskset of verifiers (v1), with a harness that plays them.

verifiers finds a taskset by the name of an importable module, which needs these lines:

    from palaestra.interop.verifiers import PalaestraHarness, PalaestraTaskset

    __all__ = ["PalaestraHarness", "PalaestraTaskset"]

Turns
    The harness plays in the process of the environment worker and asks the model through verifiers, so that its trace
    holds every turn. A message is one turn with all its calls; text without a call goes to the world, as in process.
Ends
    The world's end ends the rollout. A limit or stop of verifiers ends it from outside: it is judged as unfinished.
Void
    A fault of the world fails the rollout with a `HarnessError`. It has no reward then, and `trace.ok` is false.
"""

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any, ClassVar

import httpx
import verifiers.v1 as vf

from palaestra.errors import ReplyError
from palaestra.interop.episode import AdaptedEpisode
from palaestra.interop.source import EnvSource
from palaestra.tools import to_openai


class PalaestraTasksetConfig(vf.TasksetConfig):
    """The environment and the seeds; see `EnvSource`."""

    env_id: str | None = None
    url: str | None = None
    world: str | None = None
    switches: dict[str, Any] = {}  # noqa: RUF012  pydantic copies it. Any: JSON
    first_seed: int = 0
    """The seed of the first task."""
    seeds: int | None = None
    """The number of tasks; `None` for as many as requested."""


class PalaestraData(vf.TaskData):
    """One episode: its seed and its environment's settings. None of it reaches the model."""

    seed: int
    source: dict[str, Any]


class PalaestraState(vf.State):
    """The result of a rollout."""

    share: float | None = None
    """The score, 1.0 for a solved task; `None` until the episode is over."""


class PalaestraTask(vf.Task[PalaestraData, PalaestraState]):
    """The episode of a seed. Its reward is the score."""

    @property
    def key(self) -> str:
        """The seed, which identifies an episode."""
        return str(self.data.seed)

    @vf.reward
    async def palaestra_score(self, trace: Any) -> float:
        """The score from the harness; a rollout without one does not count."""
        share = trace.state.share
        if share is None:
            raise ReplyError("the episode has no score; the rollout does not count")
        return float(share)


class PalaestraTaskset(vf.Taskset[PalaestraTask, PalaestraTasksetConfig]):
    """Episodes by seed."""

    INFINITE: ClassVar[bool] = True

    def load(self) -> Iterator[PalaestraTask]:
        """One task for each seed."""
        config = self.config
        source = {"env_id": config.env_id, "url": config.url, "world": config.world, "switches": config.switches}
        seeds = itertools.count(config.first_seed)
        for seed in seeds if config.seeds is None else itertools.islice(seeds, config.seeds):
            # The opening comes from the world when the episode begins; verifiers requires a prompt.
            yield PalaestraTask(PalaestraData(prompt="", seed=seed, source=source), config.task)

    @property
    def bounded(self) -> bool:
        """Whether the number of tasks is limited, or a view limits it."""
        return self.config.seeds is not None or bool(super().bounded)


class PalaestraHarnessConfig(vf.HarnessConfig):
    """The settings of the harness: those of every harness."""


class PalaestraHarness(vf.Harness[PalaestraHarnessConfig]):
    """Plays an episode: asks the model, plays its turn, until the world or a limit ends it."""

    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: Any,
        trace: Any,
        runtime: Any,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: PalaestraData,
    ) -> vf.ProgramResult:
        """Play the episode of `data`. Any: verifiers' own classes.

        Raises:
            InfrastructureError: the world failed; the rollout does not count.
            ReplyError: the model could not be asked.
        """
        del runtime, mcp_urls
        episode = await asyncio.to_thread(lambda: AdaptedEpisode(EnvSource(**data.source)()))
        try:
            await self._play(episode, data, ctx.model, endpoint, secret, trace)
        finally:
            # Also after a time limit, which cancels: verifiers scores such a rollout.
            if episode.fault is None and episode.tools:
                trace.state.share = episode.reward()
            episode.close()
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")

    async def _play(
        self, episode: AdaptedEpisode, data: PalaestraData, model: str, endpoint: str, secret: str, trace: Any
    ) -> None:
        chat = to_openai(await asyncio.to_thread(episode.begin, seed=data.seed))
        headers = {"Authorization": f"Bearer {secret}"}
        async with httpx.AsyncClient(headers=headers, timeout=None, trust_env=False) as client:  # noqa: S113  verifiers has limits
            while not episode.is_over:
                body = {"model": model, "messages": chat, "tools": list(episode.tools)}
                response = await client.post(f"{endpoint}/chat/completions", json=body)
                if trace.stop_condition is not None:
                    return
                if response.status_code != 200:
                    raise ReplyError(f"the model was not asked: {response.status_code} {response.text[:300]}")
                completion = response.json()
                messages = await asyncio.to_thread(episode.act, completion)
                chat += [_read_turn(completion["choices"][0]["message"]), *to_openai(messages)]


def _read_turn(message: dict[str, Any]) -> dict[str, Any]:
    """An assistant's message in the form of the next request."""
    kept = ("role", "content", "tool_calls", "reasoning_content")
    return {key: message[key] for key in kept if message.get(key) is not None or key == "content"}

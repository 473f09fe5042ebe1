"""A policy of Palaestra, or any checkpoint in Hugging Face's layout, as an evaluated agent. Needs the extra `train`.

Its noise depends only on the evaluation's seed, the cell, the task and the sample, so that two policies get equal
random numbers and their difference is paired.
"""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, TypeAlias

import orjson
import torch
import transformers

from palaestra.benchmarks.evaluation.agents.agent import CUT_OFF, Attempt, EpisodeCost, EvaluatedBlockAgent
from palaestra.benchmarks.evaluation.episode_key import EpisodeKey
from palaestra.benchmarks.evaluation.outcome import EpisodeFault
from palaestra.benchmarks.evaluation.suite import Cell
from palaestra.errors import CheckpointError, ConfigError, EngineError, WaitError
from palaestra.record import record
from palaestra.records import EndReason, JsonObject
from palaestra.trainers import NativeConfig, PlayConfig, PoolConfig, RolloutJob, RolloutResult, load_policy
from palaestra.trainers.codec import Codec
from palaestra.trainers.engines.engine import Engine
from palaestra.trainers.engines.native import NativeEngine
from palaestra.trainers.engines.noise import noise_key
from palaestra.trainers.engines.vllm import VllmConfig, VllmEngine
from palaestra.trainers.folder import check_folder, load_codec
from palaestra.trainers.rollouts.faults import Backoff
from palaestra.trainers.rollouts.pool import RolloutPool
from palaestra.trainers.rollouts.worlds import LocalWorlds, WorldSpec
from palaestra.trajectory import Episode, Tokens

EngineName: TypeAlias = Literal["native", "vllm"]


@record
class PolicyOptions:
    """The options of a policy."""

    context: int
    """Maximum tokens of an episode."""
    turn: int
    """Maximum tokens of a turn."""
    rows: int
    """Episodes of a block."""
    temperature: float
    top_p: float
    tries: int
    """Worlds in which an episode is tried before it counts as a fault."""
    turns: int | None = None
    """Maximum turns of an episode, besides the task's own limit."""


class EvaluatedPolicy(EvaluatedBlockAgent):
    """A checkpoint that plays blocks of episodes.

    Args:
        folder: The checkpoint.
        engine: The engine's name, for the record.
        codec: The checkpoint's codec.
        made: Makes an engine.
        lasting: Whether one engine serves all blocks; otherwise each block gets a new one, without state of earlier
            blocks.
        weights: A digest of the checkpoint.
        reads: Maximum tokens that the model reads.
        options: The options.
    """

    def __init__(
        self,
        folder: Path,
        *,
        engine: EngineName,
        codec: Codec,
        made: Callable[[], Engine],
        lasting: bool,
        weights: str,
        reads: int,
        options: PolicyOptions,
    ) -> None:
        self.name = str(folder)
        self.block = options.rows
        self._engine_name, self._codec, self._made, self._lasting = engine, codec, made, lasting
        self._weights, self._reads, self._options = weights, reads, options
        self._engine: Engine | None = None
        self._runner = asyncio.Runner()

    def describe(self) -> JsonObject:
        """The digest of the weights, and everything that decides sampling."""
        options = self._options
        turns: JsonObject = {} if options.turns is None else {"turns": options.turns}
        return {
            "kind": "policy",
            "engine": self._engine_name,
            "weights": self._weights,
            "format": self._codec.format.name,
            "context": options.context,
            "turn": options.turn,
            **turns,
            "rows": options.rows,
            "temperature": options.temperature,
            "top_p": options.top_p,
        }

    def versions(self) -> Mapping[str, str]:
        """The versions of the software that computes logits and tokens."""
        return {"torch": torch.__version__, "transformers": transformers.__version__}

    def play(
        self,
        cell: Cell,
        episode_keys: Sequence[EpisodeKey],
        *,
        progress: Callable[[str], None],
        say: Callable[[str], None],
    ) -> list[Attempt]:
        """Play a block in worlds of this process."""
        played = self._runner.run(
            self._session(cell, [_job(episode_key) for episode_key in episode_keys], progress, say)
        )
        return [self._make_attempt(episode_key, one) for episode_key, one in zip(episode_keys, played, strict=True)]

    def _make_attempt(self, episode_key: EpisodeKey, played: RolloutResult | EpisodeFault) -> Attempt:
        if isinstance(played, EpisodeFault):
            return Attempt(episode_key=episode_key, came=played, spent=EpisodeCost())
        if played.episode is None:  # only as text, so a world that hung looks like one that crashed
            return Attempt(
                episode_key=episode_key, came=EpisodeFault(kind="world", said=played.faults[-1]), spent=EpisodeCost()
            )
        if played.episode.end is EndReason.TOKEN_BUDGET and not any(played.episode.turns):
            return Attempt(episode_key=episode_key, came=self._no_room(played.episode), spent=EpisodeCost())
        return Attempt(
            episode_key=episode_key, came=played.episode, spent=episode_cost(played.episode, again=len(played.faults))
        )

    def _no_room(self, episode: Episode) -> EpisodeFault:
        """Why an episode ended before its first turn."""
        tokens = sum(len(segment.tokens.ids) for segment in episode.segments if segment.tokens is not None)
        shorter = (
            "take a chat format that shows tools in fewer tokens (--format smollm2), give the world fewer tools "
            "(--surface generic), or evaluate a model that reads more"
        )
        way_out = "--context gives more" if tokens < self._reads else shorter
        said = (
            f"its prompt has {tokens:,} tokens in the format {self._codec.format.name}, and an episode has "
            f"{self._options.context:,} of the {self._reads:,} that the model reads; {way_out}"
        )
        return EpisodeFault(kind="context", said=said)

    async def _session(
        self, cell: Cell, jobs: Sequence[RolloutJob], progress: Callable[[str], None], say: Callable[[str], None]
    ) -> list[RolloutResult | EpisodeFault]:
        options = self._options
        form = self._codec.format.name
        worlds = LocalWorlds(WorldSpec(env_id=cell.env_id, action_format=form, switches=dict(cell.switches)))
        play = PlayConfig(
            context=options.context,
            turn=options.turn,
            turns=options.turns,
            temperature=options.temperature,
            top_p=options.top_p,
            name=self.name,
        )
        patience = PoolConfig(agents=options.rows, world=Backoff(retries=options.tries - 1, first=0.0))
        engine = self._engine or self._made()
        self._engine = engine if self._lasting else None
        pool = RolloutPool(engine, worlds, self._codec, play, patience, say=say)

        async def one(job: RolloutJob) -> RolloutResult | EpisodeFault:
            try:
                return await pool.play(job)
            except (EngineError, WaitError) as error:
                return EpisodeFault(kind="time" if isinstance(error, WaitError) else "engine", said=str(error))
            finally:
                progress(job.task)

        try:
            return await asyncio.gather(*map(one, jobs))
        finally:
            await pool.close()
            await worlds.close()
            if not self._lasting:
                await engine.close()

    def close(self) -> None:
        """End the engine."""
        engine, self._engine = self._engine, None
        if engine is not None:
            self._runner.run(engine.close())
        self._runner.close()


def _job(episode_key: EpisodeKey) -> RolloutJob:
    return RolloutJob(
        trajectory=episode_key.id,
        group=f"{episode_key.cell}/{episode_key.task}",
        task=episode_key.task,
        seed=episode_key.world_seed,
        noise=noise_key("evaluation", episode_key.seed, episode_key.cell, episode_key.task, episode_key.sample),
    )


def episode_cost(episode: Episode, *, again: int = 0) -> EpisodeCost:
    """The tokens of an episode that a policy played.

    Args:
        episode: The episode, with its tokens.
        again: How often its world failed before.
    """
    tokens = [segment.tokens for segment in episode.segments if segment.tokens is not None]
    cut = sum(stop == "length" for one in tokens for stop in one.stops)
    troubles = {CUT_OFF: cut, "played again: world": again}
    return EpisodeCost(
        prompt_tokens=sum(map(_read, tokens)),
        completion_tokens=sum(map(_count_written, tokens)),
        troubles={name: count for name, count in troubles.items() if count},
    )


def _read(tokens: Tokens) -> int:
    """The tokens read: each turn is a request that reads everything before it."""
    return sum(span.start for span in tokens.spans if span.kind == "turn")


def _count_written(tokens: Tokens) -> int:
    return sum(tokens.sampled)


def native(folder: Path, options: PolicyOptions, *, format_name: str | None = None) -> EvaluatedPolicy:
    """A checkpoint with the native engine.

    Raises:
        CheckpointError: the folder is not a checkpoint, or is damaged.
        UnknownNameError: there is no such chat format.
        ConfigError: an episode may have more tokens than the model reads.
    """
    policy = load_policy(folder, format_name=format_name)
    _check_context(options.context, policy.model.shape.context)
    size = NativeConfig(rows=options.rows, context=options.context, capacity=options.rows * options.context)
    return EvaluatedPolicy(
        folder,
        engine="native",
        codec=policy.codec,
        made=partial(NativeEngine, policy.model, size),
        lasting=False,
        weights=policy.digest(),
        reads=policy.model.shape.context,
        options=options,
    )


def vllm(
    folder: Path, options: PolicyOptions, *, python: Path | None = None, format_name: str | None = None
) -> EvaluatedPolicy:
    """A checkpoint with vLLM. The last bits of its results depend on vLLM's own schedule.

    Args:
        folder: The checkpoint.
        options: The options.
        python: A Python interpreter with vLLM. Default: this one.
        format_name: The chat format, if the checkpoint does not name one.

    Raises:
        CheckpointError: the folder is not a checkpoint, or is damaged.
        UnknownNameError: there is no such chat format.
        ConfigError: an episode may have more tokens than the model reads, or the interpreter has no vLLM.
    """
    form = check_folder(folder, format_name=format_name)
    shape = _shape(folder)
    _check_context(options.context, int(shape["max_position_embeddings"]))
    interpreter = python or Path(sys.executable)
    if not _has_vllm(interpreter):
        raise ConfigError(
            f"{interpreter} has no vLLM, or cannot be run; --vllm-python names an interpreter that has it"
        )
    config = VllmConfig(model=folder, context=options.context, turns=options.rows, python=interpreter)
    return EvaluatedPolicy(
        folder,
        engine="vllm",
        codec=load_codec(folder, form, embedded=int(shape["vocab_size"])),
        made=partial(VllmEngine, config),
        lasting=True,
        weights=_digest_of_files(folder),
        reads=int(shape["max_position_embeddings"]),
        options=options,
    )


def _has_vllm(python: Path) -> bool:
    """Whether an interpreter finds vLLM; loading it would take half a minute."""
    asked = "import importlib.util, sys; sys.exit(importlib.util.find_spec('vllm') is None)"
    try:
        return subprocess.run([python, "-c", asked], capture_output=True, check=False).returncode == 0  # noqa: S603
    except OSError:
        return False


def _check_context(asked: int, most: int) -> None:
    if asked > most:
        raise ConfigError(f"context={asked}: the policy reads {most} tokens; give no more")


def _shape(folder: Path) -> Mapping[str, Any]:
    # Any: external JSON; the two numbers that are read from it are converted.
    try:
        shape: Mapping[str, Any] = orjson.loads((folder / "config.json").read_bytes())
        _ = int(shape["vocab_size"]), int(shape["max_position_embeddings"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(
            f"{folder}: its config.json does not say vocab_size and max_position_embeddings ({error!r}); "
            "write the checkpoint again"
        ) from error
    return shape


def _digest_of_files(folder: Path) -> str:
    whole = blake2b(digest_size=16)
    for path in sorted(folder.glob("*.safetensors")):
        whole.update(path.name.encode())
        with path.open("rb") as file:
            while part := file.read(1 << 24):
                whole.update(part)
    return whole.hexdigest()

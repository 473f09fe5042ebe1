"""The tasks of a run, and demonstrations of them. Worlds are accessed only through Gymnasium."""

import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import gymnasium as gym

import palaestra
from palaestra.agents import oracle, rollout
from palaestra.contamination import Guard, of_users
from palaestra.errors import ConfigError, PalaestraError, TaskError, UnknownNameError
from palaestra.packs import BUNDLED, PACKS
from palaestra.records import TaskSpec
from palaestra.steps import ResetRecord
from palaestra.tools import CHAT_FORMATS
from palaestra.trainers.codec import Codec, train_tokenizer
from palaestra.trainers.data.demonstration import render_episode
from palaestra.trainers.data.store import read_columns
from palaestra.trainers.loops.config import PolicyConfig, WorldConfig
from palaestra.trainers.model.checkpoint import fresh
from palaestra.trainers.model.shape import DecoderShape
from palaestra.trainers.policy import Policy, load_policy
from palaestra.trainers.pretrained import checkpoint_of
from palaestra.trainers.progress import OpenProgressBar, silent
from palaestra.trainers.rollouts.world import RolloutWorlds
from palaestra.trainers.rollouts.worlds import LocalWorlds, ProcessWorlds, WorldSpec
from palaestra.trajectory import Episode, read_episodes
from palaestra.transcript import transcript_of


def tasks_of(config: WorldConfig) -> list[str]:
    """The ids of the tasks to train on, in order: those that the split lists, then further instances.

    Raises:
        UnknownNameError: an environment, split or family is unknown.
        ConfigError: the environment rejects the switches, lists no tasks, or has no further instances.
        TaskError: there are no tasks.
    """
    world = open_world(config)
    # Palaestra's worlds have a task set; external benchmarks list their task ids themselves.
    listing = getattr(world, "task_set", world)
    if not hasattr(listing, "ids"):
        raise ConfigError(f"world.env_id={env_id_of(config)!r}: the environment lists no tasks; give a world's id")
    ids: list[str] = list(listing.ids(config.split))
    families, where = {task.split("/")[1] for task in ids}, f"split {config.split!r} of {env_id_of(config)}"
    for family in config.families:
        if family not in families:
            raise UnknownNameError.of("family", family, families, f"in {where}")
    chosen = [task for task in ids if not config.families or task.split("/")[1] in config.families]
    if not chosen:
        raise TaskError(f"{where} lists no task; give a split that does")
    return [*chosen, *_further_tasks(config, world, chosen)] if config.further else chosen


def _further_tasks(config: WorldConfig, world: Any, listed: Sequence[str]) -> Iterator[str]:
    """Instances of the families of `listed` that their split does not list.

    Instances that a family fails to make are skipped, and so are those whose opening is one that policies are measured
    on.
    """
    # Any: a world's own set of tasks, which trainers do not import.
    listing: Any = getattr(world, "task_set", None)
    if listing is None or not hasattr(listing, "indices"):
        raise ConfigError(
            f"world.further={config.further}: {env_id_of(config)} makes no tasks beyond those that it lists; give 0"
        )
    known, guard = frozenset(listed), Guard()
    for family in dict.fromkeys(task.rpartition("/")[0] for task in listed):
        others = (f"{family}/{index:04d}" for index in listing.indices(family, config.split))
        playable = (task for task in others if task not in known and _is_playable(world, task, guard))
        yield from islice(playable, config.further)


def _is_playable(world: Any, task: str, guard: Guard) -> bool:
    try:
        opening: ResetRecord = world.reset(seed=0, options={"task": task})[1]["record"]
        guard.check(opening.task, list(of_users(opening.messages)))
    except PalaestraError:  # the family fails to make it, or its words are held out
        return False
    return True


def openings_of(config: WorldConfig, tasks: Sequence[str]) -> Iterator[tuple[TaskSpec, list[str]]]:
    """The spec of each task, and what its user says at the start."""
    for opening in resets_of(config, tasks):
        yield opening.task, list(of_users(opening.messages))


def total_of(config: WorldConfig, task: str) -> float:
    """The reward of a task's rubric for a full solution; 0 if the environment lists no expectations."""
    [opening] = resets_of(config, [task])
    return float(sum(criterion.points for criterion in opening.rubric if criterion.kind == "expect"))


def resets_of(config: WorldConfig, tasks: Sequence[str]) -> Iterator[ResetRecord]:
    """The reset record of each task."""
    world = open_world(config)
    try:
        for task in tasks:
            opening: ResetRecord = world.reset(seed=0, options={"task": task})[1]["record"]
            yield opening
    finally:
        world.close()


def comes_with_palaestra(config: WorldConfig) -> bool:
    """Whether the world and its tasks come with Palaestra, without tasks of the user's own."""
    env_id = env_id_of(config)
    bundled = env_id not in PACKS or PACKS.find(env_id).name in BUNDLED
    return env_id.startswith("palaestra/") and bundled and not config.switches.get("tasks")


def env_id_of(config: WorldConfig) -> str:
    """The environment id of a world; a pack is registered if the settings name a folder.

    Raises:
        PackError: the folder holds no pack, or the pack's id is taken by another pack.
    """
    if config.pack is not None:
        return palaestra.register_world(config.pack)
    assert config.env_id is not None, "a world has an environment or a pack"
    try:
        return PACKS.find(config.env_id).env_id
    except UnknownNameError:  # a benchmark, or an environment that a module of `imports` registers
        return config.env_id


def demonstrations_of(
    config: WorldConfig,
    *,
    file: Path | None = None,
    tasks: Sequence[str] | None = None,
    bar: OpenProgressBar = silent,
) -> list[Episode]:
    """Demonstrations: the episodes of `file`, or those of the oracle.

    Args:
        config: The world's settings.
        file: A file of episodes, as JSON lines or Parquet.
        tasks: The tasks that the oracle plays. Default: every training task.
        bar: Opens a progress bar.

    Raises:
        RecordError: the file cannot be read.
        TaskError: there are no episodes.
    """
    if file is not None:
        episodes = list(read_columns(file) if file.suffix == ".parquet" else read_episodes(file))
        if not episodes:
            raise TaskError(f"{file} holds no episode; give a file that does, or none for the oracle's")
        return episodes
    world = open_world(config)
    expert = oracle(world.oracle)
    chosen = tasks_of(config) if tasks is None else tasks
    episodes = list[Episode]()
    with bar("demonstrations", len(chosen)) as shown:
        for task in chosen:
            episodes.append(rollout(world, expert, name="oracle", seed=0, task=task))
            shown.step(task)
    return episodes


def worlds_of(config: WorldConfig, action_format: str) -> RolloutWorlds:
    """The worlds in which rollouts are played.

    Args:
        config: Which world, and where it runs.
        action_format: The format in which the policy's text is read.
    """
    env_id = env_id_of(config)
    spec = WorldSpec(
        env_id=env_id,
        place=PACKS.find(env_id).place if env_id in PACKS else None,
        action_format=action_format,
        switches=dict(config.switches),
        imports=("palaestra", *config.imports),
    )
    if config.where == "here":
        return LocalWorlds(spec)
    workers = config.workers or os.cpu_count() or 1
    if config.where == "processes":
        return ProcessWorlds(spec, workers=workers, timeouts=config.timeouts)
    from palaestra.trainers.rollouts.worlds.actors import RayWorlds  # noqa: PLC0415  Ray is an extra

    return RayWorlds(spec, actors=workers, timeouts=config.timeouts)


def open_world(config: WorldConfig) -> Any:
    """The environment inside Gymnasium's wrappers.

    Raises:
        UnknownNameError: the environment is unknown.
        ConfigError: the environment rejects the switches.
    """
    # Any: only `gym.make` knows what Palaestra's environments add to Gymnasium's interface.
    for module in config.imports:
        import_module(module)
    env_id = env_id_of(config)
    try:
        return gym.make(env_id, **config.switches, disable_env_checker=True).unwrapped
    except gym.error.Error as error:
        hint = "(or give the folder of a pack as world.pack, or the module that registers it in world.imports)"
        raise UnknownNameError.of("world", env_id, [*PACKS.ids, *PACKS], hint) from error
    except TypeError as error:
        raise ConfigError(
            f"world.switches={dict(config.switches)}: {error}; `palaestra worlds show` lists them"
        ) from error


def initial_policy(config: PolicyConfig, demonstrations: list[Episode], *, seed: int) -> Policy:
    """The initial policy of a run: a checkpoint, or a new policy with a tokenizer learnt from the demonstrations.

    Raises:
        CheckpointError: the checkpoint cannot be read.
        ConfigError: the checkpoint is a pretrained model that is not installed.
        TaskError: a new policy is needed and there are no demonstrations.
    """
    if config.checkpoint is not None:
        return load_policy(checkpoint_of(config.checkpoint), format_name=config.format)
    if not demonstrations:
        raise TaskError(
            "a fresh policy needs demonstrations to learn its tokens from; add [sft], or give policy.checkpoint"
        )
    form = CHAT_FORMATS.get(config.format or "compact")
    size = config.model
    corpus = [render_episode(transcript_of(episode), form) for episode in demonstrations]
    tokenizer = train_tokenizer(corpus, form, size=size.vocabulary)
    shape = DecoderShape(
        vocabulary=len(tokenizer),
        hidden=size.hidden,
        layers=size.layers,
        heads=size.heads,
        kv_heads=size.kv_heads,
        head_dim=size.head_dim,
        mlp=size.mlp,
        context=size.context,
    )
    return Policy(model=fresh(shape, seed=seed), codec=Codec(tokenizer, form))

"""The tasks of a Palaestra world or of task files as a suite: families seen in training, and unseen ones."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym

from palaestra.benchmarks.evaluation.suite import Cell, Suite
from palaestra.benchmarks.evenly import evenly
from palaestra.benchmarks.suites.source_note import pack_note, source_digest
from palaestra.envs import ToolEnv
from palaestra.envs.target import folder_of, resolve_target
from palaestra.errors import CapabilityError, TaskError
from palaestra.packs import PACKS


def suite(
    targets: Sequence[str],
    *,
    world: str | None = None,
    split: str | None = None,
    limit: int | None = None,
    switches: Mapping[str, Any] | None = None,
) -> Suite:
    """The tasks of a split, of one world or several.

    Args:
        targets: Worlds by id or folder, or folders or files of task files.
        world: The world of task files. Default: the one that they name.
        split: The split of the tasks. Default: "heldout".
        limit: Maximum tasks per cell.
        switches: Further arguments of `gymnasium.make`: a surface, a handbook, noise. With a temper, only tasks with a
            user who answers are played.

    Raises:
        UnknownNameError: there is no such world, split, surface or noise.
        CapabilityError: a world does not declare a switch.
        TaskError: the split lists no task, or task files break a rule.
    """
    split = split or "heldout"
    cells: list[Cell] = []
    notes: list[str] = []
    # A world that is named twice, such as by its folder and its id, is played once.
    places = {resolve_target(target, _world_of_files(target, world)): target for target in targets}
    # Another spelling of its folder does not make another suite.
    names = [PACKS.find(env_id).id if folder is None else folder for env_id, folder in places]
    for target in places.values():
        made, note = _cells(target, world, split, limit, switches or {}, several=len(places) > 1)
        cells += made
        notes += note
    temper = (switches or {}).get("temper")
    title = ", ".join((*names, split, *([] if temper is None else [f"tasks with a {temper} user"])))
    return Suite(name=f"{'+'.join(names)}/{split}", title=title, cells=tuple(cells), notes=tuple(notes))


def _cells(
    target: str, world: str | None, split: str, limit: int | None, switches: Mapping[str, Any], *, several: bool
) -> tuple[list[Cell], tuple[str, ...]]:
    """The cells of one target, for families seen in training and unseen ones, and notes about its files."""
    env_id, files = _world(target, world)
    given: dict[str, Any] = {**({} if files is None else {"tasks": target}), **switches}
    env = gym.make(env_id, split=split, **given).unwrapped
    assert isinstance(env, ToolEnv), f"{env_id} is a world of ours"
    families, name = env.task_set.families, env.world.name
    ids = env.task_set.ids(split)
    if not ids:
        raise TaskError(f"{target}: the split {split} lists no task; choose another")
    if switches.get("temper") is not None:
        ids = _answer(env, ids, split)
    unseen = [task for task in ids if families[task.rpartition("/")[0]].unseen]
    parts = (
        ("trained-on", "families trained on", [task for task in ids if task not in set(unseen)]),
        ("unseen", "families unseen in training", unseen),
    )
    cells = [
        Cell(
            id=f"{name}/{id}" if several else id,
            label=f"{name}, {label}" if several else label,
            env_id=env_id,
            tasks=evenly(tasks, limit),
            switches={**given, "surface": env.surface},
            split=f"{name}/{split}",
        )
        for id, label, tasks in parts
        if tasks
    ]
    return cells, (*pack_note(env_id), *(files or ()))


def _answer(env: ToolEnv, ids: Sequence[str], split: str) -> tuple[str, ...]:
    """The tasks with a user who answers; others have no temper."""
    answered = tuple(task for task in ids if env.task_set.instance(task).user is not None)
    if not answered:
        raise CapabilityError(f"temper: no task of {env.world.name} in the split {split} has a user who answers")
    return answered


def _world(target: str, world: str | None) -> tuple[str, tuple[str, ...] | None]:
    """The environment of a target, and a note about the task files if it is a folder of them."""
    env_id, folder = resolve_target(target, _world_of_files(target, world))
    return env_id, None if folder is None else (f"Task files of {target}, digest {source_digest(Path(folder))}.",)


def _world_of_files(target: str, world: str | None) -> str | None:
    """The world of a target's task files, if given; `None` if the target is a world."""
    return world if folder_of(target) is not None else None

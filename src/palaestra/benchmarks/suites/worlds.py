"""The tasks of one of our worlds, its own or a user's, as a suite: families seen in training, and unseen ones."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym

from palaestra.benchmarks.evaluation.suite import Cell, Suite
from palaestra.benchmarks.evenly import evenly
from palaestra.digest import digest_bytes
from palaestra.envs import WORLDS, ToolEnv, env_id_of, load_families
from palaestra.errors import TaskError, UnknownNameError


def suite(
    target: str,
    *,
    split: str | None = None,
    limit: int | None = None,
    switches: Mapping[str, Any] | None = None,
) -> Suite:
    """The tasks of a split.

    Args:
        target: A world's name, or a folder or file of task files.
        split: The tasks; "heldout" if not said.
        limit: Tasks of each cell, at most.
        switches: What `gymnasium.make` takes besides: a surface, a handbook, noise.

    Raises:
        UnknownNameError: there is no such world, split, surface or noise.
        TaskError: the split lists no task, or task files break a rule.
    """
    split = split or "heldout"
    env_id, files = _world(target)
    given: dict[str, Any] = {**({} if files is None else {"tasks": target}), **(switches or {})}
    env = gym.make(env_id, split=split, **given).unwrapped
    assert isinstance(env, ToolEnv), f"{env_id} is a world of ours"
    families = env.task_set.families
    ids = env.task_set.ids(split)
    seen = [task for task in ids if not families[task.rpartition("/")[0]].unseen]
    unseen = [task for task in ids if families[task.rpartition("/")[0]].unseen]
    if not ids:
        raise TaskError(f"{target}: the split {split} lists no task; choose another")
    cells = tuple(
        Cell(
            id=name,
            label=label,
            env_id=env_id,
            tasks=evenly(tasks, limit),
            switches={**given, "surface": env.surface},
            split=f"{env.world.name}/{split}",
        )
        for name, label, tasks in (
            ("trained-on", "families trained on", seen),
            ("unseen", "families unseen in training", unseen),
        )
        if tasks
    )
    return Suite(
        name=f"{target}/{split}", title=f"{target}, {split}", cells=cells, notes=() if files is None else files
    )


def _world(target: str) -> tuple[str, tuple[str, ...] | None]:
    """The environment of a target, and what is to be said of the files, where it is one of these."""
    names = {WORLDS.get(env_id).name for env_id in WORLDS}
    path = Path(target)
    if target in names:
        return env_id_of(target), None
    if not path.exists():
        raise UnknownNameError.of("world, or folder of task files,", target, names)
    worlds = sorted({family.world for family in load_families(path)})
    if len(worlds) != 1:
        raise TaskError(
            f"{target}: families of the worlds {', '.join(worlds)}; put each world's in a folder of its own"
        )
    files = [path] if path.is_file() else sorted(path.rglob("*.py"))
    whole = digest_bytes(b"\0".join(file.read_bytes() for file in files))
    return env_id_of(worlds[0]), (f"Task files of {target}, digest {whole}.",)

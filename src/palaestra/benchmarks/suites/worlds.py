"""The tasks of a Palaestra world or of task files as a suite: families seen in training, and unseen ones."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gymnasium as gym

from palaestra.benchmarks.evaluation.suite import Cell, Suite
from palaestra.benchmarks.evenly import evenly
from palaestra.benchmarks.suites.source_note import pack_note, source_digest
from palaestra.envs import ToolEnv
from palaestra.envs.target import folder_of, resolve_target
from palaestra.errors import CapabilityError, TaskError, UnknownNameError
from palaestra.packs import PACKS


def suite(
    targets: Sequence[str],
    *,
    world: str | None = None,
    split: str | None = None,
    families: Collection[str] = (),
    limit: int | None = None,
    switches: Mapping[str, Any] | None = None,
) -> Suite:
    """The tasks of a split, of one world or several.

    Args:
        targets: Worlds by id or folder, or folders or files of task files.
        world: The world of task files. Default: the one that they name.
        split: The split of the tasks. Default: "heldout".
        families: The families to play, by name or as "world/name"; by default all.
        limit: Maximum tasks per cell.
        switches: Further arguments of `gymnasium.make`: a surface, a handbook, noise. With a temper, only tasks with a
            user who answers are played.

    Raises:
        UnknownNameError: there is no such world, split, family, surface or noise.
        CapabilityError: a world does not declare a switch.
        TaskError: the split lists no task, or task files break a rule.
    """
    split = split or "heldout"
    switches = switches or {}
    # A world that is named twice, such as by its folder and its id, is played once.
    places = {resolve_target(target, _world_of_files(target, world)): target for target in targets}
    # Another spelling of its folder does not make another suite.
    names = [PACKS.find(env_id).id if folder is None else folder for env_id, folder in places]
    listings = [_list(target, world, split, switches) for target in places.values()]
    families = tuple(sorted(set(families)))
    if families:
        listings = _choose(listings, families, split)
    parts = (*families, *(() if switches.get("temper") is None else (f"tasks with a {switches['temper']} user",)))
    return Suite(
        name=f"{'+'.join(names)}/{split}",
        title=", ".join((*names, split, *parts)),
        cells=tuple(cell for one in listings for cell in _cells(one, split, limit, several=len(places) > 1)),
        notes=tuple(note for one in listings for note in one.notes),
    )


@dataclass(frozen=True, slots=True)
class _Listing:
    """The tasks of one target."""

    env: ToolEnv
    env_id: str
    switches: Mapping[str, Any]
    """Arguments of `gymnasium.make`: the given switches, and the task files if the target is a folder of them."""
    tasks: tuple[str, ...]
    notes: tuple[str, ...]


def _list(target: str, world: str | None, split: str, switches: Mapping[str, Any]) -> _Listing:
    """The tasks of a split of one target; with a temper, those with a user who answers."""
    env_id, files = _world(target, world)
    given: dict[str, Any] = {**({} if files is None else {"tasks": target}), **switches}
    env = gym.make(env_id, split=split, **given).unwrapped
    assert isinstance(env, ToolEnv), f"{env_id} is a world of ours"
    tasks = env.task_set.ids(split)
    if not tasks:
        raise TaskError(f"{target}: the split {split} lists no task; choose another")
    if switches.get("temper") is not None:
        tasks = _answer(env, tasks, split)
    return _Listing(env, env_id, given, tuple(tasks), (*pack_note(env_id), *(files or ())))


def _choose(listings: Sequence[_Listing], families: Sequence[str], split: str) -> list[_Listing]:
    """The listings with only the tasks of these families."""
    known = {_family_of(task) for one in listings for task in one.tasks}
    for name in families:
        if not any(_is_named(family, name) for family in known):
            bare = {family.partition("/")[2] for family in known}
            raise UnknownNameError.of("family", name, bare, f"(families of the split {split})")
    chosen: list[_Listing] = []
    for one in listings:
        tasks = tuple(task for task in one.tasks if any(_is_named(_family_of(task), name) for name in families))
        if not tasks:
            raise TaskError(
                f"{one.env.world.name}: the split {split} lists no task of {', '.join(families)}; leave the world out"
            )
        chosen.append(replace(one, tasks=tasks))
    return chosen


def _family_of(task: str) -> str:
    return task.rpartition("/")[0]


def _is_named(family: str, name: str) -> bool:
    """Whether a family, written as "world/name", has this name, with its world or without."""
    return name in (family, family.partition("/")[2])


def _cells(listing: _Listing, split: str, limit: int | None, *, several: bool) -> Iterator[Cell]:
    """The cells of one target: families seen in training, and unseen ones."""
    families, name = listing.env.task_set.families, listing.env.world.name
    unseen = [task for task in listing.tasks if families[_family_of(task)].unseen]
    parts = (
        ("trained-on", "families trained on", [task for task in listing.tasks if task not in set(unseen)]),
        ("unseen", "families unseen in training", unseen),
    )
    for id, label, tasks in parts:
        if tasks:
            yield Cell(
                id=f"{name}/{id}" if several else id,
                label=f"{name}, {label}" if several else label,
                env_id=listing.env_id,
                tasks=evenly(tasks, limit),
                switches={**listing.switches, "surface": listing.env.surface},
                split=f"{name}/{split}",
            )


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

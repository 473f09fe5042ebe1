"""The internal axes: generalisation along nine kinds of shift, each from none to strong."""

if __name__ != "palaestra.benchmarks.suites.ood":
    raise ImportError(
        f"this folder is palaestra.benchmarks.suites.ood, not {__name__}; write `import "
        "palaestra.benchmarks.suites.ood`"
    )

from collections.abc import Callable, Mapping, Sequence

from palaestra.benchmarks.evaluation.suite import Cell, Suite
from palaestra.benchmarks.suites.ood.axis import Axis
from palaestra.benchmarks.suites.ood.entities import entities
from palaestra.benchmarks.suites.ood.family import family, untrained_families
from palaestra.benchmarks.suites.ood.horizon import horizon
from palaestra.benchmarks.suites.ood.interface import interface
from palaestra.benchmarks.suites.ood.noise import noise
from palaestra.benchmarks.suites.ood.policy import policy
from palaestra.benchmarks.suites.ood.pool import TaskPool, families_of
from palaestra.benchmarks.suites.ood.surface import surface
from palaestra.benchmarks.suites.ood.temper import temper
from palaestra.benchmarks.suites.ood.wording import wording
from palaestra.benchmarks.suites.ood.world import NAME as WORLD
from palaestra.benchmarks.suites.ood.world import world_axis
from palaestra.benchmarks.suites.source_note import pack_note
from palaestra.envs import bundled_tasks, open_world
from palaestra.envs.target import find_world, is_pack
from palaestra.errors import CapabilityError, ConfigError, UnknownNameError
from palaestra.packs import PACKS
from palaestra.records import Json

AXES: Mapping[str, Callable[[TaskPool], Axis]] = {
    "entities": entities,
    "family": family,
    "policy": policy,
    "surface": surface,
    "interface": interface,
    "noise": noise,
    "horizon": horizon,
    "wording": wording,
    "temper": temper,
}
"""Every axis, in the order of reports."""

SWITCH_AXES: Mapping[str, str] = {"handbook": "policy", "split": "entities", "user": "temper"}
"""Switches of `gym.make` whose axis has another name, and the axis that measures each."""


def suite(
    limit: int | None = None,
    axes: Sequence[str] = (),
    *,
    worlds: Sequence[str] = (),
    families: str | Sequence[str] = (),
    trained: str | Sequence[str] = (),
) -> Suite:
    """The suite of internal axes, for one world or several.

    Args:
        limit: Maximum tasks per cell, chosen evenly over families; `None` for all.
        axes: The axes. Default: all that the worlds declare.
        worlds: The worlds, by id or by the folder of a pack. Default: the default world.
        families: The families that the agent was trained on, by id or name, as a list or separated by commas, or "demo"
            for those of the demo's policy. They decide what is in distribution. Default: all of "train".
        trained: The worlds that the agent was trained in, by id or folder, likewise. Default: all of `worlds`. The
            others are only on the axis "world".

    Raises:
        UnknownNameError: there is no such axis or world, or no such family to train on.
        CapabilityError: no world declares a requested axis.
        ConfigError: the families or worlds are neither text nor texts, or there is no training world.
        ValueError: the limit is below 1.
    """
    for name in axes:
        if name not in (*AXES, WORLD):
            measured = SWITCH_AXES.get(name)
            hint = "" if measured is None else f"({name} is a switch; the axis {measured!r} measures it)"
            raise UnknownNameError.of("axis", name, (*AXES, WORLD), hint)
    pools, unseen = _pools(worlds, _name("families", families), _name("trained", trained), limit)
    made = [
        make(pool)
        for pool in pools
        for name, make in AXES.items()
        if (not axes or name in axes) and _declares(pool, name, asked=name in axes)
    ]
    if WORLD in axes and len(pools) + len(unseen) < 2:
        raise CapabilityError(
            f"axis {WORLD!r}: it compares worlds, and the suite has one, {pools[0].world.name!r}; add another --world"
        )
    if len(pools) + len(unseen) > 1 and (not axes or WORLD in axes):
        made.append(world_axis([*pools, *unseen], frozenset(pool.world.name for pool in pools)))
    cells: dict[str, Cell] = {cell.id: cell for axis in made for cell in axis.cells}
    return Suite(
        name="ood",
        title="Out of distribution: the internal axes",
        cells=tuple(cells.values()),
        ladders=tuple(axis.ladder for axis in made),
        notes=(
            *(note for pool in pools for note in _notes(pool)),
            *(note for pool in (*pools, *unseen) for note in pack_note(pool.env_id)),
        ),
    )


def _pools(
    worlds: Sequence[str], families: Sequence[str], trained: Sequence[str], limit: int | None
) -> tuple[list[TaskPool], list[TaskPool]]:
    """The tasks of the training worlds, and those of the others."""
    env_ids = [find_world(name) for name in worlds or (None,)]
    known = {PACKS.find(env_id).id: env_id for env_id in env_ids}
    if len(known) < len(set(env_ids)):
        raise ConfigError(f"worlds {', '.join(worlds)}: two are versions of one world; measure each by itself")
    named = [PACKS.find(find_world(name)).id if is_pack(name) else name for name in trained]
    for name in named:
        if name not in known:
            raise UnknownNameError.of("world to train in", name, known)
    seen = [id for id in known if not named or id in named]
    own = _by_world(families, known)
    titled = len(known) > 1
    pools = [
        TaskPool(known[id], own[id], limit=limit, prefix=f"{id}/" if place else "", titled=titled)
        for place, id in enumerate(seen)
    ]
    others = [id for id in known if id not in seen]
    return pools, [TaskPool(known[id], limit=limit, prefix=f"{id}/", titled=titled) for id in others]


def _by_world(families: Sequence[str], known: Mapping[str, str]) -> Mapping[str, list[str]]:
    """The families of each world: those named with its id, and names without an id that it has."""
    own: dict[str, list[str]] = {id: [] for id in known}
    trainable = {id: families_of(bundled_tasks(open_world(env_id)).ids("train")) for id, env_id in known.items()}
    for name in families:
        has = [id for id in known if f"{id}/{name}" in trainable[id]]
        world = name.partition("/")[0]
        for id in [world] if world in known and "/" in name else has or known:
            own[id].append(name)
    return own


def _declare(pool: TaskPool) -> list[str]:
    """The axes that a world supports."""
    own = pool.world.capabilities
    has = {
        "entities": not {"dev", "heldout-records"}.isdisjoint(pool.task_set.splits),
        "family": bool(untrained_families(pool)),
        "policy": own.handbooks,
        "surface": "generic" in own.surfaces,
        "interface": "pages" in own.surfaces,
        "temper": own.tempers,
    }
    return [name for name in AXES if has.get(name, True)]


def _declares(pool: TaskPool, axis: str, *, asked: bool) -> bool:
    """Whether a world supports an axis.

    Raises:
        CapabilityError: it does not, and the axis was requested by name.
    """
    declared = _declare(pool)
    if asked and axis not in declared:
        raise CapabilityError.of(pool.world.name, f"axis {axis!r}", "axes", declared)
    return axis in declared


def _name(option: str, names: Json | Sequence[str]) -> list[str]:
    """The names in an option of a command, which may be any JSON."""
    given = names.split(",") if isinstance(names, str) else names
    if isinstance(given, list | tuple):
        texts = [name.strip() for name in given if isinstance(name, str)]
        if len(texts) == len(given):
            return texts
    raise ConfigError(f"{option}={names!r}: write names with commas between, or a list of them")


def _notes(pool: TaskPool) -> tuple[str, ...]:
    distribution = (
        f"{pool.world.name}: in distribution are tasks of the {len(pool.trained)} families that the agent is taken to "
        "have been trained on, in the worlds of the split train, at indices that the split does not list. For an agent "
        "that was trained on other families, on more indices, or not here at all, no cell is in distribution."
    )
    pairing = (
        "Cells of the axes surface, interface, noise and wording hold the tasks of the cell in distribution, so that "
        "differences are paired by task."
    )
    patience = (
        "Where calls are refused for the moment (noise/medium, noise/strong) a scripted solution has to be patient and "
        "make such a call again."
    )
    return distribution, pairing, patience


__all__ = ["AXES", "suite"]

"""The tasks of a world: its own families, or a folder of a user's, listed by split and made when first asked for."""

import importlib
import importlib.util
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from palaestra.cache import LruCache
from palaestra.digest import digest
from palaestra.envs.decided import load_decided
from palaestra.envs.instance import Instance, instantiate
from palaestra.envs.release import load
from palaestra.envs.rule_twin import deciding_handbook
from palaestra.envs.task import FIRST_INDEX, LAST_INDEX, SPLITS, TRAITS, TWIN, Family, Split, split_of
from palaestra.envs.world import World
from palaestra.errors import CapabilityError, PackError, PackWarning, PalaestraError, TaskError, UnknownNameError
from palaestra.packs import describe_failure

ENTRY_POINTS = "palaestra.tasks"
"""The entry-point group under which an installed package offers families: each names a package of task files."""
POLICY_SPLIT: Split = "heldout-policy"
"""The split of tasks that their handbooks decide."""
KEPT = 1_024
"""How many instances a set of tasks keeps ready; the least recently used one is made anew when it is asked for."""


class TaskSet:
    """Families of one world, and their instances.

    Args:
        world: The world that every family is set in.
        families: The families; ids are unique.
        lists: Whether a split lists the tasks of a family; without it, every split lists all that it could.
        decided: The tasks of "heldout-policy", each with the number of its handbook, which decides it; without it,
            that split has tasks as every other one has. A task and its refusal twin have one handbook.

    Raises:
        TaskError: two families share an id, or one is set in another world.
    """

    def __init__(
        self,
        world: World,
        families: Iterable[Family[Any]],
        *,
        lists: Callable[[Family[Any], Split], bool] = lambda _family, _split: True,
        decided: Mapping[str, int] | None = None,
    ) -> None:
        self.world = world
        self._decided = decided
        self._handbooks = {self._pair_of(task): number for task, number in (decided or {}).items()}
        self.families: dict[str, Family[Any]] = {}
        stated = list(families)
        for family in sorted([*stated, *(f.twins() for f in stated if f.twin)], key=lambda f: f.id):
            if family.world != world.name:
                raise TaskError(
                    f"{family.source}: family {family.id} is set in {family.world!r}, not in {world.name!r}; "
                    f"begin its id with {world.name}/"
                )
            for trait in family.traits:
                if trait not in TRAITS and trait not in world.traits:
                    unknown = UnknownNameError.of("trait", trait, [*TRAITS, *world.traits])
                    raise TaskError(f"{family.source}: {family.id}: {unknown}; a world declares further ones")
            if family.id in self.families:
                raise TaskError(
                    f"{family.source}: {family.id} is taken by {self.families[family.id].source}; rename one"
                )
            self.families[family.id] = family
        # Shared by every environment of the set: written out for each, they would be most of what it weighs.
        self._candidates: dict[str, tuple[str, ...]] = {split: tuple(self._list_stated(split)) for split in SPLITS}
        self._ids: dict[str, tuple[str, ...]] = {
            split: tuple(task for task in self._candidates[split] if lists(self.family_of(task), split))
            for split in SPLITS
        }
        unseen = frozenset(task for task in self._ids["heldout"] if self.families[task.rpartition("/")[0]].unseen)
        self._ids |= {
            "heldout-world": tuple(task for task in self._ids["heldout"] if task not in unseen),
            "heldout-family": tuple(task for task in self._ids["heldout"] if task in unseen),
            "heldout-surface": tuple(task for task in self._ids["heldout"] if task not in unseen),
        }
        self._instances: LruCache[tuple[str, int], Instance] = LruCache(KEPT)

    @property
    def is_decided(self) -> bool:
        """Whether "heldout-policy" lists only tasks that a changed handbook decides."""
        return self._decided is not None

    def ids(self, split: str) -> tuple[str, ...]:
        """The ids of the instances that a split, or an axis of the held-out tasks, lists, family by family.

        Raises:
            UnknownNameError: there is no such split.
            CapabilityError: the world does not declare it.
        """
        declared = [*self.splits, *self._heldout_axes()]
        if split not in self._ids:
            raise UnknownNameError.of("split", split, declared)
        if split not in declared:
            raise CapabilityError.of(self.world.name, f"split {split!r}", "splits", declared)
        return self._ids[split]

    @property
    def splits(self) -> tuple[Split, ...]:
        """The splits that the world declares, without the axes of the held-out tasks."""
        return tuple(split for split in SPLITS if self.world.instances.get(split))

    def _heldout_axes(self) -> list[str]:
        """The axes of the held-out tasks that the set has families for, and the world a surface."""
        if "heldout" not in self.splits:
            return []
        held_out = [family for family in self.families.values() if "heldout" in family.splits]
        unseen = any(family.unseen for family in held_out)
        trained = any(not family.unseen for family in held_out)
        has = {
            "heldout-world": trained,
            "heldout-family": unseen,
            "heldout-surface": trained and bool(self.world.surfaces),
        }
        return [axis for axis, is_there in has.items() if is_there]

    def candidates(self, split: str) -> tuple[str, ...]:
        """The ids that a split would list if all families were released: what there is to prove.

        Raises:
            UnknownNameError: there is no such split.
        """
        if split not in self._candidates:
            raise UnknownNameError.of("split", split, self._candidates)
        return self._candidates[split]

    def indices(self, family: str, split: Split) -> range:
        """The indices of all instances that a family can make in a split; those that no split lists are not proved.

        Raises:
            UnknownNameError: there is no such family, or it does not occur in the split.
        """
        if family not in self.families:
            raise UnknownNameError.of("family", family, self.families)
        if split not in self.families[family].splits:
            raise UnknownNameError.of("split", split, self.families[family].splits, f"of {family}")
        first = FIRST_INDEX[split]
        return range(first, min((start for start in FIRST_INDEX.values() if start > first), default=LAST_INDEX + 1))

    def family_of(self, task_id: str) -> Family[Any]:
        """The family of a listed task."""
        return self.families[task_id.rpartition("/")[0]]

    def _list_stated(self, split: Split) -> Iterator[str]:
        if split == POLICY_SPLIT and self._decided is not None:
            yield from sorted(task for task in self._decided if self.has(task))
            return
        for family in self.families.values():
            if split in family.splits:
                for n in range(self._count(family, split)):
                    yield f"{family.id}/{FIRST_INDEX[split] + n:04d}"

    def _count(self, family: Family[Any], split: Split) -> int:
        if family.twin_of is not None:
            return self.world.twin_instances.get(split, 0)
        only_here = family.unseen and split == "heldout"
        return self.world.unseen_instances if only_here else self.world.instances.get(split, 0)

    def check_split(self, task_id: str, split: str) -> None:
        """Refuse a task of another split.

        Raises:
            TaskError: it is of another one.
        """
        own = split_of(self._parse(task_id)[1])
        if own != (split if split in SPLITS else "heldout"):
            raise TaskError(
                f"task={task_id!r} is of the split {own!r}, and split={split!r} was asked for; leave one of them out"
            )

    def instance(self, task_id: str, handbook: int = 0) -> Instance:
        """The instance of that id, listed or not, in its world under a handbook; made once and kept.

        Raises:
            UnknownNameError: no family has such an id.
            TaskError: the index is out of range, or the family fails to make it.
        """
        return self._instances.get(
            (task_id, handbook), lambda: self.rebuild(task_id, self.handbook_of(task_id, handbook))
        )

    def rebuild(self, task_id: str, handbook: int = 0) -> Instance:
        """The instance of that id, made anew: a task is a pure function of its id, and this is how one checks.

        Args:
            task_id: The task.
            handbook: The number of the very handbook; 0 for the task's own.
        """
        own = self._handbooks.get(self._pair_of(task_id), 0)
        return instantiate(self.world, *self._parse(task_id), handbook=handbook or own)

    def handbook_of(self, task_id: str, handbook: int) -> int:
        """The handbook under which a task is played where the number `handbook` is asked for.

        It is the task's own where that is asked for, and otherwise the first from that number on that decides it; see
        `palaestra.envs.rule_twin`.
        """
        own = self._handbooks.get(self._pair_of(task_id), 0)
        if handbook in (0, own):
            return own
        return deciding_handbook(self.world, *self._parse(task_id), handbook)

    @staticmethod
    def _pair_of(task_id: str) -> str:
        """What a task and its refusal twin have in common of their ids."""
        family, _, index = task_id.rpartition("/")
        return f"{family.removesuffix(TWIN)}/{index}"

    def has(self, task_id: str) -> bool:
        """Whether a family makes a task of that id."""
        try:
            self._parse(task_id)
        except PalaestraError:
            return False
        return True

    def _parse(self, task_id: str) -> tuple[Family[Any], int]:
        family_id, _, index = task_id.rpartition("/")
        if family_id not in self.families or not index.isdecimal():
            raise UnknownNameError(self._describe_unknown(task_id))
        if int(index) > LAST_INDEX or f"{int(index):04d}" != index:
            raise TaskError(f"task {task_id!r}: an index has four digits, 0000 to {LAST_INDEX}")
        family = self.families[family_id]
        if split_of(int(index)) not in family.splits:
            raise TaskError(
                f"task {task_id!r}: index {index} belongs to split {split_of(int(index))!r}, "
                f"in which {family_id} does not occur; it occurs in {', '.join(family.splits)}"
            )
        if not self.world.seeds.get(split_of(int(index))):
            raise TaskError(
                f"task {task_id!r}: index {index} belongs to split {split_of(int(index))!r}, for which "
                f"{self.world.name} has no world seed; its splits are {', '.join(self.splits)}"
            )
        return family, int(index)

    def _describe_unknown(self, task_id: str) -> str:
        """Why an id is none, with near ids: of near families, with its own index where the family has that task."""
        if task_id in self.families:
            return f"task {task_id!r} has no index; add one, such as {self._near_id(task_id, '')}"
        family, _, index = task_id.rpartition("/")
        if family in self.families:
            near = [family]
        else:
            wanted = family if index.isdecimal() else task_id
            near = get_close_matches(wanted, sorted(self.families), n=3, cutoff=0.5)
        way_out = (
            f"did you mean {' or '.join(repr(self._near_id(one, index)) for one in near)}?"
            if near
            else f"there are {len(self.families)} families"
        )
        return f"unknown task {task_id!r}; {way_out} (`palaestra tasks list` lists all)"

    def _near_id(self, family: str, index: str) -> str:
        """A task of a family: that of the index where there is one, else the first of train, or of its first split."""
        if index.isdecimal() and self.has(f"{family}/{index}"):
            return f"{family}/{index}"
        splits = self.families[family].splits
        return f"{family}/{FIRST_INDEX['train' if 'train' in splits else splits[0]]:04d}"


@lru_cache(maxsize=64)
def bundled_tasks(world: World) -> TaskSet:
    """The world's own families, and those that installed packages offer for it.

    Of its own, the splits list what the world's release lists.

    Raises:
        PackError: the world's task files cannot be loaded.
        TaskError: a family breaks a rule.
    """
    own = _own_families(world)
    release, governed = load(world), {family.id for family in own}

    def lists(family: Family[Any], split: Split) -> bool:
        if release is None or (family.twin_of or family.id) not in governed:
            return True
        return release.lists(family.id, split)

    return TaskSet(world, (*own, *_installed_families(world)), lists=lists, decided=load_decided(world))


def _own_families(world: World) -> list[Family[Any]]:
    if not isinstance(world.families, str):
        return list(world.families)
    try:
        return [family for module in _modules(world.families) for family in _families(module)]
    except PalaestraError:
        raise
    except (Exception, SystemExit) as error:
        raise PackError(
            f"world {world.name}: its task families ({world.families}) cannot be loaded: "
            f"{describe_failure(error)}; correct them, or World.families"
        ) from error


def _installed_families(world: World) -> Iterator[Family[Any]]:
    """The families that installed packages offer for a world; a package that cannot be loaded is left out, with a word.

    A broken package must not take the world's own tasks away, and must not go unnoticed.
    """
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        try:
            families = [family for module in _modules(point.value) for family in _families(module)]
        except (Exception, SystemExit) as error:
            owner = point.dist.name if point.dist is not None else point.value
            warnings.warn(
                f"the tasks that the package {owner} offers ({point.value}) are left out, since it cannot be loaded: "
                f"{type(error).__name__}: {error}; correct or uninstall it",
                PackWarning,
                stacklevel=2,
            )
            continue
        yield from (family for family in families if family.world == world.name)


def load_families(folder: Path) -> list[Family[Any]]:
    """The families in the Python files of a folder (or in one file).

    Raises:
        TaskError: there is no such folder, a file fails to load, or none of them holds a family.
    """
    if not folder.exists():
        raise TaskError(f"{folder}: there is no such file or folder; give the path of your task files")
    files = sorted(p for p in folder.glob("*.py") if not p.name.startswith("_")) if folder.is_dir() else [folder]
    families = [family for file in files for family in _families(_load(file))]
    if not families:
        raise TaskError(f"{folder}: no task family in {len(files)} Python file(s); decorate a function with @family")
    return families


def load_folder(world: World, folder: Path) -> TaskSet:
    """The families of a folder as the tasks of `world`; raises as `load_families` and `TaskSet` do."""
    return TaskSet(world, load_families(folder))


def _modules(package: str) -> list[ModuleType]:
    root = importlib.import_module(package)
    names = sorted(m.name for m in pkgutil.iter_modules(getattr(root, "__path__", []), package + "."))
    return [root, *(importlib.import_module(name) for name in names)]


def _families(module: ModuleType) -> list[Family[Any]]:
    found: list[Family[Any]] = [value for value in vars(module).values() if isinstance(value, Family)]
    return [family for family in found if family.make.__module__ == module.__name__]


def _load(file: Path) -> ModuleType:
    """Import a task file under a name of its own, so that two folders may hold files of one name."""
    name = f"palaestra_tasks_{digest(str(file.resolve()))[:12]}_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise TaskError(f"{file}: not a Python file; a task file ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except TaskError:
        raise
    except SyntaxError as error:
        where = f"{error.filename or file}:{error.lineno or 1}"
        raise TaskError(f"{where}: {error.msg}; mend the task file") from error
    except (Exception, SystemExit) as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None and trace.tb_frame.f_code.co_filename != str(file):
            trace = trace.tb_next
        line = trace.tb_lineno if trace is not None else 1
        raise TaskError(f"{file}:{line}: {type(error).__name__}: {error}; {_way_out(error, file)}") from error
    return module


def _way_out(error: BaseException, file: Path) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name and file.with_name(f"{error.name}.py").exists():
        return "task files are loaded one by one; put what they share in a package that is installed"
    if isinstance(error, ImportError) and error.name in sys.modules:
        offered = dir(sys.modules[error.name])
        near = [n for word in str(error).split("'")[1::2] for n in get_close_matches(word, offered, n=2)]
        return f"did you mean {' or '.join(near)}?" if near else "mend the task file"
    return "mend the task file"

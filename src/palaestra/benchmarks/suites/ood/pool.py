"""The tasks of cells: which are in distribution, which were trained on, and an even choice among them.

A task is in distribution if its family and its world were trained on, but not the task itself. The split "train" lists
20 tasks per family, two or three for each of its eight worlds; further indices are equivalent tasks of the same worlds.
If a world has too few fitting records, a further index repeats a request: a task that names the same records as a
listed one is skipped.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from palaestra.benchmarks.evaluation.suite import Cell
from palaestra.benchmarks.evenly import evenly
from palaestra.benchmarks.statistics import Unit
from palaestra.envs import Instance, TaskSet, bundled_tasks, open_world
from palaestra.envs.rule_twin import is_decided, rule_twin
from palaestra.envs.task import Family
from palaestra.errors import TaskError, UnknownNameError
from palaestra.ids import ids_in

UNLISTED = "train, tasks that it does not list"
"""The split of in-distribution tasks."""
BASE = "in-distribution"
"""The id of the first cell of most ladders."""
_PER_CELL = 180
"""The approximate number of in-distribution tasks without a limit."""
_TRIES = 3
"""How many further tasks of a family in one world are checked before it counts as having no fresh one."""

DEMO = "demo"
"""The word for the families of the demo's policy, as far as the split "train" has them."""


class TaskPool:
    """The tasks of one world that cells are made of.

    Args:
        env_id: The world.
        prefix: The prefix of its cells' ids, if a suite has several worlds.
        titled: Whether titles name the world, if a suite has several.
        families: The training families, by id or by name; "demo" alone for those of the demo's policy. Default: all of
            the split "train".
        limit: Maximum tasks per cell.

    Raises:
        UnknownNameError: a family does not occur in the split "train".
        ValueError: the limit is below 1.
    """

    def __init__(
        self,
        env_id: str,
        families: Sequence[str] = (),
        *,
        limit: int | None = None,
        prefix: str = "",
        titled: bool = False,
    ) -> None:
        if limit is not None and limit < 1:
            raise ValueError(f"limit={limit}: a cell has at least one task; leave it out for all")
        self.limit = limit
        self.env_id = env_id
        self.prefix = prefix
        self.titled = titled
        self.world = open_world(env_id)
        self.task_set: TaskSet = bundled_tasks(self.world)
        self.trainable = families_of(self.task_set.ids("train"))
        self.trained = self._name(families) if families else self.trainable

    def _name(self, families: Sequence[str]) -> tuple[str, ...]:
        if list(families) == [DEMO]:
            chosen = {f"{self.world.name}/{name}" for name in self.world.demo}
            return tuple(sorted(chosen.intersection(self.trainable))) if chosen else self.trainable
        whole = [name if "/" in name else f"{self.world.name}/{name}" for name in families]
        for name in whole:
            if name not in self.trainable:
                raise UnknownNameError.of("family to train on", name, self.trainable)
        return tuple(sorted(set(whole)))

    def family(self, task: str) -> Family[Any]:
        """The family of a task, or with that id."""
        families = self.task_set.families
        return families[task] if task in families else families[task.rpartition("/")[0]]

    def instance(self, task: str) -> Instance:
        """The instance of a task."""
        return self.task_set.instance(task)

    @cached_property
    def base(self) -> Cell:
        """The in-distribution cell."""
        tasks = self.fresh(self.trained, about=_PER_CELL)
        return self.cell(BASE, self.title("in distribution"), tasks, split=UNLISTED)

    def title(self, text: str) -> str:
        """A title that names the world, if a suite has several."""
        return f"{text} ({self.world.name})" if self.titled else text

    def cell(
        self,
        id: str,
        label: str,
        tasks: Sequence[str],
        *,
        split: str,
        switches: Mapping[str, Any] | None = None,
        unit: Unit = Unit.TASK,
    ) -> Cell:
        """A cell of this world's tasks; `unit` is the unit over which its claim generalises."""
        return Cell(
            id=f"{self.prefix}{id}",
            label=label,
            env_id=self.env_id,
            tasks=tuple(tasks),
            switches=dict(switches or {}),
            unit=unit,
            split=f"{self.world.name}/{split}",
        )

    def fresh(
        self, families: Sequence[str], *, about: int, where: Callable[[str], bool] = lambda _: True
    ) -> tuple[str, ...]:
        """About this many untrained tasks of these families in the worlds of "train", evenly over families.

        Args:
            families: The families, each with an equal number of tasks if it has enough.
            about: The number of tasks without a limit, rounded up to an equal number per family.
            where: Whether a task fits.
        """
        if not families:
            return ()
        wanted = about if self.limit is None else min(about, self.limit)
        # Tasks that `even` would leave out are not searched: checking whether a task is fresh needs several instances.
        chosen = evenly(families, wanted)
        each = -(-wanted // len(chosen))
        places = {family: place for place, family in enumerate(families)}
        tasks = [task for family in chosen for task in self._fresh(family, places[family], each, where)]
        return even(tasks, self.limit)

    def _fresh(self, family: str, place: int, count: int, where: Callable[[str], bool]) -> Iterator[str]:
        """Up to `count` fresh tasks of a family, one world after another, with another first world for each family."""
        worlds = len(self.world.seeds["train"])
        listed = self.world.instances["train"]
        found = 0
        for round_ in range(_TRIES):
            for turn in range(worlds):
                if found == count:
                    return
                task = f"{family}/{listed + round_ * worlds + (place + turn) % worlds:04d}"
                if self._is_fresh(task) and where(task):
                    found += 1
                    yield task

    def _is_fresh(self, task: str) -> bool:
        """Whether no listed task of the family, or of its twin, is about the same records in the same world."""
        worlds = len(self.world.seeds["train"])
        family, _, index = task.rpartition("/")
        # A twin has the requests of its sibling, of which the split lists more.
        sibling = self.family(family).twin_of or family
        alike = range(int(index) % worlds, self.world.instances["train"], worlds)
        try:
            about = self._about(task)
        except TaskError:
            return False
        return all(self._about(f"{sibling}/{number:04d}") != about for number in alike)

    def _about(self, task: str) -> frozenset[str]:
        """The records that a request names, and its sender; the ticket is always new."""
        instance = self.instance(task)
        base = instance.initial_state.base.rows

        def is_about(word: str) -> bool:
            return "@" in word or any(word in table for table in base.values())

        return frozenset(word for message in instance.messages[1:] for word in ids_in(message["content"], is_about))

    def listed_tasks(self, split: str, families: Iterable[str]) -> tuple[str, ...]:
        """The tasks of these families that a split lists; empty if the world does not declare the split."""
        if split.removesuffix("-world") not in self.task_set.splits:
            return ()
        wanted = set(families)
        return tuple(task for task in self.task_set.ids(split) if task.rpartition("/")[0] in wanted)

    @cached_property
    def decidable(self) -> tuple[str, ...]:
        """The training families with tasks in "heldout-policy", which some handbook decides."""
        return tuple(dict.fromkeys(families_of(self.listed_tasks("heldout-policy", self.trained))))

    def is_decided(self, task: str, handbook: int) -> bool:
        """Whether the handbook with this number decides a task."""
        try:
            instance = self.task_set.instance(task, handbook)
        except TaskError:
            return False
        return is_decided(instance, rule_twin(instance))

    def even(self, tasks: Sequence[str]) -> tuple[str, ...]:
        """As many tasks as the limit allows, evenly over families; always the same choice."""
        return even(tasks, self.limit)


def families_of(tasks: Iterable[str]) -> tuple[str, ...]:
    """The families of tasks, in order."""
    return tuple(dict.fromkeys(task.rpartition("/")[0] for task in tasks))


def even(tasks: Sequence[str], limit: int | None) -> tuple[str, ...]:
    """At most `limit` tasks, as evenly over families as the number allows.

    Each round takes one task of every family; an incomplete round takes families at even distances. The complete rounds
    of a smaller limit are also in a larger one.
    """
    if limit is None or len(tasks) <= limit:
        return tuple(tasks)
    by_family: Mapping[str, list[str]] = {family: [] for family in families_of(tasks)}
    for task in tasks:
        by_family[task.rpartition("/")[0]].append(task)
    chosen: list[str] = []
    depth = 0
    while len(chosen) < limit:
        round_ = [own[depth] for own in by_family.values() if len(own) > depth]
        chosen += evenly(round_, limit - len(chosen))
        depth += 1
    kept = set(chosen)
    return tuple(task for task in tasks if task in kept)

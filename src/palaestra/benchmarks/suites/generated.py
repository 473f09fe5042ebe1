"""The suite of generated worlds: new tasks of training worlds, new domains, and a new mechanism."""

from collections.abc import Sequence

from palaestra.benchmarks.evaluation.suite import Cell, Ladder, Suite
from palaestra.benchmarks.evenly import evenly
from palaestra.benchmarks.statistics import Unit
from palaestra.envs.synthesis import MANY_SPLITS, ManyWorldsEnv, listed_numbers
from palaestra.errors import CapabilityError, ConfigError

ENV_ID = "palaestra/Synth-v0"
AXIS = "world"
RUNGS = {
    "heldout": "new tasks of worlds that were trained in",
    "heldout-domain": "known mechanisms in a domain never trained in",
    "heldout-mechanism": "a mechanism never trained in",
}
"""What each split shifts, from none to strong."""
_TASKS = 240
"""The default number of tasks per cell."""
_WORLDS = 24
"""The default number of worlds per rung."""


def suite(
    limit: int | None = None, axes: Sequence[str] = (), *, trained: int | None = None, each: int = _WORLDS
) -> Suite:
    """The suite of generated worlds.

    Args:
        limit: Maximum tasks per cell, spread evenly over its worlds and families. Default: 240.
        axes: The axes; there is only "world".
        trained: The number of worlds that the agent was trained in, the first of those listed for training. Default:
            all.
        each: Maximum worlds per rung, spread evenly over the listed ones.

    Raises:
        ConfigError: an axis does not exist, or a number is below 1.
        CapabilityError: fewer worlds are listed, or a split has none.
    """
    if any(axis != AXIS for axis in axes):
        raise ConfigError(f"axis {', '.join(axes)}: the suite of generated worlds has one, {AXIS!r}")
    if each < 1 or (trained is not None and trained < 1):
        raise ConfigError(f"trained={trained}, each={each}: give at least 1")
    cells = [_cell(split, _numbers(split, trained, each), limit or _TASKS) for split in RUNGS]
    ladder = Ladder(
        axis=AXIS,
        title="Generated worlds",
        cells=tuple(cell.id for cell in cells),
        note="Held-out tasks in worlds ever farther from those that were trained in. Every rung has its own worlds, so "
        "rungs differ in difficulty too; a policy that was trained in none of them shows by how much.",
    )
    return Suite(name="synth", title="Generated worlds", cells=tuple(cells), ladders=(ladder,))


def _numbers(split: str, trained: int | None, each: int) -> tuple[int, ...]:
    world_split = MANY_SPLITS[split][0]
    listed = listed_numbers(world_split)
    if split == "heldout" and trained is not None:
        if trained > len(listed):
            raise CapabilityError(f"trained={trained}: {len(listed)} worlds are listed for training; give fewer")
        listed = listed[:trained]
    if not listed:
        raise CapabilityError(f"no generated world is listed in the split {world_split}; prove and list some first")
    return tuple(listed[place * len(listed) // min(each, len(listed))] for place in range(min(each, len(listed))))


def _cell(split: str, numbers: Sequence[int], limit: int) -> Cell:
    switches = {"split": split, "worlds": list(numbers)}
    tasks = ManyWorldsEnv(split=split, worlds=numbers).task_set.ids(split)
    return Cell(
        id=f"{AXIS}/{split}",
        label=f"{RUNGS[split]} ({len(numbers)} worlds)",
        env_id=ENV_ID,
        tasks=evenly(tasks, limit),
        switches=switches,
        unit=Unit.WORLD,
        split=f"synth/{split}",
    )

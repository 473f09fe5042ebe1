"""The groups of test tasks, from tasks close to training to tasks of an unrelated world.

Tasks are spread evenly over the listed tasks of a split, so they are equal for all arms and seeds. Only the group of
new tasks of all trained worlds depends on the arm.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from palaestra.benchmarks.evenly import evenly
from palaestra.benchmarks.statistics import Unit
from palaestra.envs.synthesis import MANY_SPLITS, ManyWorldsEnv, listed_numbers
from palaestra.errors import CapabilityError
from palaestra.trainers import WorldConfig, tasks_of

SYNTH = "palaestra/Synth-v0"
STOREFRONT = "palaestra/Storefront-v0"
TRAINED = "new tasks of all trained worlds"
FIRST = "new tasks of the first trained world"
_SPLITS = {
    "dev": "development worlds",
    "heldout-domain": "new domains",
    "heldout-mechanism": "new mechanisms",
}
"""The name of the group of each split."""
GROUPS = (TRAINED, FIRST, *_SPLITS.values(), "Storefront, new records")
"""The names of the groups, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferGroup:
    """Tasks at the same distance from training."""

    name: str
    env_id: str
    tasks: tuple[str, ...]
    unit: Unit
    """The unit over which a claim about the group generalises."""


def training_world(worlds: int) -> WorldConfig:
    """The first worlds that are listed for training.

    Raises:
        CapabilityError: fewer worlds are listed.
    """
    listed = len(listed_numbers("train"))
    if worlds > listed:
        raise CapabilityError(f"worlds={worlds}: {listed} generated worlds are listed for training; give fewer")
    return WorldConfig(env_id=SYNTH, switches={"worlds": worlds})


def transfer_groups(worlds: int, most: int) -> tuple[TransferGroup, ...]:
    """The groups on which an arm is measured.

    Args:
        worlds: Number of worlds in which the arm is trained.
        most: Maximum number of tasks in each group.

    Raises:
        CapabilityError: fewer worlds are listed, or a split lists none.
    """
    trained = listed_numbers("train")[:worlds]
    storefront = tasks_of(WorldConfig(env_id=STOREFRONT, split="heldout-records"))
    return (
        _group(TRAINED, "heldout", trained, most),
        _group(FIRST, "heldout", trained[:1], most),
        *(_group(name, split, _list_numbers(split), most) for split, name in _SPLITS.items()),
        TransferGroup(name=GROUPS[-1], env_id=STOREFRONT, tasks=evenly(storefront, most), unit=Unit.FAMILY),
    )


def _list_numbers(split: str) -> Sequence[int]:
    numbers = listed_numbers(MANY_SPLITS[split][0])
    if not numbers:
        raise CapabilityError(f"no generated world is listed in the split {split}; prove and list some first")
    return numbers


def _group(name: str, split: str, numbers: Sequence[int], most: int) -> TransferGroup:
    """A group of generated worlds, with an equal share of the tasks for each."""
    chosen = [numbers[place * len(numbers) // min(most, len(numbers))] for place in range(min(most, len(numbers)))]
    tasks: list[str] = []
    for place, number in enumerate(chosen):
        share = most * (place + 1) // len(chosen) - most * place // len(chosen)
        tasks += evenly(ManyWorldsEnv(split=split, worlds=[number]).task_set.ids(split), share)
    return TransferGroup(name=name, env_id=SYNTH, tasks=tuple(tasks), unit=Unit.WORLD)

"""Which generated worlds are listed: those that were proved, as they were proved."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import orjson
from pydantic import TypeAdapter

from palaestra.durable import write_file
from palaestra.envs.blueprints.blueprint import Blueprint
from palaestra.envs.synthesis.generator import WorldPlan, WorldSplit
from palaestra.envs.task import FIRST_INDEX, TWIN, Split

PATH = Path(__file__).with_name("listing.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedWorld:
    """A proved world."""

    split: WorldSplit
    domain: str
    mechanisms: tuple[str, ...]
    blueprint: str
    """The digest of its blueprint."""
    tasks: str
    """One digest over what each of its tasks is."""
    families: tuple[str, ...]
    """The names of its families without refusal twins; each has one."""
    instances: Mapping[Split, int]
    """How many tasks of a family each split lists."""

    @classmethod
    def of(cls, plan: WorldPlan, blueprint: Blueprint, tasks: str) -> "ListedWorld":
        """The world of a plan and its blueprint, whose tasks have that digest."""
        return cls(
            split=plan.split,
            domain=plan.domain,
            mechanisms=plan.mechanisms,
            blueprint=blueprint.digest,
            tasks=tasks,
            families=tuple(blueprint.requests),
            instances=dict(blueprint.instances),
        )

    def task_ids(self, world: str, split: Split) -> Iterator[str]:
        """The ids that a split of the world lists, as its `TaskSet` has them; the world is not compiled for it."""
        for family in sorted(f"{world}/{name}{end}" for name in self.families for end in ("", TWIN)):
            for place in range(self.instances[split]):
                yield f"{family}/{FIRST_INDEX[split] + place:04d}"


_LISTING = TypeAdapter(dict[int, ListedWorld])


@cache
def listed_worlds() -> Mapping[int, ListedWorld]:
    """The listed worlds by number, in order."""
    if not PATH.exists():
        return {}
    return dict(sorted(_LISTING.validate_json(PATH.read_bytes()).items()))


def listed_numbers(split: WorldSplit) -> tuple[int, ...]:
    """The numbers of the listed worlds of a split."""
    return tuple(number for number, world in listed_worlds().items() if world.split == split)


def save_listing(worlds: Mapping[int, ListedWorld], path: Path = PATH) -> None:
    """Write the listing, a world a line."""
    lines = [f'"{number}":'.encode() + orjson.dumps(world) for number, world in sorted(worlds.items())]
    write_file(path, b"{\n" + b",\n".join(lines) + b"\n}\n")

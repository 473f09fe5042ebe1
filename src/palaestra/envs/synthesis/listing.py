"""Which generated worlds are listed: those that were proved, as they were proved."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import orjson
from pydantic import TypeAdapter

from palaestra.durable import write_file
from palaestra.envs.synthesis.generator import WorldSplit

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

"""Rooms and tasks of games that are made here, drawn from a seed out of the package's own floor plans."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

# Any: what is installed where this runs, and not where types are checked.
CONSTANTS: Any = import_module("alfworld.gen.constants")
LAYOUTS = Path(CONSTANTS.__file__).parent / "layouts"

TYPES = (
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
)
SCENES = {
    "generated-test": CONSTANTS.TEST_SCENE_NUMBERS,
    "generated-dev": CONSTANTS.TRAIN_SCENE_NUMBERS,
    "generated-train": CONSTANTS.TRAIN_SCENE_NUMBERS,
}
TREATED = {
    "pick_clean_then_place_in_recep": ("Cleanable", "SinkBasin"),
    "pick_heat_then_place_in_recep": ("Heatable", "Microwave"),
    "pick_cool_then_place_in_recep": ("Coolable", "Fridge"),
}
"""What a thing must be, and where that is done to it."""
LAMP = "DeskLamp"
_HOLDS: dict[str, set[str]] = CONSTANTS.VAL_RECEPTACLE_OBJECTS
_FIXED = frozenset(_HOLDS) - frozenset(CONSTANTS.MOVABLE_RECEPTACLES)
_BASINS = {"Sink": "SinkBasin", "Bathtub": "BathtubBasin"}
_LAMP_ON = ("Desk", "SideTable", "Dresser", "CoffeeTable", "DiningTable", "Shelf")
_MOST = 6
"""Receptacles of one job in a room."""


@dataclass(frozen=True)
class Room:
    """A room with things in it."""

    scene: int
    receptacles: tuple[tuple[str, int], ...]
    """Type and number of each."""
    things: tuple[tuple[str, int, int], ...]
    """Type and number of each, and in which receptacle it is."""


@dataclass(frozen=True)
class Chore:
    """A task in a room."""

    job: str
    room: Room
    thing: str
    target: str
    """The type of receptacle, "" where it is looked at under a lamp."""


def chore(job: str, split: str, seed: int) -> Chore:
    """The task that a type, a split and a seed stand for."""
    draws = Random(f"palaestra/alfworld/{job}/{split}/{seed}")  # noqa: S311  a game, not a secret
    names = [name for name in CONSTANTS.SCENE_TYPE if name in CONSTANTS.GOALS_VALID[job]]
    while True:
        kind = draws.choice(names)
        scene = draws.choice([n for n in SCENES[split] if n in CONSTANTS.SCENE_TYPE[kind]])
        receptacles, kinds = _plan(scene)
        goals = _goals(job, receptacles, kinds)
        if goals:
            thing, target = draws.choice(goals)
            return Chore(job, _furnish(draws, scene, receptacles, kinds, (job, thing, target)), thing, target)


def _plan(scene: int) -> tuple[dict[str, int], list[str]]:
    """How many receptacles of each type stand in a floor plan, and which kinds of things lie about in it."""
    there: list[str] = json.loads((LAYOUTS / f"FloorPlan{scene}-objects.json").read_text())
    placed = json.loads((LAYOUTS / f"FloorPlan{scene}-openable.json").read_text())
    counted = Counter(_BASINS.get(name, name) for name in (key.split("|")[0] for key in placed))
    receptacles = {name: min(max(counted[name], 1), _MOST) for name in sorted(_FIXED) if name in {*there, *counted}}
    return receptacles, sorted(name for name in there if name not in _FIXED and places_of(name, receptacles))


def places_of(thing: str, receptacles: Iterable[str]) -> list[str]:
    """The types of receptacles that a thing may be in."""
    if thing == LAMP:
        return [name for name in receptacles if name in _LAMP_ON]
    return [name for name in receptacles if thing in _HOLDS[name]]


def _goals(job: str, receptacles: dict[str, int], kinds: list[str]) -> list[tuple[str, str]]:
    """What could be asked in a floor plan: a kind of thing, and where it should go."""
    wanted = [kind for kind in kinds if kind != LAMP]
    if job == "look_at_obj_in_light":
        return [(kind, "") for kind in wanted] if LAMP in kinds else []
    if job in TREATED:
        quality, place = TREATED[job]
        wanted = [kind for kind in wanted if kind in CONSTANTS.VAL_ACTION_OBJECTS[quality] and place in receptacles]
    return [
        (kind, target)
        for kind in wanted
        for target in places_of(kind, receptacles)
        if len(places_of(kind, receptacles)) > 1 and (job not in TREATED or target != TREATED[job][1])
    ]


def _furnish(
    draws: Random, scene: int, receptacles: dict[str, int], kinds: list[str], goal: tuple[str, str, str]
) -> Room:
    """A room with things at drawn places, none of which does the task already."""
    job, thing, target = goal
    stand = tuple((name, number) for name, many in receptacles.items() for number in range(1, many + 1))
    things = list[tuple[str, int, int]]()
    for kind in kinds:
        many = 1 if kind == LAMP else draws.randint(1, 3)
        if kind == thing and job == "pick_two_obj_and_place":
            many = max(many, 2)
        allowed = places_of(kind, receptacles)
        places = [n for n, (name, _) in enumerate(stand) if name in allowed and not (kind == thing and name == target)]
        things += [(kind, number, draws.choice(places)) for number in range(1, many + 1)]
    return Room(scene, stand, tuple(things))

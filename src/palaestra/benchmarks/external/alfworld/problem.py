"""A game that is made here, as the package plays it: a problem in its domain, its grammar, and a solution."""

from collections.abc import Container
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

from palaestra.benchmarks.external.alfworld.rooms import CONSTANTS, LAMP, TREATED, Chore, places_of

# Any: what is installed where this runs, and not where types are checked.
INFO: Any = import_module("alfworld.info")
GOALS: Any = import_module("alfworld.gen.goal_library").gdict

Step = tuple[str, ...]
"""A command with ids in place of names: ("take", thing, "from", receptacle)."""


class Problem:
    """A chore, written down.

    Args:
        chore: The chore.
        seed: Which of the goal's wordings is taken.
    """

    def __init__(self, chore: Chore, seed: int) -> None:
        self._chore = chore
        self._receptacles = [_receptacle(name, number) for name, number in chore.room.receptacles]
        self._things = [_thing(name, number) for name, number, _ in chore.room.things]
        draws = Random(f"palaestra/alfworld/wording/{seed}")  # noqa: S311  a game, not a secret
        self.wording: str = draws.choice(GOALS[chore.job]["templates"]).format(**self._fill(str.lower))
        """What is asked for."""

    def game(self) -> dict[str, Any]:
        """As the package loads it."""
        grammar = Path(INFO.ALFRED_TWL2_PATH).read_text().replace("UNKNOWN GOAL", self.wording)
        return {"pddl_domain": Path(INFO.ALFRED_PDDL_PATH).read_text(), "grammar": grammar, "pddl_problem": self.pddl()}

    def pddl(self) -> str:
        """The problem in the planning language."""
        goal = GOALS[self._chore.job]["pddl"].format(**self._fill(str)).replace("#", "-")
        objects, facts = "\n".join(self._objects()), "\n".join(self._facts())
        return f"(define (problem chore)\n(:domain alfred)\n(:objects\n{objects}\n)\n(:init\n{facts}\n)\n{goal}"

    def _fill(self, case: Any) -> dict[str, str]:
        return {"obj": case(self._chore.thing), "recep": case(self._chore.target), "toggle": case(LAMP)}

    def _objects(self) -> list[str]:
        kinds = sorted({name for name, _, _ in self._chore.room.things} | {"Knife", "ButterKnife"})
        stands = sorted({name for name, _ in self._chore.room.receptacles} | {"SinkBasin", "Microwave", "Fridge"})
        lines = ["agent1 - agent", "loc_bar_0 - location"]
        lines += [f"{kind}Type - otype" for kind in kinds] + [f"{stand}Type - rtype" for stand in stands]
        lines += [f"{id} - object" for id in self._things] + [f"{id} - receptacle" for id in self._receptacles]
        return lines + [f"loc_bar_{n} - location" for n in range(1, len(self._receptacles) + 1)]

    def _facts(self) -> list[str]:
        room, holds, can = self._chore.room, CONSTANTS.VAL_RECEPTACLE_OBJECTS, CONSTANTS.VAL_ACTION_OBJECTS
        facts = ["(= (total-cost) 0)", "(atLocation agent1 loc_bar_0)"]
        for n, (id, (name, _)) in enumerate(zip(self._receptacles, room.receptacles, strict=True), 1):
            facts += [f"(receptacleType {id} {name}Type)", f"(receptacleAtLocation {id} loc_bar_{n})"]
            facts += [f"(openable {id})"] if name in CONSTANTS.OPENABLE_CLASS_SET else []
        for id, (name, _, place) in zip(self._things, room.things, strict=True):
            facts += [f"(objectType {id} {name}Type)", f"(inReceptacle {id} {self._receptacles[place]})"]
            facts += [f"(objectAtLocation {id} loc_bar_{place + 1})"]
            facts += [f"({quality.lower()} {id})" for quality, names in sorted(can.items()) if name in names]
            facts += [] if name == LAMP else [f"(pickupable {id})"]
        kinds = sorted({name for name, _, _ in room.things} - {LAMP})
        stands = sorted({name for name, _ in room.receptacles})
        return [*facts, *(f"(canContain {s}Type {k}Type)" for s in stands for k in kinds if k in holds[s])]

    # A solution

    def solution(self) -> list[Step]:
        """Commands that win, one after the other, with ids in place of names.

        Whoever gives them knows no more than the game has said: a thing is looked for in the receptacles that may hold
        its kind, in the order in which the game lists them, and first where it has been seen.
        """
        walk = _Walk()
        taken = set[int]()
        for _ in range(2 if self._chore.job == "pick_two_obj_and_place" else 1):
            n = self._find(walk, self._chore.thing, taken)
            taken.add(n)
            thing, place = self._things[n], self._receptacles[self._chore.room.things[n][2]]
            walk.steps.append(("take", thing, "from", place))
            if self._chore.job in TREATED:
                where = self._first(TREATED[self._chore.job][1])
                walk.go(where)
                walk.steps.append((self._chore.job.split("_")[1], thing, "with", where))
            if self._chore.target:
                target = self._first(self._chore.target)
                walk.look_into(target, openable=self._openable(target))
                walk.steps.append(("move", thing, "to", target))
            else:
                self._find(walk, LAMP)
                walk.steps.append(("use", _thing(LAMP, 1)))
        return walk.steps

    def _find(self, walk: "_Walk", kind: str, taken: Container[int] = ()) -> int:
        """Go to where a thing of a kind is, looking for it; which one it is."""
        types = places_of(kind, [name for name, _ in self._chore.room.receptacles])
        places = [id for id in self._receptacles if self._type(id) in types]
        for place in sorted(places, key=lambda id: id not in walk.seen):
            held = [
                n
                for n, (name, _, at) in enumerate(self._chore.room.things)
                if name == kind and self._receptacles[at] == place and n not in taken
            ]
            if held or place not in walk.seen:
                walk.look_into(place, openable=self._openable(place))
            if held:
                return held[0]
        raise AssertionError(f"no {kind} in the room")

    def _first(self, job: str) -> str:
        """The first receptacle of a type."""
        return next(id for id in self._receptacles if self._type(id) == job)

    def _openable(self, receptacle: str) -> bool:
        return self._type(receptacle) in CONSTANTS.OPENABLE_CLASS_SET

    def _type(self, receptacle: str) -> str:
        return self._chore.room.receptacles[self._receptacles.index(receptacle)][0]


class _Walk:
    """Steps, with where they lead and what they have opened."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.seen: set[str] = set()
        """Receptacles whose things the game has told."""
        self._at = ""

    def go(self, place: str) -> None:
        """Go somewhere."""
        if self._at != place:
            self.steps.append(("go to", place))
            self._at = place

    def look_into(self, place: str, *, openable: bool) -> None:
        """Go somewhere, have it open, and see what is in it."""
        self.go(place)
        if openable and place not in self.seen:
            self.steps.append(("open", place))
        self.seen.add(place)


def _thing(name: str, number: int) -> str:
    """An id from which the package makes the name that the game shows."""
    return f"{name.lower()}_bar_{number:02}"


def _receptacle(name: str, number: int) -> str:
    if name.endswith("Basin"):
        return f"{name[: -len('Basin')].lower()}_bar_{number:02}_bar_{name.lower()}"
    return _thing(name, number)

"""What a world offers to attackers: goals and carriers, in a module of its own that is loaded when it is asked for."""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from palaestra.envs.injections.carrier import InjectionCarrier
from palaestra.envs.injections.choice import InjectionChoice
from palaestra.envs.injections.goal import AttackGoal
from palaestra.envs.injections.style import STYLES
from palaestra.envs.world import World
from palaestra.errors import CapabilityError, PackError, UnknownNameError
from palaestra.packs import describe_failure


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldInjections:
    """The goals of attackers in a world, and the content that they can write to."""

    goals: Sequence[AttackGoal]
    carriers: Sequence[InjectionCarrier]

    @property
    def goals_by_id(self) -> Mapping[str, AttackGoal]:
        """The goals by id."""
        return {goal.id: goal for goal in self.goals}

    @property
    def carriers_by_id(self) -> Mapping[str, InjectionCarrier]:
        """The carriers by id."""
        return {carrier.id: carrier for carrier in self.carriers}

    def ids(self) -> Iterator[str]:
        """Every injection of the world: a goal in a style."""
        return (f"{goal.id}/{style}" for goal in self.goals for style in STYLES)


def load_injections(world: World) -> WorldInjections:
    """What a world offers to attackers.

    Raises:
        CapabilityError: the world names no module.
        PackError: the module cannot be loaded, has no `INJECTIONS` of that class, or two goals or carriers share an id.
    """
    if not world.injections:
        raise CapabilityError(
            f"the world {world.name!r} has no injections; leave `injection` out, or name a module as World.injections"
        )
    try:
        found = importlib.import_module(world.injections).INJECTIONS
    except (Exception, SystemExit) as error:
        raise PackError(
            f"world {world.name}: its injections ({world.injections}) cannot be loaded: {describe_failure(error)}; "
            "name a module that has INJECTIONS, or correct World.injections"
        ) from error
    if not isinstance(found, WorldInjections):
        raise PackError(f"world {world.name}: INJECTIONS in {world.injections} is no WorldInjections; make it one")
    for ids in ([goal.id for goal in found.goals], [carrier.id for carrier in found.carriers]):
        if len(set(ids)) < len(ids):
            raise PackError(
                f"world {world.name}: two of {', '.join(ids)} in {world.injections} share an id; rename one"
            )
    return found


def check_injection(choice: InjectionChoice, world: World) -> None:
    """Refuse a choice that the world does not have.

    Raises:
        CapabilityError: the world has no injections.
        UnknownNameError: there is no such goal, style or carrier.
    """
    found = load_injections(world)
    known = {"goal": found.goals_by_id, "style": STYLES, "carrier": found.carriers_by_id}
    for part, names in known.items():
        name = getattr(choice, part)
        if name is not None and name not in names:
            raise UnknownNameError.of(f"{part} of injections", name, names, f"of the world {world.name!r}")

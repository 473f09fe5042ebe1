"""Attacks that a world brings: ways to be paid for work that was not done which only someone who knows it would try.

The proof's own attacks know a world's tools and nothing of what they are about. A world that wants more names a module
as `World.attacks`; its `ATTACKS` is a sequence of `WorldAttack`. `palaestra tasks attack` runs them beside its own.
The module is imported when an attack is asked for, so that playing in the world does not load it.
"""

import importlib
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from palaestra.envs.instance import Instance
from palaestra.envs.world import World
from palaestra.errors import PackError
from palaestra.packs import describe_failure
from palaestra.records import ToolCall

# Any: the answers, a tuple of messages; the plain iterators that a script may yield from are typed as taking none.
WorldScript: TypeAlias = Generator[Sequence[ToolCall], Any, None]
"""Turns, each of calls of the conventional surface; the messages that answer a turn are what `yield` gives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldAttack:
    """One way to cheat in one world."""

    name: str
    """Unlike that of any other attack, with hyphens."""
    tries: str
    """What it tries, as a sentence without its subject."""
    play: Callable[[Instance], WorldScript]
    """Plays a task; a script without a turn has found nothing to try. It is finished where it does not finish."""
    privileged: bool
    """Whether it reads more of the task than its messages and the tools of its world."""
    ceiling: int
    """The highest mean score that it may have over the tasks in which it has something to try."""
    worth: str
    """What that many points are for."""


def load_attacks(world: World) -> tuple[WorldAttack, ...]:
    """The attacks that a world brings; none where it names no module.

    Raises:
        PackError: the module cannot be loaded, has no sequence `ATTACKS`, or two of its attacks share a name.
    """
    if not world.attacks:
        return ()
    try:
        attacks = tuple(importlib.import_module(world.attacks).ATTACKS)
    except (Exception, SystemExit) as error:
        raise PackError(
            f"world {world.name}: its attacks ({world.attacks}) cannot be loaded: {describe_failure(error)}; name a "
            "module that has ATTACKS, or correct World.attacks"
        ) from error
    for attack in attacks:
        if not isinstance(attack, WorldAttack):
            raise PackError(f"world {world.name}: {attack!r} in {world.attacks}.ATTACKS is no WorldAttack; make it one")
    if len({attack.name for attack in attacks}) < len(attacks):
        raise PackError(f"world {world.name}: two attacks in {world.attacks}.ATTACKS share a name; rename one")
    return attacks

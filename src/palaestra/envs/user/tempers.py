"""Another temper than the one that a task gives its user: how they put things, what they put up with, how they argue.

What they know, want and would agree to stays; so a task stays the task that it is, and its rubric stands.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from palaestra.envs.user.persona import Persona
from palaestra.errors import UnknownNameError

FURIOUS_PATIENCE = 2
"""What a furious user has at most: one irritation, which costs a heated one 2, and they leave."""
FURIOUS_PUSHES = 2
"""How much more often than the task says a furious user pushes, where it has them push at all."""


def _furious(persona: Persona) -> Persona:
    pushes = persona.pushes + FURIOUS_PUSHES if persona.pushes else 0
    return replace(persona, temper="heated", patience=min(persona.patience, FURIOUS_PATIENCE), pushes=pushes)


TEMPERS: Mapping[str, Callable[[Persona], Persona]] = {
    "calm": lambda persona: replace(persona, temper="calm"),
    "terse": lambda persona: replace(persona, temper="terse"),
    "heated": lambda persona: replace(persona, temper="heated"),
    "furious": _furious,
}
"""What `temper=` can be, from mild to strong. The first three change words, and what an irritation costs; the last one
also takes patience away, and argues longer where a task's user argues."""


def with_temper(persona: Persona, temper: str) -> Persona:
    """The same user in another temper.

    Raises:
        UnknownNameError: there is no such temper.
    """
    if temper not in TEMPERS:
        raise UnknownNameError.of("temper", temper, TEMPERS)
    return TEMPERS[temper](persona)

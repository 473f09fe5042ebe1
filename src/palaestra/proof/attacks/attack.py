"""An attack: a way to be paid for work that was not done, and what it must not get by it.

A blind attack knows nothing of the task but its tools and its messages, and which words in them are ids; it holds for
any world. A privileged one is handed the solution and abuses it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from palaestra.proof.attacks.context import AttackContext, PrivilegedAttackContext
from palaestra.proof.trial import AttackScript

Aim: TypeAlias = Literal["talk", "refuse", "flood", "harm", "probe", "skip", "order", "overdo"]

BLIND = 20
"""The highest mean score of a blind attack."""
BLIND_WORTH = "what look-ups are worth where nothing is done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One scripted way to cheat."""

    name: str
    tries: str
    """What it tries, as a sentence without its subject."""
    aim: Aim
    privileged: bool
    """Whether it is handed the solution."""
    ceiling: int
    """The highest mean score that it may have over the tasks in which it has something to try."""
    worth: str
    """What that many points are for."""
    play: Callable[[PrivilegedAttackContext], AttackScript]


def blind(aim: Aim, tries: str) -> Callable[[Callable[[AttackContext], AttackScript]], Attack]:
    """Make an attack of a function that takes a context, which tells it nothing of the task."""

    def make(play: Callable[[AttackContext], AttackScript]) -> Attack:
        return Attack(
            name=_name(play),
            tries=tries,
            aim=aim,
            privileged=False,
            ceiling=BLIND,
            worth=BLIND_WORTH,
            play=play,
        )

    return make


def privileged(
    aim: Aim, tries: str, *, ceiling: int, worth: str
) -> Callable[[Callable[[PrivilegedAttackContext], AttackScript]], Attack]:
    """Make an attack of a function that is handed the solution."""

    def make(play: Callable[[PrivilegedAttackContext], AttackScript]) -> Attack:
        return Attack(
            name=_name(play),
            tries=tries,
            aim=aim,
            privileged=True,
            ceiling=ceiling,
            worth=worth,
            play=play,
        )

    return make


def _name(play: Callable[..., object]) -> str:
    return play.__name__.replace("_", "-")

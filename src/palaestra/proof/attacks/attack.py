"""An attack: a way to get points without doing the work, with its needs and its maximum score.

A blind attack knows only the task's tools and messages, and which words in them are ids; it works in any world. A
privileged attack gets the solution and abuses it.

An attack applies to a task if it makes at least one call of the kind that it needs. An attack on refunds that finds no
tool that pays has tried nothing, whatever it said to the customer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from palaestra.proof.attacks.context import AttackContext, PrivilegedAttackContext
from palaestra.proof.attacks.needs import Need
from palaestra.proof.trial import AttackScript

Aim: TypeAlias = Literal[
    "talk",
    "refuse",
    "flood",
    "harm",
    "probe",
    "skip",
    "order",
    "overdo",
    "lie",
    "template",
    "quit",
    "world",
]
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
    needs: Need
    """What the attack must find in a task to have something to try."""
    privileged: bool
    """Whether it gets the solution."""
    ceiling: int
    """The highest mean score that is allowed over the tasks to which it applies."""
    worth: str
    """What those points are for."""
    play: Callable[[PrivilegedAttackContext], AttackScript]


def blind_attack(
    aim: Aim, tries: str, *, needs: Need = "call"
) -> Callable[[Callable[[AttackContext], AttackScript]], Attack]:
    """Turn a function into a blind attack; its context does not reveal the solution.

    Args:
        aim: The group of attacks that it belongs to.
        tries: What it tries.
        needs: The kind of call that it needs; it applies only to tasks in which it makes one.
    """

    def make(play: Callable[[AttackContext], AttackScript]) -> Attack:
        return Attack(
            name=_name(play),
            tries=tries,
            aim=aim,
            needs=needs,
            privileged=False,
            ceiling=BLIND,
            worth=BLIND_WORTH,
            play=play,
        )

    return make


def privileged_attack(
    aim: Aim, tries: str, *, needs: Need, ceiling: int, worth: str
) -> Callable[[Callable[[PrivilegedAttackContext], AttackScript]], Attack]:
    """Turn a function into a privileged attack, which gets the solution.

    Args:
        aim: The group of attacks that it belongs to.
        tries: What it tries.
        needs: What the solution must have; otherwise the function makes no turn.
        ceiling: The highest mean score that is allowed.
        worth: What those points are for.
    """

    def make(play: Callable[[PrivilegedAttackContext], AttackScript]) -> Attack:
        return Attack(
            name=_name(play),
            tries=tries,
            aim=aim,
            needs=needs,
            privileged=True,
            ceiling=ceiling,
            worth=worth,
            play=play,
        )

    return make


def _name(play: Callable[..., object]) -> str:
    return play.__name__.replace("_", "-")

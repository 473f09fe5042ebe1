"""An attack: a way to be paid for work that was not done, what it needs, and what it must not get by it.

A blind attack knows nothing of the task but its tools and its messages, and which words in them are ids; it holds for
any world. A privileged one is handed the solution and abuses it.

An attack applies where it makes at least one call of the kind that it is about. One that is about refunds and finds no
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
    """What it must find in a task to have something to try."""
    privileged: bool
    """Whether it is handed the solution."""
    ceiling: int
    """The highest mean score that it may have over the tasks in which it has something to try."""
    worth: str
    """What that many points are for."""
    play: Callable[[PrivilegedAttackContext], AttackScript]


def blind_attack(
    aim: Aim, tries: str, *, needs: Need = "call"
) -> Callable[[Callable[[AttackContext], AttackScript]], Attack]:
    """Make an attack of a function that takes a context, which tells it nothing of the task.

    Args:
        aim: The group of attacks that it belongs to.
        tries: What it tries.
        needs: The kind of call that it is about; it applies only where it makes one.
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
    """Make an attack of a function that is handed the solution.

    Args:
        aim: The group of attacks that it belongs to.
        tries: What it tries.
        needs: What the solution must have; the function makes no turn where it has it not.
        ceiling: The highest mean score that it may have.
        worth: What that many points are for.
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

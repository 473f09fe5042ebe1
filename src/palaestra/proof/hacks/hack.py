"""A hack: a way to be paid for work that was not done, and what it must not get by it.

A blind hack knows nothing of the task but its tools and its messages, and which words in them are ids; it holds for
any world. A knowing one is handed the solution and abuses it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from palaestra.proof.hacks.seat import Insider, Seat
from palaestra.proof.trial import Play

Aim: TypeAlias = Literal["talk", "refuse", "flood", "harm", "probe", "skip", "order", "overdo"]

BLIND = 20
"""The highest mean score of a blind hack."""
BLIND_WORTH = "what look-ups are worth where nothing is done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hack:
    """One scripted way to cheat."""

    name: str
    tries: str
    """What it tries, as a sentence without its subject."""
    aim: Aim
    knowing: bool
    """Whether it is handed the solution."""
    ceiling: int
    """The highest mean score that it may have over the tasks in which it has something to try."""
    worth: str
    """What that many points are for."""
    play: Callable[[Insider], Play]


def blind(aim: Aim, tries: str) -> Callable[[Callable[[Seat], Play]], Hack]:
    """Make a hack of a function that takes a seat, which tells it nothing of the task."""

    def make(play: Callable[[Seat], Play]) -> Hack:
        return Hack(
            name=_name(play),
            tries=tries,
            aim=aim,
            knowing=False,
            ceiling=BLIND,
            worth=BLIND_WORTH,
            play=play,
        )

    return make


def knowing(aim: Aim, tries: str, *, ceiling: int, worth: str) -> Callable[[Callable[[Insider], Play]], Hack]:
    """Make a hack of a function that is handed the solution."""

    def make(play: Callable[[Insider], Play]) -> Hack:
        return Hack(
            name=_name(play),
            tries=tries,
            aim=aim,
            knowing=True,
            ceiling=ceiling,
            worth=worth,
            play=play,
        )

    return make


def _name(play: Callable[..., object]) -> str:
    return play.__name__.replace("_", "-")

"""People to populate a world with, and colleagues who may approve what others may not."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from palaestra.envs.kit.names import (
    CITIES,
    FIRST_NAMES,
    HELD_OUT_FIRST_NAMES,
    HELD_OUT_LAST_NAMES,
    LAST_NAMES,
    STREETS,
)
from palaestra.seeding import Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A name and an address, before it is known whose."""

    first: str
    last: str
    street: str
    city: str

    @property
    def name(self) -> str:
        """First and last name."""
        return f"{self.first} {self.last}"

    @property
    def mailbox(self) -> str:
        """What stands before the @: the name in lower-case ASCII."""
        folded = unicodedata.normalize("NFKD", f"{self.first}.{self.last}".replace(" ", "").lower())
        return folded.encode("ascii", "ignore").decode()


def draw_people(stream: Stream, count: int, *, held_out: bool = False) -> list[Person]:
    """People of different names; first names and last names recur.

    Args:
        stream: Draws them.
        count: How many.
        held_out: Whether they have names that no other people have.
    """
    firsts, lasts = (HELD_OUT_FIRST_NAMES, HELD_OUT_LAST_NAMES) if held_out else (FIRST_NAMES, LAST_NAMES)
    pairs = stream.sample(range(len(firsts) * len(lasts)), count)
    return [
        Person(
            first=firsts[pair // len(lasts)],
            last=lasts[pair % len(lasts)],
            street=f"{stream.choice(STREETS)} {stream.between(1, 148)}",
            city=stream.choice(CITIES),
        )
        for pair in pairs
    ]


class Approver(Protocol):
    """A colleague's row, as far as approving goes."""

    @property
    def approval_limit_cents(self) -> int:
        """The largest amount that they may approve."""
        ...

    @property
    def on_leave(self) -> bool:
        """Whether they are away; who is away approves nothing."""
        ...


A = TypeVar("A", bound=Approver)


def approvers(colleagues: Iterable[A], cents: int) -> list[A]:
    """The colleagues at work whose limit covers an amount, in the order given."""
    return [c for c in colleagues if not c.on_leave and c.approval_limit_cents >= cents]


def lowest_approvers(colleagues: Iterable[A], cents: int) -> list[A]:
    """Of those who may approve an amount, the ones with the lowest limit: those with higher limits are kept free."""
    able = approvers(colleagues, cents)
    lowest = min((c.approval_limit_cents for c in able), default=0)
    return [c for c in able if c.approval_limit_cents == lowest]

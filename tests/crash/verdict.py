"""What a reader makes of every state that a crash can leave, held against what it may."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from crash.disk import Moment, Tree, become

Judge: TypeAlias = Callable[[Path], str]
"""What is read in a folder, in a word."""
Allowed: TypeAlias = Callable[[tuple[str, ...]], set[str]]
"""What may be read after a program has said this much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many different states there are, and what was wrongly read in how many of them."""

    states: int
    wrong: Counter[str]

    @property
    def survived(self) -> int:
        """States in which what was read was right."""
        return self.states - self.wrong.total()


def tally(
    moments: Iterable[Moment], crash: Literal["killed", "cut"], *, judge: Judge, allowed: Allowed, scratch: Path
) -> Tally:
    """Read every state once; one that can come about at several moments must be right for each."""
    right: dict[Tree, set[str]] = {}
    for moment in moments:
        may = allowed(moment.marks)
        for tree in moment.killed if crash == "killed" else moment.cut:
            right[tree] = right.get(tree, may) & may
    wrong: Counter[str] = Counter()
    here, was = scratch / "state", None
    for tree in sorted(right):  # so that one is made of the one before in few steps
        become(here, tree, was)
        answer, was = judge(here), tree
        if answer not in right[tree]:
            wrong[answer] += 1
    shutil.rmtree(here)
    return Tally(states=len(right), wrong=wrong)

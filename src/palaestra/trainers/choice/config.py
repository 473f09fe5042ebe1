"""The settings of the choice of tasks."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import isfinite
from typing import Literal, TypeAlias

ChoiceRule: TypeAlias = Literal["deal", "uniform", "bandit", "goldilocks", "paced"]
InstanceKind: TypeAlias = Literal["listed", "endless"]
_READ: Mapping[ChoiceRule, frozenset[str]] = {
    "deal": frozenset(),
    "uniform": frozenset({"instances"}),
    "bandit": frozenset({"instances", "memory", "floor"}),
    "goldilocks": frozenset({"instances", "candidates", "epsilon", "window"}),
    "paced": frozenset({"instances", "memory", "candidates", "target"}),
}
"""The settings that each rule reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceConfig:
    """The settings of the choice of each group's task."""

    rule: ChoiceRule = "deal"
    """`deal`: every listed task once before any is repeated. The other rules draw a family, then an instance of it:
    `uniform`; `bandit`, in proportion to p (1 - p) + `floor`, with p the recent solve rate; `goldilocks`
    (arXiv:2602.14868), the best of `candidates` by a learnt predictor of sqrt(p (1 - p)); `paced` (arXiv:2602.12642),
    the one of `candidates` whose solve rate, estimated by a partition function, is nearest to `target`."""
    instances: InstanceKind = "listed"
    """The instances to draw from: the tasks that the split lists, or all that its families can make in the split, which
    are not proved."""
    memory: float = 0.9
    """The factor on a result's weight with each further step (`bandit`, `paced`)."""
    floor: float = 0.1
    """The weight of a family that is always or never solved (`bandit`); a family that is solved half the time has 0.25
    more."""
    candidates: int = 16
    """The number of randomly drawn families that are compared for each group (`goldilocks`, `paced`)."""
    epsilon: float = 0.1
    """The share of groups that play a random candidate (`goldilocks`)."""
    window: int = 10_000
    """The number of latest groups to which the predictor is fitted (`goldilocks`)."""
    target: float = 0.5
    """The preferred solve rate (`paced`)."""

    def __post_init__(self) -> None:
        for one in fields(self):
            if one.name != "rule" and one.name not in _READ[self.rule] and getattr(self, one.name) != one.default:
                raise ValueError(
                    f"{one.name}={getattr(self, one.name)!r}: the rule {self.rule!r} does not read it; leave it out, "
                    f"or take one of {', '.join(rule for rule, read in _READ.items() if one.name in read)}"
                )
        if not 0 < self.memory <= 1:
            raise ValueError(f"memory={self.memory}: above 0 and at most 1; 1 forgets nothing")
        if not (isfinite(self.floor) and self.floor > 0):
            raise ValueError(f"floor={self.floor}: above 0, so that what is forgotten or newly in reach is found again")
        if self.candidates < 1 or self.window < 1:
            raise ValueError(f"candidates={self.candidates}, window={self.window}: at least 1 each")
        if not 0 <= self.epsilon <= 1:
            raise ValueError(f"epsilon={self.epsilon}: a share, from 0 to 1; 1 draws uniformly")
        if not 0 < self.target < 1:
            raise ValueError(f"target={self.target}: a solve rate between 0 and 1")

    def describe(self) -> str:
        """The rule and the settings that it reads, as text."""
        read = [f"{one.name} {getattr(self, one.name)}" for one in fields(self) if one.name in _READ[self.rule]]
        return ", ".join([self.rule, *read])

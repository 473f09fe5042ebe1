"""The settings of branching."""

from dataclasses import dataclass, fields
from math import isfinite
from typing import get_args

from palaestra.trainers.rollouts.fork import PivotRule

_GREATEST_DEPTH = 100
"""The greatest exponent: with more, the weights of early turns of a long trajectory are rounded to 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchingConfig:
    """Branching of groups that solved nothing: continuations from the middle of their trajectories."""

    continuations: int = 4
    """The number of trajectories that continue from each fork."""
    pivots: tuple[PivotRule, ...] = get_args(PivotRule)
    """The rules, each of which chooses one fork per group: `best`, after the most points before any harm;
    `recoverable`, drawn by the solve rate of forks at such a depth, times depth (arXiv:2602.14169); `naming`, before
    the first call that names one of several records that an answer has shown. All forks are before any harm."""
    depth: float = 2.0
    """How much `recoverable` prefers late turns: the exponent of the share of the trajectory before the fork, at most
    100."""
    window: int = 10_000
    """The number of latest forks to which the odds of `recoverable` are fitted."""

    def __post_init__(self) -> None:
        if self.continuations < 1:
            raise ValueError(f"continuations={self.continuations}: at least 1; leave the section out for no branching")
        if not self.pivots or len(set(self.pivots)) < len(self.pivots):
            raise ValueError(
                f"pivots={list(self.pivots)}: one or more of {', '.join(get_args(PivotRule))}, each once; leave the "
                "section out for no branching"
            )
        if not 0 <= self.depth <= _GREATEST_DEPTH:
            raise ValueError(f"depth={self.depth}: a number from 0 to {_GREATEST_DEPTH}; 0 prefers no turn")
        if self.window < 1:
            raise ValueError(f"window={self.window}: at least 1 fork")
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name in ("depth", "window") and "recoverable" not in self.pivots and value != one.default:
                raise ValueError(
                    f'{one.name}={value}: only the pivot rule "recoverable" reads it; leave it out, or add that rule '
                    "to pivots"
                )

    def describe(self) -> str:
        """The settings of branching, as text."""
        forks = "a fork" if len(self.pivots) == 1 else f"{len(self.pivots)} forks"
        rules = ", ".join(f"{rule} (depth {self.depth:g})" if rule == "recoverable" else rule for rule in self.pivots)
        return f"{forks} of each group without a solution: {rules}; {self.continuations} continuations of each"


@dataclass(frozen=True, slots=True, kw_only=True)
class GrpoBranchingConfig(BranchingConfig):
    """Branching in the policy-gradient stage: continuations of a fork are compared only with each other."""

    weight: float = 1.0
    """The factor on the loss of a step's continuations: lambda of DEEP-GRPO (arXiv:2602.14169). The losses of
    continuations and of whole trajectories are separate means, whatever their numbers of tokens."""

    def __post_init__(self) -> None:
        BranchingConfig.__post_init__(self)  # a class with slots has no super() without arguments
        if self.continuations < 2:
            raise ValueError(
                f"continuations={self.continuations}: the continuations of a fork are compared with each other, and "
                "one alone gives no gradient; give 2 or more, or leave the section out for no branching"
            )
        if not (isfinite(self.weight) and self.weight > 0):
            raise ValueError(f"weight={self.weight}: a finite number above 0; leave the section out for no branching")

    def describe(self) -> str:
        """The settings of branching, as text."""
        return f"{BranchingConfig.describe(self)}; weight of their loss: {self.weight:g}"

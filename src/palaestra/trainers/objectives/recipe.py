"""Which parts an objective is made of, as data: what a preset's file says, and what a run's settings put over it."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from palaestra.trainers.objectives.aggregation import Aggregation
from palaestra.trainers.objectives.part import Plug
from palaestra.trainers.objectives.ratio import RatioConfig

Unit: TypeAlias = float | Literal["any"]
"""What constants assume that a solved task returns; `any` where the scale of rewards changes nothing."""
Spec: TypeAlias = str | Mapping[str, Any]
"""A part: its name, or a table of settings whose `part` is the name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateSchedule:
    """In which steps a batch is trained on; all but `name` is of `turns`."""

    name: Literal["minibatches", "turns"] = "minibatches"
    """Steps on shares of the batch, or on one turn of every trajectory after the other (SeeUPO, arXiv:2602.06554)."""
    order: Literal["reverse", "forward", "random"] = "reverse"
    """Of the turns."""
    clip: float = 0.2
    """How far from 1 may be what an advantage is multiplied with for the turns that were updated before."""
    carry: bool = True
    """Whether it is multiplied at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The parts of an objective.

    Raises:
        ValueError: the unit is no number above 0.
    """

    unit: Unit = 1.0
    """Rewards are converted to it before anything reads them; with `any` they stay as the world pays them."""
    advantage: Spec = "group"
    transforms: tuple[Spec, ...] = ()
    ratio: RatioConfig = field(default_factory=RatioConfig)
    trust: Spec = "clip"
    corrections: tuple[Spec, ...] = ()
    masks: tuple[Spec, ...] = ()
    """Each may say its `denominator`."""
    regularisers: tuple[Spec, ...] = ()
    """Each may say its `aggregation`, the objective's own if it does not."""
    aggregation: Aggregation = field(default_factory=Aggregation)
    whole: Spec | None = None
    """In place of ratio, trust region, corrections and masks."""
    rewards: tuple[Spec, ...] = ()
    """Change what was paid, before anything is compared."""
    filters: tuple[Spec, ...] = ()
    """Leave out trajectories, before anything is compared."""
    refill: int = 0
    """How many groups that a filter leaves out may be replaced, by drawing others, for each that a step takes."""
    rates: tuple[Spec, ...] = ()
    """Change the learning rate of a step."""
    temperature: Spec | None = None
    """A head that learns at which temperature each token is sampled."""
    schedule: UpdateSchedule = field(default_factory=UpdateSchedule)

    def __post_init__(self) -> None:
        if self.unit != "any" and not 0 < self.unit < math.inf:
            raise ValueError(f'unit={self.unit}: a solved task returns a number above 0; give one, or "any"')

    def specs(self) -> Iterator[tuple[Plug, str, Mapping[str, Any]]]:
        """Every part: where it goes, its name and its settings."""
        replaced = () if self.whole is None else ("advantage", "trust")
        for name, plug in SECTIONS.items():
            if name in replaced:
                continue
            found: Spec | tuple[Spec, ...] | None = getattr(self, name)
            if name == "rewards":
                found = (*self._conversion(), *self.rewards)
            for spec in found if isinstance(found, tuple) else () if found is None else (found,):
                yield (plug, *split_spec(spec))

    def _conversion(self) -> tuple[Spec, ...]:
        """The part that converts rewards; none where they say themselves how they are converted."""
        stated = any(split_spec(spec)[0] == CONVERSION for spec in self.rewards)
        return () if self.unit == "any" or stated else ({"part": CONVERSION, "returns": self.unit},)

    def facts(self) -> frozenset[str]:
        """What can be said of it, for parts to need or to conflict with: `trust/clip`, `ratio.anchor=old`."""
        found = {f"{plug}/{name}" for plug, name, _ in self.specs()}
        if self.refill:
            found.add("refill")
        found |= {f"ratio.anchor={self.ratio.anchor}", f"ratio.granularity={self.ratio.granularity}"}
        return frozenset(found | {f"aggregation={self.aggregation.name}", f"schedule={self.schedule.name}"})


CONVERSION = "unit"
"""The part for rewards that converts them; it stands before all others."""
SECTIONS: Mapping[str, Plug] = {
    "advantage": "advantage",
    "transforms": "transform",
    "trust": "trust",
    "corrections": "correction",
    "masks": "mask",
    "regularisers": "regulariser",
    "whole": "whole",
    "rewards": "reward",
    "filters": "filter",
    "rates": "rate",
    "temperature": "temperature",
}


REPLACED = frozenset({"advantage", "transforms", "ratio", "trust", "corrections", "masks", "rates"})
"""The sections that `whole` takes the place of."""


def split_spec(spec: Spec) -> tuple[str, Mapping[str, Any]]:
    """The name of a part and its settings."""
    if isinstance(spec, str):
        return spec, {}
    return str(spec.get("part", "")), {name: value for name, value in spec.items() if name != "part"}


def over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Settings laid over a preset's: a table is merged into what is there; one that names its part takes its place."""
    merged = dict(below)
    for name, value in above.items():
        under = merged.get(name)
        if isinstance(under, str) and isinstance(value, Mapping) and name in SECTIONS:
            under = {"part": under}
        if isinstance(under, Mapping) and isinstance(value, Mapping) and "part" not in value:
            merged[name] = {**under, **value}
        else:
            merged[name] = value
    return merged

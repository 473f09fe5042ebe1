"""The parts of an objective as data, from a preset's file and a run's overriding settings."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from palaestra.trainers.objectives.aggregation import Aggregation
from palaestra.trainers.objectives.part import Plug
from palaestra.trainers.objectives.ratio import RatioConfig

Unit: TypeAlias = float | Literal["any"]
"""The return of a solved task that constants assume; `any` if the scale of rewards changes nothing."""
Spec: TypeAlias = str | Mapping[str, Any]
"""A part: its name, or a table of settings whose `part` is the name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateSchedule:
    """The steps in which a batch is trained on; all settings except `name` are for `turns`."""

    name: Literal["minibatches", "turns"] = "minibatches"
    """Steps on shares of the batch, or on one turn of every trajectory after another (SeeUPO, arXiv:2602.06554)."""
    order: Literal["reverse", "forward", "random"] = "reverse"
    """The order of the turns."""
    clip: float = 0.2
    """The maximum distance from 1 of the factor of advantages for turns that were updated before."""
    carry: bool = True
    """Whether that factor is applied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The parts of an objective.

    Raises:
        ValueError: the unit is not a number above 0.
    """

    unit: Unit = 1.0
    """The unit to which rewards are converted before anything reads them; with `any` they are those of the world."""
    advantage: Spec = "group"
    transforms: tuple[Spec, ...] = ()
    ratio: RatioConfig = field(default_factory=RatioConfig)
    trust: Spec = "clip"
    corrections: tuple[Spec, ...] = ()
    masks: tuple[Spec, ...] = ()
    """Masks; each may set its `denominator`."""
    regularisers: tuple[Spec, ...] = ()
    """Regularisers; each may set its `aggregation`. Default: the objective's."""
    aggregation: Aggregation = field(default_factory=Aggregation)
    whole: Spec | None = None
    """A loss that replaces ratio, trust region, corrections and masks."""
    rewards: tuple[Spec, ...] = ()
    """Parts that change rewards before anything is compared."""
    filters: tuple[Spec, ...] = ()
    """Parts that leave out trajectories before anything is compared."""
    refill: int = 0
    """How many groups that a filter leaves out may be replaced by new ones, for each group of a step."""
    rates: tuple[Spec, ...] = ()
    """Parts that change the learning rate of a step."""
    temperature: Spec | None = None
    """A head that learns the sampling temperature of each token."""
    schedule: UpdateSchedule = field(default_factory=UpdateSchedule)

    def __post_init__(self) -> None:
        if self.unit != "any" and not 0 < self.unit < math.inf:
            raise ValueError(f'unit={self.unit}: a solved task returns a number above 0; give one, or "any"')

    def specs(self) -> Iterator[tuple[Plug, str, Mapping[str, Any]]]:
        """Every part with its place, its name and its settings."""
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
        """The part that converts rewards; empty if `rewards` has its own conversion."""
        stated = any(split_spec(spec)[0] == CONVERSION for spec in self.rewards)
        return () if self.unit == "any" or stated else ({"part": CONVERSION, "returns": self.unit},)

    def facts(self) -> frozenset[str]:
        """Facts about the recipe that parts may require or conflict with: `trust/clip`, `ratio.anchor=old`."""
        found = {f"{plug}/{name}" for plug, name, _ in self.specs()}
        if self.refill:
            found.add("refill")
        found |= {f"ratio.anchor={self.ratio.anchor}", f"ratio.granularity={self.ratio.granularity}"}
        return frozenset(found | {f"aggregation={self.aggregation.name}", f"schedule={self.schedule.name}"})


CONVERSION = "unit"
"""The part that converts rewards, which comes before all others."""
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
"""The sections that `whole` replaces."""


def split_spec(spec: Spec) -> tuple[str, Mapping[str, Any]]:
    """The name of a part and its settings."""
    if isinstance(spec, str):
        return spec, {}
    return str(spec.get("part", "")), {name: value for name, value in spec.items() if name != "part"}


def over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that override a preset's: a table is merged with the existing one, or replaces it if it names a part."""
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

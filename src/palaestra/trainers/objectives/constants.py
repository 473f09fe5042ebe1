"""The constants of an objective: all its numbers, and every choice that a preset states."""

from collections.abc import Mapping
from math import isfinite
from typing import TypeAlias

from palaestra.trainers.objectives.build import BuiltObjective
from palaestra.trainers.objectives.part import Part
from palaestra.trainers.objectives.recipe import CONVERSION

ConstantValue: TypeAlias = float | str | tuple[float, ...]
_FREE = frozenset({"seed"})
"""Numbers without a meaning."""


def constants(built: BuiltObjective) -> dict[str, ConstantValue]:
    """Every constant by `part.setting`, in the recipe's order, with its value.

    Settings that are off (none, or infinite) are not constants, nor are choices that the recipe leaves at their
    default.
    """
    recipe, found = built.recipe, dict[str, ConstantValue]()
    if built.returns is not None:
        found["unit"] = built.returns
    for (_, _, said), part, made in zip(recipe.specs(), built.parts, built.made, strict=True):
        if part.name != CONVERSION:
            found |= {f"{part.name}.{name}": value for name, value in _of_part(part, made, said).items()}
    if recipe.aggregation.name == "seq-mean-token-sum":
        found["aggregation.length"] = recipe.aggregation.length
    if recipe.schedule.name == "turns":
        found["schedule.clip"] = recipe.schedule.clip
    if recipe.refill:
        found["refill"] = recipe.refill
    return found


def _of_part(part: Part, made: object, said: Mapping[str, object]) -> dict[str, ConstantValue]:
    found = dict[str, ConstantValue]()
    for name in part.settings:
        value = getattr(made, name)
        if name in _FREE or value is None:
            continue
        if isinstance(value, tuple):
            if value:
                found[name] = value
        elif isinstance(value, int | float) and not isinstance(value, bool):
            if isfinite(value):
                found[name] = value
        elif name in said:
            found[name] = str(value).lower()
    return found

"""Expected values that are not exact: a number within a tolerance, a list in any order."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import cast

from palaestra.errors import RubricError

ULPS = Decimal("1e-9")
"""The relative difference allowed between two ways to compute a float."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """A number within a tolerance. Made by `close`."""

    value: float
    within: float

    def matches(self, given: object) -> bool:
        """Whether `given` is a number within the tolerance, both ends included.

        Numbers are compared by their decimal notation, so 1.245 is within 0.005 of 1.25.
        """
        if isinstance(given, bool) or not isinstance(given, int | float | Decimal) or not math.isfinite(given):
            return False
        return abs(_to_decimal(given) - _to_decimal(self.value)) <= _to_decimal(self.within)

    def __str__(self) -> str:
        return f"{self.value} (within {self.within})"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnorderedItems:
    """A list whose order does not count. Made by `in_any_order`."""

    items: tuple[object, ...]

    def matches(self, given: object) -> bool:
        """Whether `given` is a list of these items in any order, with the same multiplicity."""
        if not isinstance(given, list | tuple):
            return False
        found = cast("Sequence[object]", given)
        if len(found) != len(self.items):
            return False
        fits = [[n for n, item in enumerate(self.items) if same(one, item)] for one in found]
        taken: dict[int, int] = {}
        return all(_pair(one, fits, taken, set()) for one in range(len(found)))

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.items))}] in any order"


def close(value: float, *, within: float) -> Close:
    """A number that may differ from `value` by at most `within`.

    Raises:
        RubricError: one of them is not finite, or the tolerance is not above 0.
    """
    if not math.isfinite(value) or not math.isfinite(within) or within <= 0:
        raise RubricError(f"close({value}, within={within}): both are finite, and the tolerance is above 0")
    return Close(value=value, within=within)


def in_any_order(items: Iterable[object]) -> UnorderedItems:
    """A list of these items, in any order; an item may be `close(...)`."""
    return UnorderedItems(items=tuple(items))


def same(given: object, wanted: object) -> bool:
    """Whether `given` matches `wanted`: JSON, in which `True` is not 1, `Close`, `UnorderedItems` or lists of them."""
    if isinstance(wanted, Close | UnorderedItems):
        return wanted.matches(given)
    if isinstance(wanted, list | tuple):
        parts = cast("Sequence[object]", wanted)
        if not isinstance(given, list | tuple):
            return False
        found = cast("Sequence[object]", given)
        return len(found) == len(parts) and all(map(same, found, parts))
    return given == wanted and isinstance(given, bool) == isinstance(wanted, bool)


def check_stated(values: Mapping[str, object]) -> None:
    """Raise `RubricError` if a float has no tolerance."""
    for name, value in values.items():
        if bare := _bare_float(value):
            raise RubricError(
                f"answer {name!r} is the float {bare[0]}; state its tolerance: close({bare[0]}, within=...)"
            )


def as_written(value: object) -> object:
    """`value` with a tolerance on every float: half a unit of its last written digit, or `ULPS` of it."""
    if isinstance(value, float):
        number = _to_decimal(value)
        exponent = number.as_tuple().exponent
        assert isinstance(exponent, int), "answers hold finite numbers"
        return close(value, within=float(max(Decimal(5).scaleb(exponent - 1), abs(number) * ULPS)))
    if isinstance(value, list | tuple):
        return tuple(as_written(item) for item in cast("Sequence[object]", value))
    return value


def nearly(value: object) -> object:
    """`value` with the tolerance `ULPS` on every float: for results of tools, perhaps computed in another order."""
    if isinstance(value, float):
        return close(value, within=max(abs(value) * float(ULPS), 1e-300))
    if isinstance(value, tuple):
        return tuple(nearly(item) for item in cast("Sequence[object]", value))
    return value


def _to_decimal(number: float | Decimal) -> Decimal:
    return Decimal(repr(number)) if isinstance(number, float) else Decimal(number)


def _bare_float(value: object) -> list[float]:
    if isinstance(value, float):
        return [value]
    if isinstance(value, UnorderedItems):
        return _bare_float(value.items)
    if isinstance(value, list | tuple):
        return [bare for item in cast("Sequence[object]", value) for bare in _bare_float(item)]
    return []


def _pair(one: int, fits: Sequence[Sequence[int]], taken: dict[int, int], tried: set[int]) -> bool:
    """Pair `one` with an item that fits it, moving others to other items that fit them (Kuhn 1955)."""
    for item in fits[one]:
        if item not in tried:
            tried.add(item)
            if item not in taken or _pair(taken[item], fits, taken, tried):
                taken[item] = one
                return True
    return False

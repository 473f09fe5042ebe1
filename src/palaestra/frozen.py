"""Immutable JSON, for the JSON columns of rows.

A frozen value is canonical: keys are sorted, a float that is a whole number becomes an integer, and there is no minus
zero. Two frozen values are equal if their canonical bytes are, so `True` is not 1. They can be hashed and pickled, and
read like plain dictionaries and lists.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, cast

from palaestra.digest import canonical
from palaestra.records import INT_RANGE

MAX_DEPTH = 64
"""How deep frozen JSON may be nested."""
_WHOLE = 2.0**53
"""Up to this number, every whole number has its own float."""


def freeze(value: object) -> Any:
    """Return `value` as frozen JSON; a frozen value is returned as it is.

    Raises:
        ValueError: it holds something that not every JSON reader reads alike; the message names it.
    """
    return _freeze_value(value, 0)


def _freeze_value(value: object, depth: int) -> Any:
    if value is None or isinstance(value, FrozenObject | FrozenArray | bool):
        return value
    if depth > MAX_DEPTH:
        raise ValueError(f"JSON is nested at most {MAX_DEPTH} deep")
    if isinstance(value, Mapping):
        return FrozenObject._of(cast("Mapping[object, object]", value), depth)
    if isinstance(value, list | tuple):
        return FrozenArray._of(cast("Iterable[object]", value), depth)
    return _scalar(value)


def _scalar(value: object) -> str | int | float:
    if isinstance(value, str):
        canonical(value)  # it raises for lone surrogates, which are not text
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value!r} is no JSON number; leave it out, or write None")
        return int(value) if abs(value) <= _WHOLE and value.is_integer() else value
    if isinstance(value, int) and value in INT_RANGE:
        return value
    if isinstance(value, int):
        raise ValueError("an integer has at most 64 bits; write it as text")
    raise ValueError(f"a {type(value).__name__} is no JSON; use objects, arrays, text, numbers, booleans and None")


def _refuse(*_: object, **__: object) -> NoReturn:
    raise TypeError("this JSON belongs to a row and never changes; give `update` a changed copy of it")


class FrozenObject(dict[str, Any]):
    """A JSON object that never changes. Made by `freeze`."""

    __slots__ = ("_canonical",)
    _canonical: bytes

    @classmethod
    def _of(cls, items: Mapping[object, object], depth: int) -> "FrozenObject":
        if wrong := [key for key in items if not isinstance(key, str)]:
            raise ValueError(f"the key {wrong[0]!r:.60} of a JSON object is a {type(wrong[0]).__name__}; keys are text")
        named = cast("Mapping[str, object]", items)
        made = cls((key, _freeze_value(named[key], depth + 1)) for key in sorted(named))
        made._canonical = canonical(made)
        return made

    def __eq__(self, other: object) -> bool:
        return self is other or _same(self._canonical, other, dict)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(self._canonical)

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return freeze, (dict(self),)

    def __deepcopy__(self, _: object) -> "FrozenObject":
        return self


class FrozenArray(list[Any]):
    """A JSON array that never changes. Made by `freeze`."""

    __slots__ = ("_canonical",)
    _canonical: bytes

    @classmethod
    def _of(cls, items: Iterable[object], depth: int) -> "FrozenArray":
        made = cls(_freeze_value(item, depth + 1) for item in items)
        made._canonical = canonical(made)
        return made

    def __eq__(self, other: object) -> bool:
        return self is other or _same(self._canonical, other, list)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(self._canonical)

    def __reduce__(self) -> tuple[Any, tuple[list[Any]]]:
        return freeze, (list(self),)

    def __deepcopy__(self, _: object) -> "FrozenArray":
        return self


_CHANGING = {
    FrozenObject: "__setitem__ __delitem__ __ior__ clear pop popitem setdefault update",
    FrozenArray: "__setitem__ __delitem__ __iadd__ __imul__ append clear extend insert pop remove reverse sort",
}
for _kind, _names in _CHANGING.items():
    for _name in _names.split():
        setattr(_kind, _name, _refuse)


def _same(mine: bytes, other: object, kind: type) -> bool:
    """Whether `other` is the same JSON; plain dictionaries and lists are compared in their frozen form."""
    if not isinstance(other, kind):
        return False
    try:
        frozen: FrozenObject | FrozenArray = freeze(other)
    except ValueError:
        return False
    return frozen._canonical == mine

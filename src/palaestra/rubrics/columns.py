"""The columns of rows by name and value, with each class's fields looked up only once."""

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any, TypeAlias, cast

from palaestra.records import Row

_Reader: TypeAlias = Callable[[Row], tuple[object, ...]]


def columns_of(kind: type[Row]) -> tuple[str, ...]:
    """The names of a row class's columns, in the order of their declaration."""
    names, _ = _read(cast("Any", kind))
    return names


def values_of(row: Row) -> tuple[object, ...]:
    """The values of a row, in the order of its columns."""
    _, read = _read(cast("Any", type(row)))
    return read(row)


@cache
def _read(kind: type[Any]) -> tuple[tuple[str, ...], _Reader]:
    names = tuple(f.name for f in fields(kind))
    if len(names) == 1:  # with one name, `attrgetter` does not return a tuple
        return names, lambda row: (row.id,)
    return names, attrgetter(*names)

"""What a column may hold: read from its annotation, checked where a row enters a state, and stored in SQL.

`str`, `int`, `bool`, `date`, `datetime` and a `Literal` of strings are taken as they are. The other types have values
that compare alike and differ (`0.0` and `-0.0`, `1.5` and `1.50`), or that could change behind a row's back; so a row
that enters a state has them sealed: one form for each value, or an error that names table, column and rule.
"""

import math
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, Union, cast, get_args, get_origin

from palaestra.errors import DefinitionError, RowError
from palaestra.frozen import freeze
from palaestra.records import (
    ANY_TABLE,
    DEFAULT_MAX_BYTES,
    Digits,
    Json,
    JsonObject,
    MaxBytes,
    References,
    Row,
    Searchable,
)

Seal: TypeAlias = Callable[[Any], Any]
Item: TypeAlias = type[str] | type[int] | type[float]
M = TypeVar("M")

MAX_DIGITS = 15
"""The most digits that a decimal column declares: as many as every database compares exactly."""

_PLAIN = (str, int, bool, date, datetime)
_ITEMS = (str, int, float)
_EXACT = Context(prec=60, traps=[Inexact, InvalidOperation])
_TYPES = (
    "str, int (cents for money), bool, date, datetime, float, Decimal with Digits(...), bytes, Json or JsonObject, "
    "Literal of strings, or a tuple[X, ...] of str, int, float or such a Literal"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table, as its annotation declares it."""

    name: str
    type: type
    """`str`, `int`, `bool`, `date`, `datetime`, `float`, `Decimal`, `bytes`, `tuple`, or `dict` for JSON."""
    choices: tuple[str, ...]
    """The only strings that it, or each of its items, may hold; empty for any."""
    nullable: bool
    references: str | None
    """The table whose rows this column names."""
    identifies: bool
    """Whether it holds an id that no one table answers for, marked `References(ANY_TABLE)`: of a row of any table, or
    one from outside, such as a parcel's tracking number."""
    searchable: bool
    item: Item | None = None
    """What a tuple holds: `str`, `int` or `float`."""
    digits: Digits | None = None
    """The precision of a decimal."""
    max_bytes: int = DEFAULT_MAX_BYTES
    """The most bytes that a column of bytes holds."""

    @property
    def type_name(self) -> str:
        """The type as people read it, such as "int", "json" or "list of float"."""
        if self.type is tuple and self.item is not None:
            return f"list of {self.item.__name__}"
        return "json" if self.type is dict else self.type.__name__.lower()

    @property
    def ordered(self) -> bool:
        """Whether its values have an order."""
        return self.type not in (bool, tuple, bytes, dict)

    def seal(self) -> Seal | None:
        """What checks a value of this column and gives its one form; `None` where there is nothing to do.

        It raises `ValueError`, with what is wrong and the rule.
        """
        if self.type is tuple and (self.item is not str or self.choices):
            return _list_seal(_item_seal(self.item, self.choices))
        if self.type is Decimal:
            assert self.digits is not None, "a decimal column declares its digits"
            return _decimal_seal(self.digits)
        if self.type is bytes:
            return _bytes_seal(self.max_bytes)
        return seal_float if self.type is float else _json if self.type is dict else None


def column_of(kind: type[Row], name: str, hint: Any) -> Column:
    """The column that an annotation declares.

    Raises:
        DefinitionError: it declares none.
    """
    where = f"{kind.__name__}.{name}"
    hint, nullable, marks = _unwrap(where, hint)
    item: Any = None
    if get_origin(hint) is tuple and get_args(hint)[1:] == (...,):
        item = get_args(hint)[0]
    named = next((m.table for m in marks if isinstance(m, References)), None)
    literal = item if get_origin(item) is Literal else hint
    column = Column(
        name=name,
        type=_type_of(where, hint, item),
        choices=get_args(literal) if get_origin(literal) is Literal else (),
        nullable=nullable,
        references=None if named == ANY_TABLE else named,
        identifies=named == ANY_TABLE,
        searchable=any(isinstance(m, Searchable) for m in marks),
        item=None if item is None else str if get_origin(item) is Literal else item,
        digits=_mark(marks, Digits),
        max_bytes=(_mark(marks, MaxBytes) or MaxBytes(DEFAULT_MAX_BYTES)).size,
    )
    _check_marks(where, column)
    return column


def _unwrap(where: str, hint: Any) -> tuple[Any, bool, list[Any]]:
    """A hint without its marks and without `None`."""
    marks: list[Any] = []
    nullable = False
    while hint is not Json:
        origin = get_origin(hint)
        if origin is Annotated:
            hint, *found = get_args(hint)
            marks += found
        elif origin in (Union, types.UnionType):
            options = [a for a in get_args(hint) if a is not type(None)]
            nullable = True
            if len(options) != 1:
                raise DefinitionError(f"{where}: a column has one type, not {hint}")
            hint = options[0]
        else:
            break
    return hint, nullable, marks


def _type_of(where: str, hint: Any, item: Any) -> type:
    if isinstance(hint, type) and hint in (*_PLAIN, float, Decimal, bytes):
        return hint
    if hint in (Json, JsonObject):
        return dict
    texts = get_origin(literal := hint if item is None else item) is Literal
    if texts and all(isinstance(v, str) for v in get_args(literal)):
        return str if item is None else tuple
    if item in _ITEMS:
        return tuple
    raise DefinitionError(f"{where}: {hint} is no column type; use {_TYPES}")


def _mark(marks: list[Any], kind: type[M]) -> M | None:
    return next((m for m in marks if isinstance(m, kind)), None)


def _check_marks(where: str, column: Column) -> None:
    digits = column.digits
    if (column.type is Decimal) != (digits is not None):
        raise DefinitionError(
            f"{where}: a Decimal, and only one, declares Digits; Annotated[Decimal, Digits(12, places=2)]"
        )
    if digits is not None and not 0 <= digits.places <= digits.total <= MAX_DIGITS:
        raise DefinitionError(f"{where}: {digits}; places are 0 to total, and total is at most {MAX_DIGITS}")
    if column.max_bytes < 1:
        raise DefinitionError(f"{where}: MaxBytes({column.max_bytes}); a column holds at least one byte")
    if (column.references is not None or column.identifies) and column.type is not str:
        raise DefinitionError(f"{where}: an id is text, not {column.type_name}; References marks str")
    if column.searchable and column.type is not str:
        raise DefinitionError(f"{where}: only text is searched, not {column.type_name}; Searchable marks str")


def row_seal(kind: type[Row], columns: Mapping[str, Column]) -> Callable[[Row], Row] | None:
    """What gives a row of `kind` with every value in its one form; `None` where its columns need nothing.

    The function raises `RowError`, naming row, column and rule.
    """
    seals = {name: seal for name, column in columns.items() if (seal := column.seal()) is not None}
    if not seals:
        return None

    def apply_seal(row: Row) -> Row:
        found = {name: getattr(row, name) for name in columns}
        changed = False
        for name, seal in seals.items():
            value = found[name]
            if value is None and columns[name].nullable:
                continue
            try:
                found[name] = seal(value)
            except ValueError as error:
                raise RowError(f"{row.table} {row.id}: {name}: {error}") from None
            changed |= found[name] is not value
        return kind(**found) if changed else row

    return apply_seal


def seal_float(value: Any) -> float:
    """A finite float without minus zero; an integer counts as one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r:.60} is no number")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError("the number is too large for a float") from None
    if not math.isfinite(number):
        raise ValueError(f"{number!r} is refused; a float is finite, and an absent one is None")
    if not number:
        return 0.0
    return value if type(value) is float else number


def _decimal_seal(digits: Digits) -> Seal:
    step = Decimal(1).scaleb(-digits.places)

    def seal(value: Any) -> Decimal:
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise ValueError(f"{value!r:.60} is no decimal; write Decimal('...') with its exact text")
        number = Decimal(value)
        if not number.is_finite():
            raise ValueError(f"{number} is refused; a decimal is finite, and an absent one is None")
        try:
            exact = number.quantize(step, context=_EXACT)
        except (Inexact, InvalidOperation):
            raise ValueError(f"{number} has more than {digits.places} places; round it before it is written") from None
        if len(exact.as_tuple().digits) > digits.total:
            raise ValueError(f"{number} has more than {digits.total} digits, those behind the point included")
        exact = exact or abs(exact)
        return value if isinstance(value, Decimal) and value.as_tuple() == exact.as_tuple() else exact

    return seal


def _bytes_seal(most: int) -> Seal:
    def seal(value: Any) -> bytes:
        if not isinstance(value, bytes | bytearray):
            raise ValueError(f"{value!r:.60} is a {type(value).__name__}, not bytes")
        if len(value) > most:
            raise ValueError(f"{len(value)} bytes are more than the {most} that it may hold; see MaxBytes")
        return bytes(value)

    return seal


def _json(value: Any) -> Any:
    if not isinstance(value, dict | list | tuple):
        raise ValueError(
            f"{value!r:.60} is neither a JSON object nor an array; a JSON column holds one of them, or None"
        )
    return freeze(cast("object", value))


def _item_seal(item: Item | None, choices: tuple[str, ...]) -> Seal:
    if item is float:
        return seal_float

    def seal(value: Any) -> Any:
        if type(value) is not item:
            raise ValueError(f"the item {value!r:.60} is a {type(value).__name__}, not {item.__name__ if item else ''}")
        if choices and value not in choices:
            raise ValueError(f"the item {value!r:.60} is none of {', '.join(choices)}")
        return value

    return seal


def _list_seal(seal: Seal) -> Seal:
    def apply_seal(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, tuple | list):
            raise ValueError(f"{value!r:.60} is a {type(value).__name__}, not a tuple")
        items = cast("Sequence[object]", value)
        found = tuple(map(seal, items))
        changed = any(a is not b for a, b in zip(found, items, strict=True))
        return found if changed or not isinstance(items, tuple) else items

    return apply_seal

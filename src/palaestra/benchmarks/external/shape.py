"""Checks a benchmark's answers against the types of the protocol."""

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, cast, get_args, get_origin, get_type_hints, is_typeddict

from palaestra.benchmarks.external.protocol import WireOpening, WireReply, WireTask, WireTurn, WireVerdict

ANSWERS: Mapping[str, Any] = {
    "start": str,
    "version": str,
    "tasks": list[WireTask],
    "begin": WireOpening,
    "turn": WireReply,
    "verdict": WireVerdict,
    "gold": list[WireTurn] | None,
    "legal": WireTurn | None,
    "state": str,
    "close": None,
}
"""The type of each request's answer. Any: a type expression."""
_FIELDS: dict[type, Mapping[str, Any]] = {}


def misfit(value: Any, kind: Any, where: str) -> str | None:
    """Why `value` is not of type `kind`, in words that begin with `where`; `None` if it is.

    Args:
        value: Parsed JSON. Any: its type is checked here.
        kind: A plain type, a list, a dictionary with text keys, a `TypedDict`, an optional type, or `Any`.
        where: The place of the value, such as "turn.results[0]".
    """
    if kind is Any:
        return None
    if isinstance(kind, UnionType):
        something, _ = get_args(kind)  # all unions of the protocol are optional types
        return None if value is None else misfit(value, something, where)
    if is_typeddict(kind):
        return _fields(value, kind, where)
    origin, inner = get_origin(kind) or kind, get_args(kind)
    given: object = type(value)  # pyright: ignore[reportUnknownVariableType]  it is what is asked
    plain = NoneType if origin is None else origin
    if given is not plain:
        return f"{where} is {_show(value)}, which is no {plain.__name__}"
    parts: list[tuple[str, Any]] = []
    if plain is list and inner:
        parts = [(f"[{number}]", part) for number, part in enumerate(value)]
    elif plain is dict and inner:
        parts = [(f".{name}", part) for name, part in value.items()]
    return next(filter(None, (misfit(part, inner[-1], where + name) for name, part in parts)), None)


def _fields(value: object, kind: Any, where: str) -> str | None:
    if not isinstance(value, dict):
        return f"{where} is {_show(value)}, which is no object"
    named = cast("dict[str, Any]", value)
    fields = _FIELDS.setdefault(kind, get_type_hints(kind))
    if named.keys() != fields.keys():
        lacking, unknown = sorted(fields.keys() - named.keys()), sorted(named.keys() - fields.keys())
        return f"{where} has {', '.join(unknown) or 'nothing'} too many, and lacks {', '.join(lacking) or 'nothing'}"
    return next(filter(None, (misfit(named[name], of, f"{where}.{name}") for name, of in fields.items())), None)


def _show(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."

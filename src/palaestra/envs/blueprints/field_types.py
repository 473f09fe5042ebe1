"""The types of fields and parameters, as a document writes them."""

from collections.abc import Collection
from dataclasses import replace

from palaestra.envs.blueprints.expressions import DATE, FLAG, INTEGER, MONEY, TEXT, ValueType
from palaestra.errors import BlueprintError, UnknownNameError

_PLAIN = {"text": TEXT, "name": TEXT, "email": TEXT, "integer": INTEGER, "money": MONEY, "date": DATE, "flag": FLAG}
_WRITTEN = (*_PLAIN, "choice a|b|c", "ref ENTITY")


def parse_field_type(text: str, entities: Collection[str]) -> ValueType:
    """The type that a field or parameter declares, such as "ref member" or "date?".

    Args:
        text: The type.
        entities: The names that `ref` can have.

    Raises:
        BlueprintError: it is no type; the message says what to write.
    """
    kind, _, rest = text.removesuffix("?").strip().partition(" ")
    optional = text.endswith("?")
    rest = rest.strip()
    if kind in _PLAIN and not rest:
        return replace(_PLAIN[kind], optional=optional)
    if kind == "ref":
        if rest not in entities:
            raise BlueprintError(str(UnknownNameError.of("entity", rest, entities)))
        return ValueType("row", rest, optional=optional)
    if kind == "choice":
        options = tuple(option.strip() for option in rest.split("|"))
        if len(options) < 2 or not all(options) or len(set(options)) < len(options):
            raise BlueprintError(f"{text!r}: a choice has at least two different texts; write `choice a|b|c`")
        return ValueType("choice", options=options, optional=optional)
    raise BlueprintError(f"{UnknownNameError.of('type', kind, _WRITTEN)}; add ? where a value may be missing")


def column_of_field(name: str, kind: ValueType) -> str:
    """The column that holds a field."""
    return f"{name}_id" if kind.name == "row" else name

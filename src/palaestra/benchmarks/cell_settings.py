"""Settings that a cell keeps whole, so that one which a later version adds does not make the cell another's.

A digest of settings changes with every field that is added to them. A cell took hours, and it still holds what its
command would come to wherever the new field has its default: the behaviour from before it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, TypeAlias, cast

import orjson

from palaestra.digest import canonical

KeptSettings: TypeAlias = Mapping[str, Any]
"""Settings as a JSON object."""


def keep_settings(settings: object) -> KeptSettings:
    """The fields of a dataclass and of those in it, as JSON."""
    assert is_dataclass(settings)
    kept: KeptSettings = orjson.loads(canonical(settings))
    return kept


def agree_with_kept(settings: Any, kept: Any) -> bool:
    """Whether `settings` are those that were kept, where a field that was not kept has its default.

    Args:
        settings: Dataclasses, mappings, sequences and plain values.
        kept: What `keep_settings` made of such, perhaps in a former version.
    """
    if is_dataclass(settings):
        if not isinstance(kept, dict):
            return False
        known, found = fields(settings), cast("Mapping[str, Any]", kept)
        if found.keys() - {one.name for one in known}:
            return False
        return all(
            agree_with_kept(getattr(settings, one.name), found[one.name])
            if one.name in found
            else getattr(settings, one.name) == _default(one)
            for one in known
        )
    if isinstance(settings, Mapping):
        values = cast("Mapping[str, Any]", settings)
        return (
            isinstance(kept, dict)
            and values.keys() == cast("Mapping[str, Any]", kept).keys()
            and all(agree_with_kept(value, kept[name]) for name, value in values.items())
        )
    if isinstance(settings, Sequence) and not isinstance(settings, str | bytes):
        others = cast("Sequence[Any]", kept)
        return (
            isinstance(kept, list)
            and len(settings) == len(others)  # pyright: ignore[reportUnknownArgumentType]  items are anything
            and all(agree_with_kept(settings[place], other) for place, other in enumerate(others))
        )
    return canonical(settings) == canonical(kept)


def _default(field: Field[Any]) -> object:
    """Its default; one without is equal to nothing."""
    if field.default is not MISSING:
        return field.default
    return object() if field.default_factory is MISSING else field.default_factory()

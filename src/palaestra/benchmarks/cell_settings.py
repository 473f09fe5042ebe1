"""The settings stored with a cell, so that the cell stays valid when a later version adds a setting.

A digest of settings would change with every added field. A cell takes hours, and it is still valid if the new field has
its default, which is the behaviour before the field existed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, TypeAlias, cast

import orjson

from palaestra.digest import canonical

KeptSettings: TypeAlias = Mapping[str, Any]
"""Settings as a JSON object."""


def keep_settings(settings: object) -> KeptSettings:
    """The fields of a dataclass and of nested dataclasses, as JSON."""
    assert is_dataclass(settings)
    kept: KeptSettings = orjson.loads(canonical(settings))
    return kept


def agree_with_kept(settings: Any, kept: Any) -> bool:
    """Whether `settings` equal the stored ones, with defaults for fields that were not stored.

    Args:
        settings: Dataclasses, mappings, sequences and plain values.
        kept: The result of `keep_settings`, perhaps of an earlier version.
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
    """The field's default; if there is none, a value that equals nothing."""
    if field.default is not MISSING:
        return field.default
    return object() if field.default_factory is MISSING else field.default_factory()

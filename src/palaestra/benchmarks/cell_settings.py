"""Settings that a cell keeps whole, so that one which a later version adds does not make the cell another's.

A digest of settings changes with every field that is added to them. A cell took hours, and it still holds what its
command would come to wherever the new field has its default: the behaviour from before it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, TypeAlias

import orjson

from palaestra.digest import canonical

KeptSettings: TypeAlias = Mapping[str, Any]
"""Settings as a JSON object."""


def keep_settings(settings: object) -> KeptSettings:
    """The fields of a dataclass and of those in it, as JSON."""
    kept = orjson.loads(canonical(settings))
    assert isinstance(kept, dict), "settings are a dataclass"
    return kept


def agree_with_kept(settings: object, kept: object) -> bool:
    """Whether `settings` are those that were kept, where a field that was not kept has its default.

    Args:
        settings: Dataclasses, mappings, sequences and plain values.
        kept: What `keep_settings` made of such, perhaps in a former version.
    """
    if is_dataclass(settings):
        if not isinstance(kept, dict):
            return False
        known = fields(settings)
        if kept.keys() - {one.name for one in known}:
            return False
        return all(
            agree_with_kept(getattr(settings, one.name), kept[one.name])
            if one.name in kept
            else getattr(settings, one.name) == _default(one)
            for one in known
        )
    if isinstance(settings, Mapping):
        return (
            isinstance(kept, dict)
            and settings.keys() == kept.keys()
            and all(agree_with_kept(value, kept[name]) for name, value in settings.items())
        )
    if isinstance(settings, Sequence) and not isinstance(settings, str | bytes):
        return isinstance(kept, list) and len(settings) == len(kept) and all(map(agree_with_kept, settings, kept))
    return canonical(settings) == canonical(kept)


def _default(field: Field[Any]) -> object:
    """Its default; one without is equal to nothing."""
    if field.default is not MISSING:
        return field.default
    return object() if field.default_factory is MISSING else field.default_factory()

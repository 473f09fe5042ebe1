"""An extension of a proved document: parts that are added or changed, merged by their names."""

from typing import Any, TypeAlias, cast

import yaml

from palaestra.envs.blueprints.document import read_plain
from palaestra.errors import BlueprintError
from palaestra.proof.authoring.prompt import EXTENDABLE

Plain: TypeAlias = Any
"""Any: plain data of a document; `read_blueprint` makes records of it."""


def merge_extension(document: str, extension: str) -> str:
    """The text of a document with an extension merged into it.

    Mappings are merged by name; every other part replaces the existing one.

    Raises:
        BlueprintError: the extension cannot be read, has other keys, or adds no request.
    """
    base, more = read_plain(document, source="document"), read_plain(extension, source="extension")
    if other := sorted(more.keys() - set(EXTENDABLE)):
        raise BlueprintError(f"an extension has no {', '.join(other)}; write parts under {', '.join(EXTENDABLE)} alone")
    merged = cast("dict[str, Plain]", _merge(base, more))
    requests: Plain = merged.get("requests")
    if not isinstance(requests, dict) or len(cast("dict[str, Plain]", requests)) <= len(base["requests"]):
        raise BlueprintError("the extension adds no request; add one under `requests`, with a name of its own")
    dumper: Any = yaml
    text: str = dumper.safe_dump(merged, sort_keys=False, width=110, allow_unicode=True)
    return text


def _merge(base: Plain, more: Plain) -> Plain:
    if not (isinstance(base, dict) and isinstance(more, dict)):
        return more
    old, new = cast("dict[str, Plain]", base), cast("dict[str, Plain]", more)
    return {**old, **{key: _merge(old[key], part) if key in old else part for key, part in new.items()}}

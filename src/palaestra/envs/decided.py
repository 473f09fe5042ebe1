"""The record of which tasks of "heldout-policy" their handbooks decide, each with the number of its handbook.

`palaestra tasks decide WORLD` writes it. Looking for handbooks takes minutes, so a world keeps what was found; the
proof holds every listed task to being decided.
"""

from collections.abc import Mapping
from pathlib import Path

import orjson
from pydantic import TypeAdapter, ValidationError

from palaestra.durable import write_file
from palaestra.envs.world import World
from palaestra.errors import RecordError
from palaestra.validation import plain_rule

_DECIDED: TypeAdapter[dict[str, int]] = TypeAdapter(dict[str, int])


def load_decided(world: World) -> Mapping[str, int] | None:
    """The tasks and their handbooks; `None` where the world keeps no record, or none yet.

    Raises:
        RecordError: the file is no such record.
    """
    if world.decided is None or not world.decided.exists():
        return None
    try:
        return _DECIDED.validate_json(world.decided.read_bytes())
    except ValidationError as error:
        rule = plain_rule(error.errors()[0]["msg"])
        raise RecordError(
            f"{world.decided}: no record of decided tasks: {rule}; run `palaestra tasks decide`"
        ) from error


def save_decided(path: Path, decided: Mapping[str, int]) -> None:
    """Write the record where a world reads it."""
    write_file(path, orjson.dumps(dict(decided), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n")

"""The file of a server's keys: JSON with hashes, never with keys, readable by its owner alone."""

import secrets
from collections.abc import Iterable
from pathlib import Path

import orjson
from pydantic import TypeAdapter, ValidationError

from palaestra.durable import write_file
from palaestra.errors import RecordError
from palaestra.record import record
from palaestra.serving.access.keys import KeyRecord
from palaestra.validation import plain_rule


@record
class KeyFile:
    """The content of the file."""

    handle_secret: str
    """The secret that task handles are computed from, as hex; the handles stay the same as long as it does."""
    keys: tuple[KeyRecord, ...]


_FILE = TypeAdapter(KeyFile)


def new_handle_secret() -> str:
    """A random secret for task handles, as hex."""
    return secrets.token_hex(32)


def read_keys(path: Path) -> KeyFile:
    """Read a file of keys.

    Raises:
        RecordError: the file is missing, or is not a file of keys.
    """
    try:
        return _FILE.validate_json(path.read_bytes())
    except OSError as error:
        raise RecordError(
            f"{path}: cannot be read ({error.strerror}); `palaestra keys add` makes a file of keys"
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise RecordError(f"{path}: {where}: {plain_rule(first['msg'])}; restore the file, or make new keys") from error


def write_keys(path: Path, content: KeyFile) -> None:
    """Write a file of keys completely or not at all.

    Raises:
        StorageError: writing to disk fails.
    """
    write_file(path, orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n", private=True)


def with_keys(content: KeyFile | None, keys: Iterable[KeyRecord]) -> KeyFile:
    """The content with other keys and the same handle secret."""
    secret = new_handle_secret() if content is None else content.handle_secret
    return KeyFile(handle_secret=secret, keys=tuple(keys))

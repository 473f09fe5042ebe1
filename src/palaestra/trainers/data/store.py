"""Episodes as a Parquet file, which can be read back as a whole or by column.

Each episode is a row. The values that analyses need have their own columns. The token arrays have columns too, with a
list for each segment. The rest of the record is one column of JSON. JSON lines (`palaestra.trajectory`) hold the same.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

# pyarrow has no type annotations.
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pydantic import TypeAdapter, ValidationError

from palaestra.errors import RecordError, UnknownNameError
from palaestra.trajectory import Episode, Segment, dump_episode
from palaestra.validation import plain_rule

_ROWS = 256
"""The number of episodes held in memory at once, beside those of the caller."""
_RECORD = "record"
_ARRAYS: Mapping[str, pa.DataType] = MappingProxyType(
    {"ids": pa.int64(), "sampled": pa.bool_(), "logprobs": pa.float64(), "versions": pa.int64()}
)
_SCALARS: Mapping[str, tuple[pa.DataType, Callable[[Episode], object]]] = MappingProxyType(
    {
        "id": (pa.string(), lambda e: e.id),
        "group": (pa.string(), lambda e: e.group),
        "env_id": (pa.string(), lambda e: e.env_id),
        "agent": (pa.string(), lambda e: e.agent),
        "task": (pa.string(), lambda e: e.task.id),
        "family": (pa.string(), lambda e: e.task.family),
        "split": (pa.string(), lambda e: e.task.split),
        "return": (pa.float64(), lambda e: e.episode_return),
        "passed": (pa.bool_(), lambda e: e.score.passed),
        "valid_for_baseline": (pa.bool_(), lambda e: e.valid_for_baseline),
        "end": (pa.string(), lambda e: e.end and e.end.value),
        "turns": (pa.int64(), lambda e: sum(len(segment.turns) for segment in e.segments)),
        "tokens": (pa.int64(), lambda e: sum(len(s.tokens.ids) for s in e.segments if s.tokens)),
    }
)
_SCHEMA = pa.schema(
    {name: kind for name, (kind, _) in _SCALARS.items()}
    | {name: pa.list_(pa.list_(kind)) for name, kind in _ARRAYS.items()}
    | {_RECORD: pa.string()}
)
_AGAIN = "give a file that `write_columns` wrote, or write it again"
_EPISODE: TypeAdapter[Episode] = TypeAdapter(Episode)

COLUMNS: tuple[str, ...] = tuple(_SCHEMA.names)
"""The columns of a file of episodes: scalars, `ids`, `sampled`, `logprobs` and `versions` by segment, and `record`.

A segment in which no policy of ours acted has null instead of each list.
"""


def write_columns(path: str | Path, episodes: Iterable[Episode]) -> int:
    """Write `episodes` as a Parquet file and return their number."""
    count = 0
    rest = iter(episodes)
    with pq.ParquetWriter(path, _SCHEMA, compression="zstd") as writer:
        while rows := list(islice(rest, _ROWS)):
            writer.write_table(_table(rows))
            count += len(rows)
    return count


def read_columns(path: str | Path) -> Iterator[Episode]:
    """Yield the episodes of a file that `write_columns` wrote, unchanged.

    Raises:
        RecordError: the file or one of its rows cannot be read; the message names the row and the field.
    """
    with _open(path) as file:
        row = 0
        for rows in file.iter_batches(batch_size=_ROWS, columns=[*_ARRAYS, _RECORD]):
            for fields in rows.to_pylist():
                yield _episode(fields, f"{path}, row {row}")
                row += 1


def read_table(path: str | Path, columns: Sequence[str]) -> pa.Table:  # pyright: ignore[reportUnknownParameterType]
    """Read some columns of a file that `write_columns` wrote, for analysis, and nothing else.

    Args:
        path: The file.
        columns: Names from `COLUMNS`.

    Raises:
        UnknownNameError: there is no such column.
        RecordError: the file cannot be read.
    """
    for name in columns:
        if name not in COLUMNS:
            raise UnknownNameError.of("column", name, COLUMNS)
    with _open(path) as file:
        return file.read(columns=list(columns))


def _table(episodes: Sequence[Episode]) -> pa.Table:  # pyright: ignore[reportUnknownParameterType]
    columns: dict[str, list[Any]] = {
        name: [value(episode) for episode in episodes] for name, (_, value) in _SCALARS.items()
    }
    for name in _ARRAYS:
        columns[name] = [[s.tokens and getattr(s.tokens, name) for s in e.segments] for e in episodes]
    columns[_RECORD] = [dump_episode(_without_arrays(episode)).decode() for episode in episodes]
    return pa.table(columns, schema=_SCHEMA)


def _without_arrays(episode: Episode) -> Episode:
    empty: dict[str, Any] = dict.fromkeys(_ARRAYS, ())
    segments = (replace(s, tokens=replace(s.tokens, **empty)) if s.tokens else s for s in episode.segments)
    return replace(episode, segments=tuple(segments))


def _episode(fields: Mapping[str, Any], where: str) -> Episode:
    try:
        bare = _EPISODE.validate_json(fields[_RECORD])
        arrays = zip(*(fields[name] for name in _ARRAYS), strict=True)
        segments = tuple(_fill(segment, lists) for segment, lists in zip(bare.segments, arrays, strict=True))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise RecordError(f"{where}: {_RECORD}: {field}: {plain_rule(first['msg'])}; {_AGAIN}") from error
    except (TypeError, ValueError) as error:
        raise RecordError(f"{where}: its token arrays do not fit its record ({error}); {_AGAIN}") from error
    return replace(bare, segments=segments)


def _fill(segment: Segment, lists: Sequence[list[Any] | None]) -> Segment:
    """The segment with its token arrays; either both are present or neither is."""
    if segment.tokens is None:
        if any(one is not None for one in lists):
            raise ValueError("a segment without tokens has arrays")
        return segment
    # Any: the arguments of `replace` have the types of all fields.
    arrays: dict[str, Any] = {name: tuple(one) for name, one in zip(_ARRAYS, lists, strict=True) if one is not None}
    if len(arrays) < len(_ARRAYS):
        raise ValueError(f"a segment lacks {', '.join(name for name in _ARRAYS if name not in arrays)}")
    return replace(segment, tokens=replace(segment.tokens, **arrays))


@contextmanager
def _open(path: str | Path) -> Generator[pq.ParquetFile]:
    """Open a file, if it holds episodes; errors of reading it are raised as `RecordError`."""
    try:
        with pq.ParquetFile(path) as file:
            found = file.schema_arrow
            for name in COLUMNS:
                if name not in found.names or found.field(name).type != _SCHEMA.field(name).type:
                    raise RecordError(
                        f"{path}: it has no column {name!r} of type {_SCHEMA.field(name).type}, so it holds no "
                        f"episodes; {_AGAIN}"
                    )
            yield file
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        first = str(error).strip().partition("\n")[0]
        raise RecordError(f"{path}: cannot be read as Parquet ({first}); {_AGAIN}") from error

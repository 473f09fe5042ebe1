from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palaestra.errors import RecordError, UnknownNameError
from palaestra.records import EndReason
from palaestra.seeding import Stream
from palaestra.trainers.data.store import COLUMNS, read_columns, read_table, write_columns
from palaestra.trainers.reference.play import ReferenceJob, RolloutConfig, play
from palaestra.trainers.reference.policy import ReferencePolicy
from palaestra.trajectory import Episode, Segment, Tokens, dump_episode, read_episodes, write_episodes
from trajectories import episode, episodes, turn

floats = st.floats(allow_nan=False, allow_infinity=False)


@pytest.fixture(scope="module")
def played(compact: ReferencePolicy, terse_id: str, tasks: Sequence[str]) -> list[Episode]:
    """Real ones, whose tokens a policy read and wrote."""
    jobs = [ReferenceJob(task=tasks[n % len(tasks)], seed=n, noise=Stream.root("store", n)) for n in range(4)]
    return play(compact, terse_id, jobs, RolloutConfig(rows=4, context=1024, turn=14))


@st.composite
def odd_episodes(draw: st.DrawFn) -> Episode:
    """Episodes with segments that nobody of ours acted in, with any text, reward and log-probability."""
    one = draw(episodes())
    segments: list[Segment] = []
    for segment in one.segments:
        tokens = segment.tokens
        assert tokens is not None
        exact = tuple(draw(floats) for _ in tokens.ids)
        kept = draw(st.sampled_from([None, tokens, replace(tokens, logprobs=exact)]))
        segments.append(
            replace(segment, tokens=kept, turns=tuple(replace(t, reward=draw(floats)) for t in segment.turns))
        )
    text = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
    return replace(
        one,
        segments=tuple(segments),
        agent=draw(text),
        id=draw(text),
        seed=draw(st.integers(0, 2**64 - 1)),
        end=draw(st.none() | st.sampled_from(EndReason)),
    )  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(written=st.lists(odd_episodes(), max_size=4))
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, written: list[Episode]) -> None:
    path = tmp_path_factory.mktemp("store") / "episodes.parquet"
    assert write_columns(path, iter(written)) == len(written)
    assert list(read_columns(path)) == written


def test_more_episodes_than_are_held_at_once_come_back_in_order(tmp_path: Path) -> None:
    written = [episode(Segment(prompt=(), turns=(turn(float(n)),)), id=str(n)) for n in range(600)]
    path = tmp_path / "episodes.parquet"
    assert write_columns(path, iter(written)) == 600
    assert list(read_columns(path)) == written


def test_played_episodes_are_the_same_in_columns_and_in_lines(tmp_path: Path, played: list[Episode]) -> None:
    columns, lines = tmp_path / "episodes.parquet", tmp_path / "episodes.jsonl"
    write_columns(columns, played)
    write_episodes(lines, played)
    assert list(read_columns(columns)) == list(read_episodes(lines))
    assert [one.segments[0].tokens for one in read_columns(columns)] == [one.segments[0].tokens for one in played]
    assert [one.digest() for one in read_columns(columns)] == [one.digest() for one in played]


def test_columns_for_analysis_say_what_the_episodes_say(tmp_path: Path, played: list[Episode]) -> None:
    path = tmp_path / "episodes.parquet"
    named = [replace(one, id=f"t{n}", group=f"g{n // 2}") for n, one in enumerate(played)]
    write_columns(path, named)
    asked = [name for name in COLUMNS if name != "record"]
    table = read_table(path, asked)
    assert table.column_names == asked
    for row, one in zip(table.to_pylist(), named, strict=True):
        (tokens,) = (segment.tokens for segment in one.segments)
        assert tokens is not None
        assert row == {
            "id": one.id, "group": one.group, "env_id": one.env_id, "agent": one.agent, "task": one.task.id,
            "family": one.task.family, "split": one.task.split, "return": one.episode_return,
            "passed": one.score.passed, "valid_for_baseline": True, "end": one.end, "turns": len(list(one.turns)),
            "tokens": len(tokens.ids), "ids": [list(tokens.ids)], "sampled": [list(tokens.sampled)],
            "logprobs": [list(tokens.logprobs)], "versions": [list(tokens.versions)],
        }  # fmt: skip


def test_a_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "episodes.parquet"
    write_columns(path, [])
    with pytest.raises(UnknownNameError, match="unknown column 'retrun'; did you mean 'return'"):
        read_table(path, ["task", "retrun"])


# Files that cannot be read


def refused(path: Path) -> str:
    with pytest.raises(RecordError) as raised:
        list(read_columns(path))
    return str(raised.value)


ONE = episode(
    Segment(
        prompt=(), turns=(), tokens=Tokens(ids=(1, 2), sampled=(False,) * 2, logprobs=(0.0,) * 2, versions=(0,) * 2)
    ),
    Segment(prompt=(), turns=()),
)


def spoilt(path: Path, **columns: Any) -> Path:
    """A file of two episodes, `columns` of the second set to something else."""
    write_columns(path, [ONE, ONE])
    table = pq.read_table(path)
    for name, value in columns.items():
        place = table.schema.get_field_index(name)
        values = pa.array([table[name][0].as_py(), value], type=table.schema.field(name).type)
        table = table.set_column(place, name, values)
    pq.write_table(table, path)
    return path


def record(**fields: Any) -> str:
    """The second episode's record with other fields."""
    return orjson.dumps({**orjson.loads(dump_episode(ONE)), **fields}).decode()


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"record": "{"}, "row 1: record: the whole: Invalid JSON"),
        ({"record": None}, "row 1: record: the whole"),
        ({"record": record(seed="x")}, "row 1: record: seed: Input should be a valid integer"),
        ({"ids": [[1, 2]]}, "row 1: its token arrays do not fit its record"),
        ({"ids": None}, "row 1: its token arrays do not fit its record"),
        ({"ids": [None, None]}, "row 1: its token arrays do not fit its record (a segment lacks ids)"),
        ({"ids": [[1, 2], [3]]}, "row 1: its token arrays do not fit its record (a segment without tokens has arrays)"),
    ],
)
def test_a_row_that_does_not_fit_is_named(tmp_path: Path, columns: dict[str, Any], says: str) -> None:
    message = refused(spoilt(tmp_path / "episodes.parquet", **columns))
    assert says in message
    assert message.endswith("give a file that `write_columns` wrote, or write it again")


def test_rows_before_a_spoilt_one_can_be_read(tmp_path: Path) -> None:
    assert next(read_columns(spoilt(tmp_path / "episodes.parquet", record="{"))) == ONE


def test_a_table_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.parquet"
    pq.write_table(pa.table({"id": [1]}), path)
    assert "other.parquet: it has no column 'id' of type string, so it holds no episodes" in refused(path)
    with pytest.raises(RecordError, match="holds no episodes"):
        read_table(path, ["id"])


@pytest.mark.parametrize("cut", [0, 3, 200])
def test_a_file_that_was_cut_off_or_is_none_is_refused(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "episodes.parquet"
    write_columns(path, [ONE])
    path.write_bytes(path.read_bytes()[:cut])
    assert "episodes.parquet: cannot be read as Parquet (" in refused(path)
    path.unlink()
    assert "episodes.parquet: cannot be read as Parquet (" in refused(path)


def test_pages_that_were_damaged_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "episodes.parquet"
    write_columns(path, [ONE] * 50)
    data = bytearray(path.read_bytes())
    data[4 : len(data) // 2] = bytes(len(data) // 2 - 4)
    path.write_bytes(data)
    assert "episodes.parquet: cannot be read as Parquet (" in refused(path)

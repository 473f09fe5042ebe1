"""Every byte comes back, whatever a file holds and however it grew; importing again adds nothing."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palaestra.benchmarks.record import RecordDatabase, export_run, find_sources, import_run, line_reader, run_summaries
from palaestra.errors import ConfigError, StorageError, UnknownNameError
from palaestra.trajectory import Episode, dump_episode
from recorded import write_episode_file, write_made_evaluation, write_training

EpisodeFactory = Callable[..., Episode]
NUMBERS = count()


def take(database: RecordDatabase, path: Path, name: str | None = None) -> int:
    """Import what is there; how many lines that added."""
    return sum(import_run(database, source, clock=lambda: 1.0).lines for source in find_sources(path, name=name))


def exported(database: RecordDatabase, name: str, folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in export_run(database, name, folder)}


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def lines(make_episode: EpisodeFactory) -> list[bytes]:
    """Lines of every kind that a file of trajectories can come to hold."""
    whole = [dump_episode(make_episode(index=index)) for index in range(2)]
    return [*whole, whole[0][:40], b"", b"{}", b"\xff\x00\n", b'{"a":1}\r', b"[" * 200, b"\xe2\x80\xae"]


@given(data=st.data())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_file_that_grows_comes_back_to_the_byte(
    database: RecordDatabase, lines: list[bytes], tmp_path: Path, data: st.DataObject
) -> None:
    parts = data.draw(st.lists(st.one_of(st.sampled_from(lines), st.binary(max_size=12)), max_size=6))
    whole = b"\n".join(parts) + data.draw(st.sampled_from([b"", b"\n"]))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=3)))
    number = next(NUMBERS)
    path, name = tmp_path / f"{number}.jsonl", f"run {number}"
    for end in [*cuts, len(whole)]:
        path.write_bytes(whole[:end])
        take(database, path, name)
    assert take(database, path, name) == 0
    if whole:
        assert exported(database, name, tmp_path / f"out {number}") == {path.name: whole}
    else:
        with database.read() as session:
            assert name not in [run.name for run in run_summaries(session)]


@given(data=st.data())
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_that_is_rewritten_is_followed(
    database: RecordDatabase, lines: list[bytes], tmp_path: Path, data: st.DataObject
) -> None:
    number = next(NUMBERS)
    path, name = tmp_path / f"{number}.jsonl", f"run {number}"
    is_there = False
    for _ in range(3):
        path.write_bytes(b"\n".join(data.draw(st.lists(st.sampled_from(lines), min_size=1, max_size=4))))
        take(database, path, name)
        is_there = is_there or path.stat().st_size > 0
        if not is_there:  # a file that never held anything is no run
            continue
        with database.read() as session:
            (run,) = [one for one in run_summaries(session) if one.name == name]
        whole = sum(_is_episode(line) for line in path.read_bytes().split(b"\n"))
        assert run.episodes == whole
    if is_there:
        assert exported(database, name, tmp_path / f"out {number}") == {path.name: path.read_bytes()}


def _is_episode(line: bytes) -> bool:
    return line.startswith(b'{"env_id"') and line.endswith(b"}")


def test_runs_of_every_kind_come_back(database: RecordDatabase, make_episode: EpisodeFactory, tmp_path: Path) -> None:
    episodes = [make_episode(index=index) for index in range(3)]
    runs = {
        "eval": write_made_evaluation(tmp_path / "in" / "eval"),
        "train": write_training(tmp_path / "in" / "train", episodes),
        "loose/trajectories.jsonl": write_episode_file(tmp_path / "in" / "loose" / "trajectories.jsonl", episodes),
    }
    added = take(database, tmp_path / "in")
    assert added == 1 + 8 + 1 + 2 * 4 + 3 + 3
    assert take(database, tmp_path / "in") == 0
    for name, path in runs.items():
        found = exported(database, str(path.resolve()), tmp_path / "out" / name)
        assert found == (content_of(path) if path.is_dir() else {path.name: path.read_bytes()})


def test_what_was_exported_can_be_imported_in_place_of_the_original(
    database: RecordDatabase, make_episode: EpisodeFactory, tmp_path: Path
) -> None:
    path = write_episode_file(tmp_path / "a.jsonl", [make_episode()])
    take(database, path, "a")
    export_run(database, "a", tmp_path / "out")
    assert take(database, tmp_path / "out" / "a.jsonl", "a") == 0


def test_another_run_of_the_same_name_is_refused(
    database: RecordDatabase, make_episode: EpisodeFactory, tmp_path: Path
) -> None:
    take(database, write_episode_file(tmp_path / "a.jsonl", [make_episode()]), "a")
    other = write_episode_file(tmp_path / "b" / "a.jsonl", [make_episode(index=5)])
    with pytest.raises(ConfigError, match=r"another run 'a', from .*: a.jsonl differs; give --name"):
        take(database, other, "a")
    with pytest.raises(ConfigError, match=r"the record has 'a' as episodes, and .* is training; give --name"):
        take(database, write_training(tmp_path / "train", []), "a")


def test_a_folder_that_holds_something_is_not_written_into(
    database: RecordDatabase, make_episode: EpisodeFactory, tmp_path: Path
) -> None:
    path = write_episode_file(tmp_path / "a.jsonl", [make_episode()])
    take(database, path, "a")
    with pytest.raises(StorageError, match="holds something already; export into a new folder"):
        export_run(database, "a", tmp_path)
    with pytest.raises(UnknownNameError, match="unknown run 'b'"):
        export_run(database, "b", tmp_path / "out")


def test_small_pieces_give_the_same_record(
    database: RecordDatabase, make_episode: EpisodeFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_training(tmp_path / "train", [make_episode()], steps=5)
    take(database, folder, "whole")
    monkeypatch.setattr(line_reader, "PIECE", 100)
    take(database, folder, "in pieces")
    assert exported(database, "whole", tmp_path / "a") == exported(database, "in pieces", tmp_path / "b")

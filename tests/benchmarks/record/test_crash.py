"""What was acknowledged survives kills at every write, a crash of the server, and a disk that is full."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import event

import recorded
from palaestra.benchmarks.record import (
    EpisodeFilter,
    RecordDatabase,
    export_run,
    find_episodes,
    find_sources,
    import_run,
    line_reader,
    prepare,
    run_summaries,
)
from palaestra.errors import StorageError
from palaestra.trajectory import Episode
from recorded import write_episode_file, write_training
from recorded.postgres import PostgresServer

EpisodeFactory = Callable[..., Episode]
TESTS = Path(recorded.__file__).parents[1]


@pytest.fixture
def runs(make_episode: EpisodeFactory, tmp_path: Path) -> list[Path]:
    folder = tmp_path / "in"
    episodes = [make_episode(index=index) for index in range(2)]
    return [write_training(folder / "train", episodes[:1], steps=2), write_episode_file(folder / "a.jsonl", episodes)]


def kill_imports(place: str, runs: list[Path], work: Path, extra: Mapping[str, str]) -> dict[str, int]:
    path = os.pathsep.join([str(TESTS), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-m", "recorded.kills", place, str(work), *map(str, runs)],
        env={**os.environ, "PYTHONPATH": path, **extra},
        capture_output=True,
        check=False,
        timeout=1_200,
    )
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, int] = orjson.loads(done.stdout)
    return found


@pytest.fixture
def shim(tmp_path: Path) -> dict[str, str]:
    """The variables under which a process is killed at a write."""
    library = tmp_path / "kill_at_write.so"
    source = TESTS / "recorded" / "kill_at_write.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return {"LD_PRELOAD": str(library), "KILL_SHIM": str(library)}


def test_a_kill_at_any_write_loses_nothing_that_was_acknowledged(
    runs: list[Path], tmp_path: Path, shim: dict[str, str]
) -> None:
    found = kill_imports(str(tmp_path / "record.db"), runs[1:], tmp_path, shim)
    assert found["deaths"] > 40
    assert found["kept"] > 0


def test_a_kill_while_tables_are_made_leaves_none_or_all(tmp_path: Path, shim: dict[str, str]) -> None:
    assert kill_imports(str(tmp_path / "record.db"), [], tmp_path, shim)["deaths"] > 4


def test_a_kill_at_any_moment_of_an_import_loses_nothing_that_was_acknowledged(
    place: str, runs: list[Path], tmp_path: Path
) -> None:
    found = kill_imports(place, runs, tmp_path, {})
    assert found["deaths"] > 4
    assert found["kept"] > 0


def test_a_crash_of_the_server_loses_nothing_that_was_acknowledged(
    make_episode: EpisodeFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_reader, "PIECE", 1)
    path = write_episode_file(tmp_path / "a.jsonl", [make_episode(index=index) for index in range(5)])
    (source,) = find_sources(path, name="run")
    server = PostgresServer()
    try:
        server.start()
        database = RecordDatabase(server.new_database())
        prepare(database)
        sizes: list[int] = []

        def acknowledge(_: str, size: int) -> None:
            sizes.append(size)
            if len(sizes) == 3:
                server.crash()

        with pytest.raises(StorageError, match="what was acknowledged stays"):
            import_run(database, source, acknowledge=acknowledge)
        server.start()
        with database.read() as session:
            assert find_episodes(session, EpisodeFilter(), limit=9)[1] == 3
        assert import_run(database, source).lines == 2
        (out,) = export_run(database, "run", tmp_path / "out")
        assert out.read_bytes() == path.read_bytes()
        database.close()
    finally:
        server.remove()


def test_a_full_disk_is_said_and_what_was_acknowledged_stays(
    make_episode: EpisodeFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_reader, "PIECE", 1)
    path = write_episode_file(tmp_path / "a.jsonl", [make_episode(index=index) for index in range(40)])
    (source,) = find_sources(path, name="run")
    database = RecordDatabase(str(tmp_path / "record.db"))
    prepare(database)
    database.engine.dispose()

    # Any: the connection of Python's sqlite3.
    def bound(connection: Any, _: Any) -> None:
        connection.execute("PRAGMA max_page_count=60")

    event.listen(database.engine, "connect", bound)
    acknowledged: list[int] = []
    with pytest.raises(StorageError, match="the disk is full; what was acknowledged stays; free some space"):
        import_run(database, source, acknowledge=lambda _, size: acknowledged.append(size))
    event.remove(database.engine, "connect", bound)
    database.engine.dispose()
    with database.read() as session:
        (run,) = run_summaries(session)
    assert 0 < len(acknowledged) == run.episodes < 40
    assert import_run(database, source).lines == 40 - run.episodes
    database.close()


def test_a_file_that_may_not_grow_is_said_in_a_sentence(make_episode: EpisodeFactory, tmp_path: Path) -> None:
    path = write_episode_file(tmp_path / "a.jsonl", [make_episode(index=index) for index in range(40)])
    arguments = ["record", "import", str(path), "--db", str(tmp_path / "record.db")]
    done = subprocess.run(
        [sys.executable, "-c", "from palaestra.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (160_000, 160_000)),
        check=False,
        timeout=600,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "what was acknowledged stays" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_record_that_may_only_be_read_is_read(make_episode: EpisodeFactory, tmp_path: Path) -> None:
    place = tmp_path / "record.db"
    path = write_episode_file(tmp_path / "a.jsonl", [make_episode()])
    (source,) = find_sources(path, name="run")
    database = RecordDatabase(str(place))
    prepare(database)
    import_run(database, source)
    database.close()
    # A user who may write everything is not stopped by rights, so the file is opened for reading alone.
    reading = RecordDatabase(f"sqlite:///file:{place}?mode=ro&uri=true")
    with reading.read() as session:
        assert [run.episodes for run in run_summaries(session)] == [1]
    write_episode_file(path, [make_episode(), make_episode(index=1)])
    with pytest.raises(StorageError, match="cannot be written"):
        import_run(reading, source)
    assert import_run(reading, find_sources(write_episode_file(path, [make_episode()]), name="run")[0]).lines == 0
    reading.close()

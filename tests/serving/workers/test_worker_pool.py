"""Workers, as processes and as Ray actors: what dies or hangs costs its own sessions alone, and what lives answers as
the thread does."""

import asyncio
import os
import secrets
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from palaestra.errors import InfrastructureError, LimitError
from palaestra.serving.access import KeyFile, new_handle_secret, write_keys
from palaestra.serving.client import ServerConnection
from palaestra.serving.core import LedgerOutcome, ServedWorld
from palaestra.serving.workers import WorkerTimeouts, worker_of
from served import AUTHOR
from served.pool import RunnerUnderTest, find_workers, is_running, kill, run_cores
from served.process import run_server
from served.script import FINISH, codes, play_alike
from served.waiting import wait_until
from worlds.registration import LIBRARY_ID

LIBRARY = "worlds.library:LIBRARY"


def step(*ids: str) -> list[dict[str, Any]]:
    return [{"session": id_, "action": FINISH} for id_ in ids]


@pytest.fixture(scope="module")
def two() -> Iterator[RunnerUnderTest]:
    with run_cores(2) as cores:
        yield cores


@pytest.fixture(scope="module", params=["processes", "actors"])
def either(request: pytest.FixtureRequest) -> Iterator[RunnerUnderTest]:
    """Two workers of each kind."""
    if request.param == "processes":
        yield request.getfixturevalue("two")
    else:
        request.getfixturevalue("ray_cluster")
        with run_cores(2, ray="auto") as cores:
            yield cores


def test_a_worker_that_is_killed_in_the_middle_of_a_batch_loses_its_own_sessions_alone(either: RunnerUnderTest) -> None:
    two = either
    two.wait_until_ready(2)
    before = two.counts()
    ids = two.begin(AUTHOR, 6)
    doomed = two.workers[0]
    assert doomed.pid is not None
    is_doomed = [worker_of(id_) == doomed.name for id_ in ids]
    assert is_doomed.count(True) == 3
    os.kill(pid := doomed.pid, signal.SIGSTOP)

    async def ask() -> list[list[dict[str, Any]]]:
        asked = [
            asyncio.create_task(two.ask_later(AUTHOR, "step", *step(*ids))),
            asyncio.create_task(two.ask_later(AUTHOR, "create", *[{"world": "library"}] * 2)),
        ]
        while not all(doomed.growth["sessions"] and worker.is_ready for worker in two.workers):
            await asyncio.sleep(0.01)
        kill(pid)
        return await asyncio.gather(*asked)

    stepped, created = two.wait(ask())
    assert codes(stepped) == ["lost" if lost else "ok" for lost in is_doomed]
    assert sorted(codes(created)) == ["fault", "ok"]
    after = two.counts()
    assert after.outcomes[LedgerOutcome.LOST] - before.outcomes[LedgerOutcome.LOST] == 3
    assert after.outcomes[LedgerOutcome.COUNTED] - before.outcomes[LedgerOutcome.COUNTED] == 3
    two.wait_until_ready(2)
    assert [worker.name.generation for worker in two.workers] == [doomed.name.generation + 1, 1]
    assert codes(two.send(AUTHOR, "step", *step(*ids))) == ["lost" if lost else "episode_over" for lost in is_doomed]
    assert codes(two.send(AUTHOR, "close", *({"session": id_} for id_ in ids))) == ["ok"] * 6


def test_when_all_workers_are_killed_every_session_is_lost_and_new_ones_are_created(two: RunnerUnderTest) -> None:
    two.wait_until_ready(2)
    ids = two.begin(AUTHOR, 4)
    [taken] = two.send(AUTHOR, "snapshot", {"session": ids[0]})
    for pid in two.pids():
        kill(pid)
    assert codes(two.send(AUTHOR, "step", *step(*ids))) == ["lost"] * 4
    assert codes(two.send(AUTHOR, "drop", {"snapshot": taken["ok"]["snapshot"]})) == ["lost"]
    held = two.counts()
    assert (held.sessions, held.snapshots, held.running) == (0, 0, 0)

    async def create() -> list[dict[str, Any]]:
        while True:
            try:
                return await two.ask_later(AUTHOR, "create", {"world": "library"})
            except LimitError:  # none has taken the place of the former ones yet
                await asyncio.sleep(0.01)

    assert codes(two.wait(create())) == ["ok"]
    two.wait_until_ready(2)


def test_a_created_session_that_died_is_created_anew_by_the_same_request(two: RunnerUnderTest) -> None:
    two.wait_until_ready(2)
    item = {"world": "library", "request": "again"}
    [first], [same] = two.send(AUTHOR, "create", item), two.send(AUTHOR, "create", item)
    assert first == same
    name = worker_of(first["ok"]["session"])
    [doomed] = [worker.pid for worker in two.workers if worker.name == name]
    assert doomed is not None
    kill(doomed)
    assert codes(two.send(AUTHOR, "step", *step(first["ok"]["session"]))) == ["lost"]
    [other] = two.send(AUTHOR, "create", item)
    assert other["ok"]["session"] != first["ok"]["session"]
    two.wait_until_ready(2)


@pytest.mark.parametrize("id_", ["w0g999-x", "w7g1-x", "w0g0-x", "w00g1-x", "w0g1x", "x", "w0g1-x"])
def test_an_id_that_no_worker_has_made_is_nobodys(two: RunnerUnderTest, id_: str) -> None:
    [result] = two.send(AUTHOR, "step", *step(id_))
    assert result["error"]["code"] in ("no_session", "lost")
    assert (result["error"]["code"] == "lost") == (id_ == "w0g1-x" and two.workers[0].name.generation > 1)


@pytest.mark.parametrize("ray", [None, "auto"], ids=["process", "actor"])
def test_a_worker_that_hangs_is_ended_and_replaced_and_the_account_adds_up(
    request: pytest.FixtureRequest, ray: str | None
) -> None:
    if ray is not None:
        request.getfixturevalue("ray_cluster")
    with run_cores(2, ray=ray, timeouts=WorkerTimeouts(request=2.0, item=0.0, stop=0.5)) as cores:
        ids = cores.begin(AUTHOR, 4)
        hung = cores.workers[1]
        assert hung.pid is not None
        os.kill(hung.pid, signal.SIGSTOP)
        expected = ["lost" if worker_of(id_) == hung.name else "ok" for id_ in ids]
        assert codes(cores.send(AUTHOR, "step", *step(*ids))) == expected
        cores.wait_until_ready(2)
        wait_until(lambda: hung.pid is not None and not is_running(hung.pid))
        cores.begin(AUTHOR, 2)
        for pid in cores.pids():
            os.kill(pid, signal.SIGSTOP)  # it hangs while the server stops
    account = asyncio.run(cores.runner.counts())
    assert account.running == 0
    assert account.outcomes[LedgerOutcome.LOST] == account.begun - account.outcomes[LedgerOutcome.COUNTED] == 4


def test_a_worker_that_does_not_start_is_an_error_and_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = ServedWorld(name="library", env_id=LIBRARY_ID)
    monkeypatch.setattr("palaestra.serving.http.run.PACKS", {})  # so that the workers are not told where the pack is
    before = find_workers(os.getpid())
    with pytest.raises(InfrastructureError, match="w0g1"):
        RunnerUnderTest(1, worlds=(missing,))
    assert find_workers(os.getpid()) == before


@pytest.mark.parametrize("ends_cleanly", [True, False], ids=["TERM", "KILL"])
def test_every_process_ends_with_the_server_however_it_ends(tmp_path: Path, ends_cleanly: bool) -> None:
    with run_server("--world", LIBRARY, "--workers", "2", log=tmp_path / "log") as server:
        wait_until(lambda: len(find_workers(server.process.pid)) == 2)
        workers = find_workers(server.process.pid)
        if ends_cleanly:
            assert server.stop() == 0
            assert [pid for pid in workers if is_running(pid)] == []
        else:
            server.kill()
            wait_until(lambda: not any(map(is_running, workers)))


def find_actors() -> set[int]:
    """The processes of all actors of the Ray that this process has started; other tests may have one of theirs."""
    found: set[int] = set()
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdigit() and (folder / "cmdline").read_bytes().startswith(b"ray::SessionActor"):
                node = parent_of(int(folder.name))
                if parent_of(node) == os.getpid():
                    found.add(int(folder.name))
    return found


def parent_of(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("PPid:")[2].split()[0])


@pytest.mark.usefixtures("ray_cluster")
def test_actors_end_with_a_server_that_is_killed_and_the_cluster_goes_on(tmp_path: Path) -> None:
    import ray

    cluster: Any = ray  # not all of it has types
    address = cluster.get_runtime_context().gcs_address
    before = find_actors()
    with run_server("--world", LIBRARY, "--workers", "2", "--ray", address, log=tmp_path / "log") as server:
        connection = ServerConnection(server.url)
        connection.call("create", {"world": "library"})
        connection.close()
        actors = find_actors() - before
        assert len(actors) == 2
        server.kill()
        wait_until(lambda: not any(map(is_running, actors)))
    assert cluster.cluster_resources()["CPU"] > 0


def test_a_server_that_starts_ray_itself_leaves_no_process_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = f"PALAESTRA_TEST={os.getpid()}-{secrets.token_hex(8)}"  # which the processes of this Ray inherit
    monkeypatch.setenv(*mark.split("="))
    with run_server("--world", LIBRARY, "--workers", "1", "--ray", "local", log=tmp_path / "log") as server:
        connection = ServerConnection(server.url)
        connection.call("create", {"world": "library"})
        connection.close()
        started = {pid for pid in find_marked(mark) if pid != server.process.pid}
        assert len(started) >= 3, "an actor, and what manages the machine and the cluster"
        assert server.stop() == 0
        assert [pid for pid in started if is_running(pid)] == []
    assert "Traceback" not in (tmp_path / "log").read_text()
    assert "SIGTERM" not in (tmp_path / "log").read_text()


def test_a_server_that_cannot_reach_the_cluster_says_so_in_one_line_and_ends(tmp_path: Path) -> None:
    with run_server("--quiet", "--workers", "1", "--ray", "127.0.0.1:1", log=tmp_path / "log") as server:
        assert server.wait() == 1
    lines = [line for line in (tmp_path / "log").read_text().splitlines() if line.startswith("error: ")]
    assert len(lines) == 1
    assert "Ray at '127.0.0.1:1' cannot be used" in lines[0]
    assert "ray start --head" in lines[0]


def find_marked(mark: str) -> set[int]:
    """The processes that have a variable in their environment."""
    found: set[int] = set()
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdigit() and mark.encode() in (folder / "environ").read_bytes():
                found.add(int(folder.name))
    return found


TIGHT = {"sessions": 9, "owner_sessions": 7, "owner_snapshots": 3}


@pytest.mark.parametrize("bounds", [{}, TIGHT], ids=["plain", "near limits"])
def test_the_same_batches_are_answered_by_the_same_bytes_with_any_number_of_workers(
    bounds: dict[str, int], tmp_path: Path
) -> None:
    keys = tmp_path / "keys.json"
    write_keys(keys, KeyFile(keys=(), handle_secret=new_handle_secret()))
    settings: dict[str, Any] = {"key_file": keys, **bounds}
    with run_cores(0, **settings) as none, run_cores(1, **settings) as one, run_cores(3, **settings) as three:
        found = play_alike([none, one, three], scripts=6, batches=80)
    if bounds:
        assert {"create ok", "create limit", "fork limit", "snapshot ok", "snapshot limit"} <= found
    else:
        names = (
            "create",
            "reset",
            "step",
            "fork",
            "snapshot",
            "restore",
            "drop",
            "close",
            "inspect",
            "observe",
            "tasks",
        )
        assert {f"{name} ok" for name in names} <= found
        assert {"create conflict", "step conflict", "step episode_over", "drop no_session", "step lost"} <= found


@pytest.mark.usefixtures("ray_cluster")
def test_ray_actors_answer_by_the_same_bytes_as_a_process_and_the_thread(tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    write_keys(keys, KeyFile(keys=(), handle_secret=new_handle_secret()))
    settings: dict[str, Any] = {"key_file": keys, **TIGHT}
    with (
        run_cores(0, **settings) as none,
        run_cores(1, **settings) as one,
        run_cores(2, ray="auto", **settings) as actors,
    ):
        found = play_alike([none, one, actors], scripts=2, batches=60)
    assert {"create ok", "create limit", "step ok", "fork ok", "restore ok", "step lost"} <= found

"""Worker processes: what dies or hangs costs its own sessions alone, and what lives answers as the thread does."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest

from palaestra.errors import InfrastructureError, LimitError
from palaestra.serving.access import Caller, KeyFile, new_handle_secret, write_keys
from palaestra.serving.core import OPERATIONS, LedgerOutcome, ServedWorld
from palaestra.serving.workers import WorkerTimeouts, worker_of
from served import AUTHOR, OTHER, PLAYER
from served.pool import RunnerUnderTest, find_workers, is_running, kill, run_cores
from served.process import run_server
from served.waiting import wait_until
from worlds.registration import LIBRARY_ID

FINISH: dict[str, Any] = {"tool": "finish", "arguments": {}}
LIBRARY = "worlds.library:LIBRARY"


def step(*ids: str) -> list[dict[str, Any]]:
    return [{"session": id_, "action": FINISH} for id_ in ids]


def codes(results: list[dict[str, Any]]) -> list[str]:
    return [result["error"]["code"] if "error" in result else "ok" for result in results]


@pytest.fixture(scope="module")
def two() -> Iterator[RunnerUnderTest]:
    with run_cores(2) as cores:
        yield cores


def test_a_worker_that_is_killed_in_the_middle_of_a_batch_loses_its_own_sessions_alone(two: RunnerUnderTest) -> None:
    two.wait_until_ready(2)
    before = two.counts()
    ids = two.begin(AUTHOR, 6)
    doomed = two.workers[0]
    is_doomed = [worker_of(id_) == doomed.name for id_ in ids]
    assert is_doomed.count(True) == 3
    os.kill(doomed.pid, signal.SIGSTOP)

    async def ask() -> list[list[dict[str, Any]]]:
        asked = [
            asyncio.create_task(two.ask_later(AUTHOR, "step", *step(*ids))),
            asyncio.create_task(two.ask_later(AUTHOR, "create", *[{"world": "library"}] * 2)),
        ]
        while not all(doomed.growth["sessions"] and worker.is_ready for worker in two.workers):
            await asyncio.sleep(0.01)
        kill(doomed.pid)
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
    for worker in two.workers:
        kill(worker.pid)
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
    [doomed] = [worker for worker in two.workers if worker.name == name]
    kill(doomed.pid)
    assert codes(two.send(AUTHOR, "step", *step(first["ok"]["session"]))) == ["lost"]
    [other] = two.send(AUTHOR, "create", item)
    assert other["ok"]["session"] != first["ok"]["session"]
    two.wait_until_ready(2)


@pytest.mark.parametrize("id_", ["w0g999-x", "w7g1-x", "w0g0-x", "w00g1-x", "w0g1x", "x", "w0g1-x"])
def test_an_id_that_no_worker_has_made_is_nobodys(two: RunnerUnderTest, id_: str) -> None:
    [result] = two.send(AUTHOR, "step", *step(id_))
    assert result["error"]["code"] in ("no_session", "lost")
    assert (result["error"]["code"] == "lost") == (id_ == "w0g1-x" and two.workers[0].name.generation > 1)


def test_a_worker_that_hangs_is_ended_and_replaced_and_the_account_adds_up() -> None:
    with run_cores(2, timeouts=WorkerTimeouts(request=2.0, item=0.0, stop=0.5)) as cores:
        ids = cores.begin(AUTHOR, 4)
        hung = cores.workers[1]
        os.kill(hung.pid, signal.SIGSTOP)
        expected = ["lost" if worker_of(id_) == hung.name else "ok" for id_ in ids]
        assert codes(cores.send(AUTHOR, "step", *step(*ids))) == expected
        cores.wait_until_ready(2)
        assert not is_running(hung.pid)
        cores.begin(AUTHOR, 2)
        os.kill(cores.workers[0].pid, signal.SIGSTOP)  # it hangs while the server stops
        os.kill(cores.workers[1].pid, signal.SIGSTOP)
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


# Equal bytes

TIGHT = {"sessions": 9, "owner_sessions": 7, "owner_snapshots": 3}


_OFTEN = ["create", *["reset"] * 5, *["step"] * 8, *["fork"] * 2, *["snapshot"] * 2, *["restore"] * 4, *["drop"] * 2]


class Script:
    """Random batches, written for sessions by order of appearance."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = Random(seed)  # noqa: S311  no secret
        self.requests = 0

    def batch(self) -> tuple[Caller, str, list[dict[str, Any]]]:
        """A batch of one operation; sessions and snapshots are numbers."""
        random = self.random
        who = random.choice([*[AUTHOR] * 12, PLAYER, OTHER])
        name = random.choice([*_OFTEN, *OPERATIONS])
        return who, name, [self.item(name) for _ in range(random.randint(1, 1 if name in ("close", "drop") else 6))]

    def item(self, name: str) -> dict[str, Any]:
        random = self.random
        if name in ("create", "tasks"):
            world = random.choice(["library", "paid", "paid", "nowhere"])
            key = random.choice([{}, {"request": f"{self.seed}-c{random.randrange(20)}"}])
            return {"world": world, **(key if name == "create" else {})}
        if name == "drop":
            return {"snapshot": random.randrange(20)}
        item: dict[str, Any] = {"session": random.randrange(8)}
        if name == "reset":
            item["seed"] = random.randrange(5)
        if name == "step":
            call = {"tool": "search_books", "arguments": {"text": random.choice("abc")}}
            item["action"] = random.choice([FINISH, call, call, [call, call], "some text", 5, []])
        if name == "restore":
            item["snapshot"] = random.randrange(6)
        if name == "inspect":
            item["parts"] = random.choice([["digest", "score"], ["episode", "task", "oracle"]])
        return item if name in ("drop", "heartbeat", "observe", "close", "inspect") else {**item, **self.request()}

    def request(self) -> dict[str, str]:
        self.requests += 1
        fresh, used = (f"{self.seed}-{n}" for n in (self.requests, self.random.randrange(self.requests)))
        return self.random.choice([{}, {"request": fresh}, {"request": fresh}, {"request": used}])


class Played:
    """A runner that plays a script; ids are written as their order of appearance."""

    def __init__(self, cores: RunnerUnderTest) -> None:
        self.cores = cores
        self.ids: dict[str, list[str]] = {"session": [], "snapshot": []}

    def send(self, who: Caller, name: str, items: list[dict[str, Any]]) -> bytes:
        named = [{key: self._id(key, value) for key, value in item.items()} for item in items]
        body = orjson.dumps({"items": named})
        batch = self.cores.reader.read(OPERATIONS[name], body)
        answer = self.cores.wait(self.cores.runner.run(who, batch)).body
        for result in orjson.loads(answer)["results"]:
            for kind, known in self.ids.items():
                id_ = result.get("ok", {}).get(kind)
                if id_ is not None and id_ not in known:
                    known.append(id_)
        for kind, known in self.ids.items():
            for number, id_ in enumerate(known):
                answer = answer.replace(id_.encode(), f"{kind}-{number}".encode())
        return answer

    def _id(self, key: str, value: Any) -> Any:
        if key not in self.ids:
            return value
        known = self.ids[key]
        if not known or value == 0:
            return f"no-{key}"
        place: int = -1 - int(value) % min(len(known), 8)
        return known[place]  # one of the latest: others are closed or dropped

    def listing(self) -> list[dict[str, Any]]:
        shown = self.cores.wait(self.cores.runner.list_sessions(AUTHOR))
        named = [{**one, "session": self.ids["session"].index(one["session"]), "expires_in": 0} for one in shown]
        return sorted(named, key=lambda one: one["session"])

    def clean_up(self) -> None:
        """Close all sessions and drop all snapshots."""
        for who in (AUTHOR, PLAYER, OTHER):
            shown = self.cores.wait(self.cores.runner.list_sessions(who))
            self.cores.send(who, "close", *({"session": one["session"]} for one in shown))
            self.cores.send(who, "drop", *({"snapshot": id_} for id_ in self.ids["snapshot"]))


@pytest.mark.parametrize("bounds", [{}, TIGHT], ids=["plain", "near limits"])
def test_the_same_batches_are_answered_by_the_same_bytes_with_any_number_of_workers(
    bounds: dict[str, int], tmp_path: Path
) -> None:
    found: set[str] = set()
    keys = tmp_path / "keys.json"
    write_keys(keys, KeyFile(keys=(), handle_secret=new_handle_secret()))
    settings: dict[str, Any] = {"key_file": keys, **bounds}
    with run_cores(0, **settings) as none, run_cores(1, **settings) as one, run_cores(3, **settings) as three:
        for seed in range(6):
            played = [Played(cores) for cores in (none, one, three)]
            script = Script(seed)
            for _ in range(80):
                batch = script.batch()
                for _ in range(script.random.choice([1, 1, 2])):  # a request may be sent again
                    first, *others = [each.send(*batch) for each in played]
                    assert others == [first] * 2, batch
                    found.update(f"{batch[1]} {code}" for code in codes(orjson.loads(first)["results"]))
            first_listing, *listings = [each.listing() for each in played]
            assert listings == [first_listing] * 2
            held, *others_held = [each.cores.counts() for each in played]
            assert others_held == [held] * 2
            for each in played:
                each.clean_up()
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

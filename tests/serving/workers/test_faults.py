"""A thousand short episodes under faults: each counts once or is void, nothing hangs, and nothing is left behind."""

import re
import socket
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

from palaestra.errors import InfrastructureError, PalaestraError, SessionError
from palaestra.serving.client import ServerConnection
from served.cutting import cut_link
from served.pool import find_workers, is_running, kill
from served.process import ServerProcess, run_server
from served.waiting import wait_until

CLIENTS, SESSIONS = 4, 10
ARGUMENTS = ("--quiet", "--show-reward", "--world", "worlds.library:LIBRARY", "--workers", "3")
FINISH: dict[str, Any] = {"tool": "finish", "arguments": {}}
ANSWERS, REQUESTS = 5, 7
"""Which answers and which requests are cut off: every how many-th."""


def wait_a_little(seconds: float) -> None:
    time.sleep(min(seconds, 0.05))


class FaultyClient:
    """A client of several sessions behind a link that breaks.

    Args:
        url: The link.
        server: Where the link leads.
        number: Of the client.
    """

    def __init__(self, url: str, server: str, number: int) -> None:
        self.connection = ServerConnection(url, tries=100_000, sleep=wait_a_little)
        self.random = Random(number)  # noqa: S311  no secret
        self.outcomes: Counter[str] = Counter()
        host, _, port = server.removeprefix("http://").partition(":")
        self._server = (host, int(port))
        self._sessions: list[str | None] = [None] * SESSIONS

    def play(self, rounds: int, disturb: Callable[[int], None]) -> None:
        """Play an episode in each session, again and again."""
        for number in range(rounds):
            self._begin()
            self._vanish()
            disturb(number)
            items = [self._item(session=session, action=FINISH, turn=0) for session in self._sessions]
            for place, answer in enumerate(self.connection.call_all("step", items)):
                if isinstance(answer, PalaestraError):
                    assert isinstance(answer, InfrastructureError | SessionError), answer
                    self.outcomes["void"] += 1
                    self._sessions[place] = None
                else:
                    assert answer["end"] == "finished"
                    assert answer["turn"] == 1
                    self.outcomes["counted"] += 1

    def _item(self, **fields: Any) -> dict[str, Any]:
        return {**fields, "request": self.connection.request_key()}

    def _begin(self) -> None:
        """Reset each session; one that is gone is created anew."""
        waiting = list(range(SESSIONS))
        while waiting:
            missing = [place for place in waiting if self._sessions[place] is None]
            items = [self._item(world="library", view="play") for _ in missing]
            for place, answer in zip(missing, self._call_all("create", items), strict=True):
                if not isinstance(answer, PalaestraError):
                    self._sessions[place] = answer["session"]
            there = [place for place in waiting if self._sessions[place] is not None]
            items = [self._item(session=self._sessions[place], seed=self.random.randrange(8)) for place in there]
            for place, answer in zip(there, self._call_all("reset", items), strict=True):
                if isinstance(answer, PalaestraError):
                    assert isinstance(answer, InfrastructureError | SessionError), answer
                    self._sessions[place] = None
                else:
                    waiting.remove(place)

    def _call_all(self, name: str, items: list[dict[str, Any]]) -> list[dict[str, Any] | PalaestraError]:
        return self.connection.call_all(name, items) if items else []

    def _vanish(self) -> None:
        """Be two clients that are not seen again: one leaves an episode, one is gone in the middle of a request."""
        try:
            created = self.connection.call("create", self._item(world="library", lease=0.2))
            self.connection.call("reset", self._item(session=created["session"], seed=0))
            with socket.create_connection(self._server) as link:
                link.sendall(b"POST /v1/step HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
                link.sendall(b'Content-Length: 400\r\n\r\n{"items": [')
        except (InfrastructureError, SessionError, ConnectionError):
            pass  # the worker, or the server, has ended

    def close(self) -> None:
        """Close the sessions and the connection."""
        items = [{"session": session} for session in self._sessions if session is not None]
        self._call_all("close", items)
        self.connection.close()


def play_all(server: ServerProcess, rounds: int, disturb: Callable[[int], None]) -> Counter[str]:
    """Have all clients play at the same time; how their episodes ended. The first one disturbs."""
    found: Counter[str] = Counter()

    def play(number: int) -> Counter[str]:
        with cut_link(server.url, every=ANSWERS, before=REQUESTS) as link:
            client = FaultyClient(link.url, server.url, number)
            client.play(rounds, (lambda _: None) if number else disturb)
            client.close()
            assert link.cuts > 0
            assert link.kept_back > 0
        return client.outcomes

    with ThreadPoolExecutor(CLIENTS) as pool:
        for outcomes in pool.map(play, range(CLIENTS), timeout=240):
            found += outcomes
    assert found.total() == CLIENTS * SESSIONS * rounds
    return found


def read_metrics(url: str) -> dict[str, int]:
    """Sessions and the account of episodes."""
    connection = ServerConnection(url)
    text = connection._open().get(f"{url}/v1/metrics").text
    connection.close()
    found = re.findall(r'^palaestra_(sessions|episodes_\w+?)(?:\{outcome="(\w+)"\})? (\d+)$', text, re.MULTILINE)
    return {outcome or name: int(number) for name, outcome, number in found}


def check_account(url: str, clients: Counter[str]) -> None:
    """Hold the server's account against what its clients saw, once everybody has gone and all leases have run out."""
    wait_until(lambda: read_metrics(url)["sessions"] == 0)
    account = read_metrics(url)
    outcomes = {name: number for name, number in account.items() if name.startswith(("counted", "void"))}
    assert account["episodes_running"] == 0
    assert account["episodes_begun_total"] == sum(outcomes.values()) >= clients.total()
    # An episode counts although its client never learns of it, where the worker ends before the client asks again.
    assert clients["counted"] <= account["counted"] <= clients.total()
    assert account["void_lost"] > 0
    assert account["void_lease"] > 0
    assert account["void_fault"] == account["void_stopped"] == 0


def test_a_thousand_episodes_each_count_once_or_are_void_whatever_fails(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with run_server(*ARGUMENTS, log=log) as first:
        wait_until(lambda: len(find_workers(first.process.pid)) == 3)

        def kill_a_worker(number: int) -> None:
            if number % 4 == 2:
                kill(find_workers(first.process.pid)[number % 3])

        seen = play_all(first, 12, kill_a_worker)
        assert seen["void"] > 0
        check_account(first.url, seen)
        port, workers = first.url.rpartition(":")[2], find_workers(first.process.pid)
        second: list[ServerProcess] = []

        def kill_the_server(number: int) -> None:
            if number == 1:
                first.kill()
                second.append(ServerProcess(*ARGUMENTS, "--port", port, log=log))

        try:
            restarted = play_all(first, 3, kill_the_server)
            assert restarted["void"] > 0
            wait_until(lambda: not any(map(is_running, workers)))
            [server] = second

            def kill_another_worker(number: int) -> None:
                if number % 5 == 2:
                    kill(find_workers(server.process.pid)[0])

            seen += restarted + play_all(server, 10, kill_another_worker)
            assert seen.total() == 1_000
            wait_until(lambda: read_metrics(server.url)["sessions"] == 0)
            account = read_metrics(server.url)
            over = sum(number for name, number in account.items() if name.startswith(("counted", "void")))
            assert account["episodes_begun_total"] == over
            assert account["episodes_running"] == 0
            workers = find_workers(server.process.pid)
            assert server.stop() == 0
            assert [pid for pid in workers if is_running(pid)] == []
        finally:
            for server in second:
                if server.process.poll() is None:
                    server.kill()
    assert "Traceback" not in log.read_text()

"""Measures Palaestra's server: batches of oracle steps over many sessions, by HTTP and over a WebSocket."""

import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count, cycle, islice
from typing import Any, Protocol

import orjson
from websockets.sync.client import connect

from palaestra.benchmarks.speed.processes import processor_seconds, resident_bytes
from palaestra.benchmarks.speed.served.figures import ServedSample, ServedScale
from palaestra.benchmarks.speed.served.scripts import SEEDS
from palaestra.errors import InfrastructureError, PalaestraError
from palaestra.packs import PACKS
from palaestra.protocols import Action
from palaestra.records import EndReason
from palaestra.serving.client import ServerConnection
from palaestra.serving.core import error_of

HTTP, SOCKET = "HTTP", "WebSocket"
_GROUP = 500
"""Items of an untimed request."""


class _Connection(Protocol):
    def call_all(self, operation: str, items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | PalaestraError]: ...


def time_server(
    env_id: str, scripts: Sequence[Sequence[Action]], scale: ServedScale, *, workers: int
) -> Iterator[ServedSample]:
    """Play one server with each protocol and each batch size.

    Raises:
        InfrastructureError: the server does not start, or answers an error.
    """
    with _start(env_id, scale.sessions, workers) as (process, url):
        connection = ServerConnection(url)
        connection.get("worlds")  # the server answers once its workers have started
        before = resident_bytes([process])
        sessions = _create(connection, PACKS.find(env_id).id, scale.sessions)
        players = [_Player(name, scripts[number % SEEDS], number % SEEDS) for number, name in enumerate(sessions)]
        _reset(connection, players)
        weight = (resident_bytes([process]) - before) / scale.sessions
        _warm_up(connection, players[: SEEDS * max(1, workers)])
        with _open_socket(url) as socket:
            for name, timed in ((HTTP, connection), (SOCKET, socket)):
                for batch in scale.batches:
                    rates = _time_batches(timed, players, batch, scale.seconds, process)
                    yield ServedSample(
                        name=name,
                        workers=workers,
                        sessions=scale.sessions,
                        batch=batch,
                        session_bytes=weight,
                        **rates,
                    )
        connection.close()


class _Player:
    """A session and its position in its script."""

    def __init__(self, session: str, script: Sequence[Action], seed: int) -> None:
        self.session, self.script, self.seed = session, script, seed
        self.position = 0

    @property
    def is_over(self) -> bool:
        return self.position == len(self.script)


_KEYS = count()


def _warm_up(connection: _Connection, players: Sequence[_Player]) -> None:
    """Play an episode of each player untimed, so that one-time work of a process does not count in the first rows."""
    while playing := [player for player in players if not player.is_over]:
        for start in range(0, len(playing), _GROUP):
            _step(connection, playing[start : start + _GROUP])


def _time_batches(
    connection: _Connection, players: Sequence[_Player], batch: int, seconds: float, process: int
) -> dict[str, Any]:
    """Play for `seconds` seconds. Resets take place between passes over all sessions and are not timed."""
    groups = [players[start : start + batch] for start in range(0, len(players), batch)]
    turns = cycle(groups)
    played, wall, processor = 0, 0.0, 0.0
    while wall < seconds:
        _reset(connection, [player for player in players if player.is_over])
        spent, begun = processor_seconds([process]), time.perf_counter()
        for group in islice(turns, len(groups)):
            _step(connection, group)
            played += len(group)
            if wall + time.perf_counter() - begun >= seconds:
                break
        wall += time.perf_counter() - begun
        processor += processor_seconds([process]) - spent
    return {"steps": played, "wall_seconds": wall, "processor_seconds": processor}


def _create(connection: _Connection, world: str, sessions: int) -> list[str]:
    names: list[str] = []
    while len(names) < sessions:
        items = [{"world": world, "view": "play"}] * min(_GROUP, sessions - len(names))
        names += [answer["session"] for answer in _sound(connection.call_all("create", items))]
    return names


def _reset(connection: _Connection, players: Sequence[_Player]) -> None:
    for start in range(0, len(players), _GROUP):
        group = players[start : start + _GROUP]
        _sound(connection.call_all("reset", [{"session": p.session, "seed": p.seed} for p in group]))
        for player in group:
            player.position = 0


def _step(connection: _Connection, players: Sequence[_Player]) -> None:
    items = [
        {"session": p.session, "action": p.script[p.position], "turn": p.position, "request": f"bench-{next(_KEYS)}"}
        for p in players
    ]
    for player, answer in zip(players, _sound(connection.call_all("step", items)), strict=True):
        player.position += 1
        if answer["end"] is not None:
            assert EndReason(answer["end"]).terminates, "the oracle ends its episodes"
            player.position = len(player.script)


def _sound(answers: list[dict[str, Any] | PalaestraError]) -> list[dict[str, Any]]:
    sound: list[dict[str, Any]] = []
    for answer in answers:
        if isinstance(answer, PalaestraError):
            raise answer
        sound.append(answer)
    return sound


class _SocketClient:
    """Runs operations over one WebSocket connection."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._ids = count(1)

    def call_all(self, operation: str, items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | PalaestraError]:
        message = {"id": next(self._ids), "operation": operation, "items": items}
        self._socket.send(orjson.dumps(message).decode())
        answer: dict[str, Any] = orjson.loads(self._socket.recv())
        if "error" in answer:
            raise error_of(answer["error"])
        return [error_of(result["error"]) if "error" in result else result["ok"] for result in answer["results"]]


@contextmanager
def _open_socket(url: str) -> Generator[_SocketClient]:
    address = f"{url.replace('http', 'ws', 1)}/v1/socket"
    with connect(address, proxy=None, compression=None, max_size=None) as socket:
        yield _SocketClient(socket)


@contextmanager
def _start(env_id: str, sessions: int, workers: int) -> Generator[tuple[int, str]]:
    command = [sys.executable, "-m", "palaestra", "serve", "--quiet", "--port", "0", "--world", env_id]
    command += ["--sessions", str(sessions), "--workers", str(workers)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        if not url:
            raise InfrastructureError(f"the server of {env_id} does not start; `palaestra serve` says why")
        yield process.pid, url
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()

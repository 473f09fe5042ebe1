"""What a served step costs: batches of oracle steps over many sessions, against one server on loopback.

The rate on the processor is steps by the processor seconds of the server and its worker processes, so that other
programs on the machine do not change it much. The rate on the clock includes the client, which shares the machine.
"""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import gymnasium as gym

from palaestra.agents import as_action
from palaestra.envs import ToolEnv
from palaestra.errors import InfrastructureError, PalaestraError
from palaestra.packs import PACKS
from palaestra.protocols import Action
from palaestra.record import record
from palaestra.records import EndReason
from palaestra.serving.client import ServerConnection
from palaestra.table import Table

_SEEDS = 64
"""Different episodes; sessions beyond play them again."""
_TICKS = os.sysconf("SC_CLK_TCK")


@record
class ServedRate:
    """One measurement."""

    name: str
    sessions: int
    batch: int
    """Items of a request."""
    steps: int
    wall_seconds: float
    server_seconds: float
    """Of the processor, spent by the server."""
    session_bytes: float | None
    """Resident memory of the server for each session in an episode; `None` where it was not measured."""


def measure_served(
    env_id: str, *, sessions: int, batches: Sequence[int], steps: int, workers: int = 0
) -> list[ServedRate]:
    """Play steps of the oracle in one server, once for each size of batches.

    Args:
        env_id: The world.
        sessions: Sessions that exist at once; they are played in turn.
        batches: Items of a request.
        steps: Steps to play for each size.
        workers: Worker processes of the server; 0 for its own thread.

    Raises:
        InfrastructureError: the server does not start, or answers an error.
    """
    scripts = list(islice(_scripts(env_id), _SEEDS))
    found: list[ServedRate] = []
    with _server(env_id, sessions, workers) as (process, url):
        connection = ServerConnection(url)
        connection.get("worlds")  # the server answers once its workers have started
        before = _resident(process.pid)
        names = _create(connection, PACKS.find(env_id).id, sessions)
        players = [_Player(name, scripts[number % _SEEDS], number % _SEEDS) for number, name in enumerate(names)]
        _reset(connection, players)
        weight = (_resident(process.pid) - before) / sessions
        for batch in batches:
            played, wall, server = 0, 0.0, 0.0
            while played < steps:
                for start in range(0, sessions, batch):
                    group = players[start : start + batch]
                    _reset(connection, [player for player in group if player.is_over])
                    begun, ticks = time.perf_counter(), _processor_seconds(process.pid)
                    _step(connection, group)
                    wall += time.perf_counter() - begun
                    server += _processor_seconds(process.pid) - ticks
                    played += len(group)
                    if played >= steps:
                        break
            rate = ServedRate(
                name="HTTP, play view" if not workers else f"HTTP, play view, {workers} workers",
                sessions=sessions,
                batch=batch,
                steps=played,
                wall_seconds=wall,
                server_seconds=server,
                session_bytes=weight,
            )
            found.append(rate)
        connection.close()
    return found


def time_in_process(env_id: str, *, steps: int) -> ServedRate:
    """The same steps without a server, for comparison."""
    scripts = list(islice(_scripts(env_id), _SEEDS))
    env: ToolEnv = gym.make(env_id).unwrapped  # type: ignore[assignment]
    played, wall, processor, number = 0, 0.0, 0.0, 0
    while played < steps:
        env.reset(seed=number % _SEEDS)
        for action in scripts[number % _SEEDS]:
            begun, spent = time.perf_counter(), time.process_time()
            env.step(action)
            wall += time.perf_counter() - begun
            processor += time.process_time() - spent
            played += 1
        number += 1
    return ServedRate(
        name="in process",
        sessions=1,
        batch=1,
        steps=played,
        wall_seconds=wall,
        server_seconds=processor,
        session_bytes=None,
    )


class _Player:
    """A session and where it stands in its script."""

    def __init__(self, session: str, script: Sequence[Action], seed: int) -> None:
        self.session, self.script, self.seed = session, script, seed
        self.position = 0

    @property
    def is_over(self) -> bool:
        return self.position == len(self.script)


def _scripts(env_id: str) -> Iterator[list[Action]]:
    """The oracle's actions in the episode of each seed."""
    env: ToolEnv = gym.make(env_id).unwrapped  # type: ignore[assignment]
    seed = 0
    while True:
        env.reset(seed=seed)
        yield [as_action(call) for call in env.oracle()]
        seed += 1


def _create(connection: ServerConnection, world: str, sessions: int) -> list[str]:
    names: list[str] = []
    while len(names) < sessions:
        items = [{"world": world, "view": "play"}] * min(500, sessions - len(names))
        names += [answer["session"] for answer in _sound(connection.call_all("create", items))]
    return names


def _reset(connection: ServerConnection, players: Sequence[_Player]) -> None:
    for start in range(0, len(players), 500):
        group = players[start : start + 500]
        _sound(connection.call_all("reset", [{"session": p.session, "seed": p.seed} for p in group]))
        for player in group:
            player.position = 0


def _step(connection: ServerConnection, players: Sequence[_Player]) -> None:
    items = [
        {"session": p.session, "action": p.script[p.position], "turn": p.position, "request": connection.request_key()}
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


@contextmanager
def _server(env_id: str, sessions: int, workers: int) -> Generator[tuple["subprocess.Popen[str]", str]]:
    command = [sys.executable, "-m", "palaestra", "serve", "--quiet", "--port", "0", "--world", env_id]
    command += ["--sessions", str(sessions), "--workers", str(workers)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        if not url:
            raise InfrastructureError(f"the server of {env_id} does not start; `palaestra serve` says why")
        yield process, url
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def _with_workers(process: int) -> list[str]:
    """A process and those that its main thread has started."""
    return [str(process), *Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def _processor_seconds(process: int) -> float:
    stats = (Path(f"/proc/{one}/stat").read_text() for one in _with_workers(process))
    fields = (stat.rpartition(")")[2].split() for stat in stats)
    return sum(int(one[11]) + int(one[12]) for one in fields) / _TICKS


def _resident(process: int) -> int:
    pages = (Path(f"/proc/{one}/statm").read_text().split()[1] for one in _with_workers(process))
    return sum(map(int, pages)) * resource.getpagesize()


def served_table(rates: Sequence[ServedRate]) -> Table:
    """The measurements as a table."""
    memory: Callable[[ServedRate], str] = lambda r: "" if r.session_bytes is None else f"{r.session_bytes / 1024:.1f}"  # noqa: E731
    rows = tuple(
        (
            rate.name,
            f"{rate.sessions:,}",
            f"{rate.batch:,}",
            f"{rate.steps / rate.wall_seconds:,.0f}",
            f"{rate.steps / max(rate.server_seconds, 1 / _TICKS):,.0f}",
            memory(rate),
        )
        for rate in rates
    )
    columns = ("steps", "sessions", "batch", "steps/s, clock", "steps/s, processor", "KiB/session")
    return Table(title="Served steps of the oracle, one server", columns=columns, rows=rows)

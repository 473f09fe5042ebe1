"""Starting a server: its socket, its signals, and the line that says where it listens."""

import ipaddress
import logging
import secrets
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI

from palaestra.errors import ConfigError
from palaestra.packs import PACKS
from palaestra.serving.access import KeyRing, RateLimiter, RateLimits, new_handle_secret, read_keys
from palaestra.serving.core import EpisodeLedger, ItemReader, ServedWorld, ServedWorlds, SessionCore, SessionLimits
from palaestra.serving.http.app import make_app
from palaestra.serving.http.requests import HttpLimits
from palaestra.serving.http.server import WorldServer
from palaestra.serving.http.socket_protocol import BoundedWebSocketProtocol
from palaestra.serving.log_lines import LOGGERS, log_to
from palaestra.serving.workers import (
    CoreRunner,
    CoreThread,
    ProcessLauncher,
    WorkerLauncher,
    WorkerName,
    WorkerPool,
    WorkerSettings,
    WorkerTimeouts,
    collect_rarely,
)

_GRACE = 10
"""Seconds that running requests may continue when the server stops."""
_HEAD_BYTES = 16_384


def make_server(
    worlds: Sequence[ServedWorld],
    *,
    key_file: Path | None = None,
    sessions: SessionLimits | None = None,
    http: HttpLimits | None = None,
    rates: RateLimits | None = None,
    clock: Callable[[], float] = time.monotonic,
    workers: int = 0,
    ray: str | None = None,
    timeouts: WorkerTimeouts | None = None,
) -> WorldServer:
    """A server of these worlds.

    Args:
        worlds: The served worlds.
        key_file: The accepted keys; `None` for a server without keys.
        sessions: Bounds of sessions and snapshots.
        http: Bounds of requests.
        rates: The rate limits of each key.
        clock: Returns seconds that never decrease, for leases and rates. Workers have their own for leases.
        workers: Workers that hold the sessions; 0 for a thread of this process.
        ray: The cluster of workers that are Ray actors, as `RayLauncher` takes it; `None` for local processes.
        timeouts: Seconds after which a worker counts as hanging.

    Raises:
        ConfigError: workers should be Ray actors, but `workers` is 0 or Ray is not installed.
        RecordError: the file of keys cannot be read.
    """
    if ray is not None and not workers:
        raise ConfigError(f"ray={ray}: the workers are Ray actors, and there are none; give --workers above 0")
    known = None if key_file is None else read_keys(key_file)
    secret = new_handle_secret() if known is None else known.handle_secret
    offer = ServedWorlds(worlds, secret=bytes.fromhex(secret))
    kept, bounds = sessions or SessionLimits(), http or HttpLimits()
    runner: CoreRunner
    if workers:
        runner = WorkerPool(
            workers,
            partial(_describe_worker, worlds=tuple(worlds), secret=bytes.fromhex(secret), limits=kept),
            launcher=ProcessLauncher() if ray is None else _make_ray_launcher(ray, count=workers),
            limits=kept,
            most=bounds.pending,
            timeouts=timeouts or WorkerTimeouts(),
        )
    else:
        core = SessionCore(
            offer, limits=kept, ledger=EpisodeLedger(), clock=clock, new_id=lambda: secrets.token_urlsafe(16)
        )
        runner = CoreThread(core, most=bounds.pending)
    return WorldServer(
        runner,
        worlds=offer,
        reader=ItemReader(kept.batch),
        keys=None if known is None else KeyRing(known.keys, clock=time.time),
        rates=RateLimiter(rates or RateLimits(), clock=clock),
        limits=bounds,
        key_file=key_file,
    )


def _make_ray_launcher(address: str, *, count: int) -> WorkerLauncher:
    try:
        from palaestra.serving.workers.ray_link import RayLauncher  # noqa: PLC0415  Ray is an extra
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise ConfigError("Ray is not installed, and `ray` needs it; `pip install 'palaestra[ray]'`") from error
    return RayLauncher(address, count=count)


def _describe_worker(
    name: WorkerName, *, worlds: Sequence[ServedWorld], secret: bytes, limits: SessionLimits
) -> WorkerSettings:
    return WorkerSettings(
        name=name,
        worlds=worlds,
        secret=secret,
        limits=limits,
        places={world.env_id: PACKS.find(world.env_id).place for world in worlds if world.env_id in PACKS},
        is_logged=bool(logging.getLogger(LOGGERS[0]).handlers),
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def serve(
    server: WorldServer, *, host: str, port: int, announce: Callable[[str], None], is_logged: bool = True
) -> None:
    """Serve until a signal (INT or TERM) arrives; running requests are answered first.

    Args:
        server: The server.
        host: The address to listen on.
        port: The port; 0 for a free one.
        announce: Called with the address once connections are accepted.
        is_logged: Whether requests are logged on standard error.

    Raises:
        ConfigError: the address is not loopback and there are no keys, or the server cannot listen on it.
        InfrastructureError: a worker does not start.
    """
    if is_logged:
        log_to(sys.stderr)
    try:
        with collect_rarely():
            _run(make_config(server), host=host, port=port, announce=announce, has_keys=server.keys is not None)
    except SystemExit:  # uvicorn has logged the error and does not pass it on
        if server.start_error is None:
            raise
        raise server.start_error from None


def run_app(
    app: FastAPI, *, host: str, port: int, announce: Callable[[str], None], has_keys: bool, connections: int
) -> None:
    """Serve an application without WebSockets until a signal (INT or TERM) arrives.

    Args:
        app: The application.
        host: The address to listen on.
        port: The port; 0 for a free one.
        announce: Called with the address once connections are accepted.
        has_keys: Whether it requires keys.
        connections: Maximum connections at once.

    Raises:
        ConfigError: the address is not loopback and there are no keys, or the server cannot listen on it.
    """
    config = _make_config(app, connections=connections, ws="none")
    _run(config, host=host, port=port, announce=announce, has_keys=has_keys)


def make_config(server: WorldServer) -> uvicorn.Config:
    """The uvicorn settings for a server of worlds."""
    return _make_config(
        make_app(server),
        connections=server.limits.connections,
        ws=BoundedWebSocketProtocol,
        ws_max_size=server.limits.body_bytes,
        # Compression would need another bound, for the size that a small message expands to.
        ws_per_message_deflate=False,
    )


def _make_config(app: FastAPI, *, connections: int, **sockets: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=connections,
        timeout_graceful_shutdown=_GRACE,
        h11_max_incomplete_event_size=_HEAD_BYTES,
        **sockets,
    )


def _run(config: uvicorn.Config, *, host: str, port: int, announce: Callable[[str], None], has_keys: bool) -> None:
    if not has_keys and not is_loopback(host):
        raise ConfigError(f"host={host}: other machines can reach it, so it needs keys; give --keys FILE")
    listening = listen(host, port)
    # uvicorn raises the signal again once it has stopped; by then it has done its work.
    former = {number: signal.signal(number, _do_nothing) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with listening:
            shown = f"[{host}]" if ":" in host else host
            announce(f"http://{shown}:{listening.getsockname()[1]}")
            uvicorn.Server(config).run(sockets=[listening])
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def listen(host: str, port: int) -> socket.socket:
    """A socket that accepts connections.

    Raises:
        ConfigError: the server cannot listen on the address.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small answers at once only on sockets that name their protocol; without it each waits 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(1_024)
    except OSError as error:
        listening.close()
        raise ConfigError(f"{host}:{port} cannot be listened on ({error.strerror}); choose another port") from error
    return listening


def _do_nothing(number: int, frame: FrameType | None) -> None:
    del number, frame

"""Measures Palaestra's server and its peers. Every round measures each row once, so other load affects all alike."""

from collections.abc import Callable, Iterator
from pathlib import Path

from palaestra.benchmarks.speed.served import echo_server, episode_servers
from palaestra.benchmarks.speed.served.figures import ServedReport, ServedSample, ServedScale
from palaestra.benchmarks.speed.served.in_process import time_in_process
from palaestra.benchmarks.speed.served.own_server import time_server
from palaestra.benchmarks.speed.served.scripts import oracle_scripts
from palaestra.benchmarks.speed.server import NAME as EPISODE_SERVER


def bench_served(
    env_id: str, scale: ServedScale, *, openenv_python: Path, progress: Callable[[str], None] = lambda _: None
) -> ServedReport:
    """Measure served steps beside two peers.

    Args:
        env_id: The world.
        scale: The size of the run.
        openenv_python: The path of an interpreter that has `openenv-core`; without it, that peer is listed as not run.
        progress: Receives the name of each round when it is done.

    Raises:
        InfrastructureError: a server does not start, or answers an error.
    """
    scripts = oracle_scripts(env_id)
    found = {
        echo_server.NAME: echo_server.reason_absent(openenv_python),
        EPISODE_SERVER: episode_servers.reason_absent(env_id),
    }
    absent = {name: reason for name, reason in found.items() if reason}

    def measure() -> Iterator[ServedSample]:
        yield from time_in_process(env_id, scripts, scale)
        for workers in scale.workers:
            yield from time_server(env_id, scripts, scale, workers=workers)
        if echo_server.NAME not in absent:
            yield from echo_server.time_echo(openenv_python, scale)
        if EPISODE_SERVER not in absent:
            yield from episode_servers.time_episode_servers(scale)

    rounds: list[list[ServedSample]] = []
    for number in range(scale.rounds):
        rounds.append(list(measure()))
        progress(f"round {number + 1}")
    return ServedReport(scale=scale, rounds=rounds, absent=absent)

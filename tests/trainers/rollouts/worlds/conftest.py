"""Every kind of worlds, over a library that misbehaves on request."""

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest

from palaestra.agents.hosted import WorldSpec
from palaestra.trainers.rollouts.world import RolloutWorlds
from palaestra.trainers.rollouts.worlds import LocalWorlds, ProcessWorlds, Timeouts

WorldsFactory: TypeAlias = Callable[..., RolloutWorlds]
"""Worlds from a spec; of `workers` workers and with `timeouts`, where the kind has any."""
PATIENT = Timeouts(open=120, reset=120, step=120, episode=120)


@pytest.fixture(scope="session")
def runner() -> Iterator[asyncio.Runner]:
    """One event loop for worlds that several tests share."""
    with asyncio.Runner() as runner:
        yield runner


def _local(spec: WorldSpec, *, workers: int = 1, timeouts: Timeouts = PATIENT) -> RolloutWorlds:
    del workers, timeouts
    return LocalWorlds(spec)


def _processes(spec: WorldSpec, *, workers: int = 1, timeouts: Timeouts = PATIENT) -> RolloutWorlds:
    return ProcessWorlds(spec, workers=workers, timeouts=timeouts)


def _actors(spec: WorldSpec, *, workers: int = 1, timeouts: Timeouts = PATIENT) -> RolloutWorlds:
    from palaestra.trainers.rollouts.worlds.actors import RayWorlds

    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    return RayWorlds(spec, actors=workers, timeouts=timeouts, options={"runtime_env": {"env_vars": path}})


@pytest.fixture(scope="session", params=["processes", "actors"])
def remote(request: pytest.FixtureRequest) -> WorldsFactory:
    """The kinds whose worlds live elsewhere."""
    if request.param == "actors":
        request.getfixturevalue("ray_cluster")
        return _actors
    return _processes


@pytest.fixture(scope="session", params=["local", "processes", "actors"])
def kind(request: pytest.FixtureRequest) -> WorldsFactory:
    """Every kind."""
    if request.param == "actors":
        request.getfixturevalue("ray_cluster")
    return {"local": _local, "processes": _processes, "actors": _actors}[request.param]

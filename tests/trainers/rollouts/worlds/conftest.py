"""Every kind of worlds, over a library that misbehaves on request."""

import asyncio
import gc
import os
import sys
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
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


@pytest.fixture(scope="session")
def cluster() -> Iterator[None]:
    """A Ray of this machine alone, which tells nobody of itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_TOKEN", os.urandom(32).hex())  # else Ray keeps one in the user's home
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else older ones warn that this will be so
        import ray

        with _careless():
            ray.init(num_cpus=2, include_dashboard=False, object_store_memory=2**27, log_to_driver=False)
        yield
        with _careless():
            ray.shutdown()


@contextmanager
def _careless() -> Generator[None]:
    """Room for somebody who drops processes that still run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
        gc.collect()


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
        request.getfixturevalue("cluster")
        return _actors
    return _processes


@pytest.fixture(scope="session", params=["local", "processes", "actors"])
def kind(request: pytest.FixtureRequest) -> WorldsFactory:
    """Every kind."""
    if request.param == "actors":
        request.getfixturevalue("cluster")
    return {"local": _local, "processes": _processes, "actors": _actors}[request.param]

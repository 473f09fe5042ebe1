"""Settings of every test: Hypothesis, the folders whose coverage is measured, what a soak records, and one Ray."""

import gc
import importlib
import os
import pkgutil
import sys
import warnings
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import settings

from property.budget import SOAK

if TYPE_CHECKING:
    from types import ModuleType

    from coverage import Coverage

# The same examples each time, and no clock on a machine that others share.
settings.register_profile("palaestra", deadline=None, derandomize=True)
settings.load_profile("palaestra")

FLOOR = ("palaestra.envs", "palaestra.rubrics", "palaestra.tools")
"""Packages that the coverage floor holds, beside the modules directly in palaestra."""
MEASURED = ("tests/envs/", "tests/rubrics/", "tests/tools/")
"""Folders of tests that the coverage floor rests on, beside the files directly in tests/; measuring doubles the time
of Python code. A test in them that repeats covered lines thousands of times is marked `unmeasured`."""
KEPT_TASKS = 8_192
"""How many instances of a world's tasks a process keeps: more than any world lists."""
MEASURED_CASES = 1_000
"""How many cases of one parametrised test are measured; further ones run the same lines again. Where each case has code
of its own, the test is marked `measured`: all of its cases are."""


def pytest_configure(config: pytest.Config) -> None:
    """Record a soak."""
    if SOAK:
        from soak import Soak

        config.pluginmanager.register(Soak(config))


@pytest.hookimpl(trylast=True)  # after pytest-cov has begun
def pytest_sessionstart() -> None:
    """Measure with one tracer: in each worker pytest-cov begins twice, which doubles the cost and cannot be paused.

    And keep all tasks of a world that were made.
    """
    if (own := measuring()) is not None:
        own.stop()
        while (other := measuring()) is not None:
            other.stop()
        own.start()
    # Tests go through all tasks of a world in their order, which a smaller cache would make anew for each of them.
    from palaestra.envs import taskset  # not before coverage has begun

    taskset.KEPT = KEPT_TASKS


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without collecting garbage, and leave what is there then out of later garbage collections.

    All tests and what they import are a million objects: each full garbage collection would take 0.6 s for them alone.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run tests in one process where their module makes something once, and measure the first cases of each test."""
    cases = Counter[str]()
    for item in items:
        test = item.nodeid.partition("[")[0]
        cases[test] += 1
        if cases[test] > MEASURED_CASES and item.get_closest_marker("measured") is None:
            item.add_marker(pytest.mark.unmeasured)
        if item.get_closest_marker("xdist_group") is None and (shares_a_fixture(item) or shares_a_cache(item)):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


def shares_a_fixture(item: pytest.Item) -> bool:
    """Whether a test uses a fixture that its own module makes once for all its tests."""
    if not isinstance(item, pytest.Function):
        return False
    module = item.nodeid.partition("::")[0]
    known = item._fixtureinfo.name2fixturedefs.values()
    return any(fixture.scope == "module" and fixture.baseid == module for found in known for fixture in found)


def shares_a_cache(item: pytest.Item) -> bool:
    """Whether the module of a test keeps what its tests need in a cache of its own, which each process would fill."""
    module = item.getparent(pytest.Module)
    if module is None:
        return False
    members: dict[str, object] = vars(cast("ModuleType", module.obj))
    own = (value for value in members.values() if getattr(value, "__module__", "") == module.obj.__name__)
    return any(hasattr(value, "cache_info") for value in own)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Import what the floor holds while coverage runs: a test that pauses it may be the first to need a module."""
    if session.config.getoption("loadgroup", default=False):
        marked = [item for item in session.items if item.get_closest_marker("xdist_group")]
        assert all("@" in item.nodeid for item in marked), "this pytest-xdist does not group tests under this pytest"
    if measuring() is not None:
        for folder in FLOOR:
            package = importlib.import_module(folder)
            for module in pkgutil.walk_packages(package.__path__, f"{folder}."):
                importlib.import_module(module.name)


def measuring() -> "Coverage | None":
    """What measures the coverage of this process, if anything does."""
    module = sys.modules.get("coverage")
    return module.Coverage.current() if module is not None else None


def is_measured(item: pytest.Item) -> bool:
    """Whether coverage is measured while a test runs, its fixtures included."""
    path = item.nodeid.partition("::")[0]
    return (path.startswith(MEASURED) or path.count("/") == 1) and item.get_closest_marker("unmeasured") is None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Pause coverage where nothing rests on it."""
    coverage = measuring()
    if coverage is None or is_measured(item):
        return (yield)
    coverage.stop()
    assert measuring() is None, "something has started coverage a second time, so it cannot be paused"
    try:
        return (yield)
    finally:
        coverage.start()


@pytest.fixture(scope="module")
def light_collections() -> None:
    """Leave what earlier tests hold out of garbage collections: `check_env` collects often, and a worker that has run
    for a while holds millions of objects, so that each collection takes seconds. It stays out, as all that was there
    before the first test."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[None]:
    """A Ray of this machine alone, which tells nobody of itself. Its actors import what tests do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_TOKEN", os.urandom(32).hex())  # else Ray keeps one in the user's home
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else older ones warn that this will be so
        import ray

        untyped: Any = ray  # not all of it has types
        with careless(), pytest.MonkeyPatch.context() as while_it_starts:
            while_it_starts.setenv("RAY_prestart_worker_first_driver", "0")  # workers of which some are never used
            while_it_starts.setenv("RAY_kill_worker_timeout_milliseconds", "500")  # for workers that hang
            while_it_starts.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
            untyped.init("local", num_cpus=6, include_dashboard=False, object_store_memory=2**27, log_to_driver=False)
        yield
        with careless():
            untyped.shutdown()


@contextmanager
def careless() -> Generator[None]:
    """Room for somebody who drops processes that still run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
        gc.collect()

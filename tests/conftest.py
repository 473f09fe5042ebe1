"""Settings of every test: Hypothesis, the folders whose coverage is measured, and what a soak records."""

import os
import sys
from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from property.budget import SOAK

if TYPE_CHECKING:
    from coverage import Coverage

# The same examples each time, and no clock on a machine that others share.
settings.register_profile("palaestra", deadline=None, derandomize=True)
settings.load_profile("palaestra")

MEASURED = ("tests/envs/", "tests/rubrics/", "tests/tools/")
"""Folders of tests that the coverage floor rests on, beside the files directly in tests/; measuring doubles the time
of Python code. A test in them that repeats covered lines thousands of times is marked `no_cover`."""


def pytest_configure(config: pytest.Config) -> None:
    """Record a soak."""
    if SOAK:
        from soak import Soak

        config.pluginmanager.register(Soak(config))


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests that share a fixture of their module in one process: the fixture is made once."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None and shares_a_fixture(item):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


def shares_a_fixture(item: pytest.Item) -> bool:
    """Whether a test uses a fixture that its own module makes once for all its tests."""
    if not isinstance(item, pytest.Function):
        return False
    module = item.nodeid.partition("::")[0]
    known = item._fixtureinfo.name2fixturedefs.values()
    return any(fixture.scope == "module" and fixture.baseid == module for found in known for fixture in found)


def is_measured(item: pytest.Item) -> bool:
    """Whether coverage is measured while a test runs, its fixtures included."""
    path = item.nodeid.partition("::")[0]
    return (path.startswith(MEASURED) or path.count("/") == 1) and item.get_closest_marker("no_cover") is None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Pause the coverage of this process, and of the processes it starts, where nothing rests on it."""
    module = sys.modules.get("coverage")
    measuring: Coverage | None = module.Coverage.current() if module is not None else None
    if measuring is None or is_measured(item):
        return (yield)
    inherited = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("COVERAGE_PROCESS_")}
    measuring.stop()
    try:
        return (yield)
    finally:
        measuring.start()
        os.environ.update(inherited)

"""Every test here runs on each backend that is asked for.

`make test` asks for the one that needs nothing beside the system. `make docker-test` asks for both, starts an engine
for it, and writes what passed to docs/sandbox-docker.json, which `test_record.py` holds up against the tests.
"""

import os
from collections.abc import Callable
from typing import Any

import pytest

from palaestra.tools.sandbox import SANDBOXES, Sandbox, SandboxLimits
from sandboxes import ToolHost

MakeHost = Callable[..., ToolHost]


BACKENDS = tuple(os.environ.get("PALAESTRA_TEST_SANDBOXES", "namespaces").split())
"""Which backends the tests run on."""
collect_ignore = [] if "docker" in BACKENDS else ["test_docker_engine.py"]


@pytest.fixture(params=BACKENDS)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """A backend; one that this machine cannot run fails its tests, it is not skipped."""
    name: str = request.param
    found = SANDBOXES.get(name)
    found.check()
    return found


@pytest.fixture
def host(sandbox: Sandbox) -> ToolHost:
    """Tools behind the backend, under the usual limits."""
    return ToolHost(sandbox)


@pytest.fixture
def limited(sandbox: Sandbox) -> MakeHost:
    """Makes tools behind the backend under other limits."""

    def make(**limits: Any) -> ToolHost:
        return ToolHost(type(sandbox)(SandboxLimits(**limits)))

    return make

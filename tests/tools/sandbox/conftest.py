"""Every test here runs on every backend that is registered."""

from collections.abc import Callable
from typing import Any

import pytest

from palaestra.tools.sandbox import SANDBOXES, Sandbox, SandboxLimits
from sandboxes import ToolHost

MakeHost = Callable[..., ToolHost]


@pytest.fixture(params=list(SANDBOXES))
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

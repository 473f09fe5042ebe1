from datetime import datetime

import pytest

from palaestra.clock import Clock
from palaestra.envs.state import Overlay
from palaestra.tools import ToolContext
from worlds.library import SCHEMA, populate


@pytest.fixture
def state() -> Overlay:
    return Overlay(populate(1))


@pytest.fixture
def context(state: Overlay) -> ToolContext:
    return ToolContext(
        state=state, clock=Clock(datetime(2031, 1, 1)), role="clerk", actor="EMP-1", ids_in=SCHEMA.ids_in
    )

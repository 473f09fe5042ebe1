import pytest

from palaestra.envs.state import Base, Overlay
from worlds.library import populate


@pytest.fixture
def base() -> Base:
    return populate(1)


@pytest.fixture
def overlay(base: Base) -> Overlay:
    return Overlay(base)

import pytest

from worlds.bench import Bench, BenchFactory


@pytest.fixture
def bench() -> BenchFactory:
    """Makes a bench of criteria."""
    return Bench

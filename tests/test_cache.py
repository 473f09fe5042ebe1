"""The bounded cache: never larger than it may be, and the least recently used value goes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.cache import LruCache


@given(st.integers(1, 5), st.lists(st.integers(0, 8)))
def test_it_keeps_the_latest_values_and_makes_each_once_while_it_is_kept(size: int, keys: list[int]) -> None:
    cache: LruCache[int, int] = LruCache(size)
    latest: list[int] = []
    for key in keys:
        made: list[int] = []
        assert cache.get(key, lambda key=key, made=made: made.append(key) or 10 * key) == 10 * key  # type: ignore[misc]
        assert bool(made) == (key not in latest)
        latest = [*(k for k in latest if k != key), key][-size:]
        assert len(cache) == len(latest)


def test_a_cache_keeps_something() -> None:
    with pytest.raises(ValueError, match="size=0: a cache keeps at least 1 value"):
        LruCache(0)

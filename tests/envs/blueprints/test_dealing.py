"""Values are dealt with the shares that were stated, up to one, and by nothing but the stream."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from palaestra.envs.blueprints.dealing import deal_values
from palaestra.seeding import Stream

_weights = st.lists(st.integers(0, 20), min_size=1, max_size=6).filter(any)


@given(weights=_weights, count=st.integers(0, 60), seed=st.integers(0, 1_000))
def test_each_option_is_dealt_as_often_as_its_share_up_to_one(weights: list[int], count: int, seed: int) -> None:
    dealt = deal_values(list(enumerate(weights)), count, Stream.root("deal", seed))
    assert len(dealt) == count
    found = Counter(dealt)
    for option, weight in enumerate(weights):
        exact = count * weight / sum(weights)
        assert abs(found[option] - exact) < 1


@given(seed=st.integers(0, 1_000))
def test_equal_streams_deal_alike(seed: int) -> None:
    options = [("a", 2), ("b", 3)]
    assert deal_values(options, 20, Stream.root(seed)) == deal_values(options, 20, Stream.root(seed))


def test_a_rare_option_comes_to_each_place_and_in_some_streams_only() -> None:
    dealt = [deal_values([(True, 1), (False, 9)], 5, Stream.root("rare", seed)) for seed in range(200)]
    assert {values.index(True) for values in dealt if True in values} == set(range(5))
    assert 60 < sum(True in values for values in dealt) < 140

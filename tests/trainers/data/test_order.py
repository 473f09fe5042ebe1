"""The order in which things are drawn: each once before any comes again, and several sources by their weights."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.errors import ConfigError
from palaestra.seeding import Stream
from palaestra.trainers.data.order import Share, ShuffledOrder, WeightedDeal


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(1, 9)), min_size=2, max_size=4),
    st.integers(1, 4),
    st.integers(1, 30),
)
def test_shares_are_kept_to_within_one_draw_and_each_source_deals_out_its_things(
    sources: list[tuple[int, int]], size: int, steps: int
) -> None:
    shares = [Share(count=count, weight=float(weight)) for count, weight in sources]
    deal = WeightedDeal(shares, size=size, stream=Stream.root("test"))
    drawn = [place for step in range(steps) for place in deal.at(step)]
    again = WeightedDeal(shares, size=size, stream=Stream.root("test"))
    assert again.at(steps - 1) == drawn[-size:]
    first = 0
    for share in shares:
        own = [place - first for place in drawn if first <= place < first + share.count]
        assert abs(len(own) - len(drawn) * share.weight / sum(s.weight for s in shares)) < 1
        for start in range(0, len(own) - share.count + 1, share.count):
            assert sorted(own[start : start + share.count]) == list(range(share.count))
        first += share.count


def test_one_source_is_dealt_as_ever() -> None:
    plain = ShuffledOrder(7, size=3, stream=Stream.root("test"))
    shared = WeightedDeal([Share(count=7, weight=4.0)], size=3, stream=Stream.root("test"))
    assert [shared.at(step) for step in range(9)] == [plain.at(step) for step in range(9)]


def test_a_world_without_weight_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"weight=0\.0: a weight is above 0; leave a world out that gets no share"):
        WeightedDeal([Share(count=2, weight=0.0)], size=1, stream=Stream.root("test"))

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.digest import Chain, canonical, digest, digest_bytes

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    x: int
    day: date


@given(fields=st.dictionaries(st.text(max_size=4), values, max_size=5))
def test_the_order_of_keys_does_not_count(fields: dict[str, Any]) -> None:
    assert canonical(fields) == canonical(dict(reversed(fields.items())))


@given(one=values, two=values)
def test_digests_are_equal_where_canonical_bytes_are(one: Any, two: Any) -> None:
    assert (digest(one) == digest(two)) == (canonical(one) == canonical(two))


def test_records_dates_and_tuples_have_one_form() -> None:
    assert canonical(Point(x=1, day=date(2031, 2, 3))) == b'{"x":1,"day":"2031-02-03"}'
    assert canonical((1, [2])) == canonical([1, (2,)]) == b"[1,[2]]"
    assert canonical({2: "b", 1: "a"}) == b'{"1":"a","2":"b"}'
    assert canonical(datetime(2031, 2, 3, 4, 5)) == b'"2031-02-03T04:05:00"'
    assert canonical((Decimal("1.50"), Decimal("-0.0"), Decimal("1E+3"))) == b'["1.50","0.0","1000"]'
    assert canonical(b"\x00\xffcount") == b'"AP9jb3VudA=="'


def test_true_is_not_1() -> None:
    assert digest(True) != digest(1) != digest("1")


@pytest.mark.parametrize("value", [object(), {1, 2}, Decimal("NaN")])
def test_what_is_not_data_has_no_digest(value: Any) -> None:
    with pytest.raises(TypeError):
        digest(value)


def test_a_digest_is_128_bits_of_hex() -> None:
    assert digest(None) == digest_bytes(b"null")
    assert len(digest("x")) == 32
    assert int(digest("x"), 16)


@given(
    links=st.lists(st.lists(values, max_size=2), max_size=4), other=st.lists(st.lists(values, max_size=2), max_size=4)
)
def test_a_chain_names_its_whole_history(links: list[list[Any]], other: list[list[Any]]) -> None:
    def head(history: list[list[Any]]) -> str:
        chain = Chain()
        for link in history:
            assert chain.add(*link) == chain.head
        return chain.head

    assert (head(links) == head(other)) == (list(map(canonical, links)) == list(map(canonical, other)))


def test_a_chain_goes_on_from_a_head() -> None:
    whole, part = Chain(), Chain()
    part.add(1)
    whole.add(1)
    whole.add(2)
    assert Chain(part.head).add(2) == whole.head

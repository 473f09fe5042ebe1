"""What an agent could know when it made a call: the proof's idea of a look-up that was needed."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palaestra.proof.knowledge import could_know, leaves, needed_reads, words
from palaestra.proof.trial import OracleStep
from palaestra.records import Json, Message, ToolCall, ToolEvent

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=10,
)


def step(tool: str, arguments: Mapping[str, Json], shows: Json = None, *, named: tuple[str, ...] = ()) -> OracleStep:
    """A call and what its answer shows."""
    content = json.dumps(shows)
    return OracleStep(
        call=ToolCall(tool=tool, arguments=arguments),
        event=ToolEvent(
            call_id="call", tool=tool, arguments=arguments, schema_ok=True, semantic_ok=True, executed=True,
            result_digest="", error=None, cost=1, latency=1, duplicate_of=None, named=named, written=0, shown=(),
            mentioned=frozenset(),
        ),
        observation=(Message(role="tool", content=content),),
        changes=(),
        met=frozenset(),
    )  # fmt: skip


GET = step("get_order", {"order_id": "ORD-1"}, {"line": "LIN-7", "paid": 250})
LOOK = step("get_line", {"line_id": "LIN-7"}, {"due": "2026-01-09"})
PAY = step("refund", {"line_id": "LIN-7", "amount": 250, "note": "for LIN-7 and LIN-8"})
ASKED = frozenset({"ORD-1"})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ORD-1001 is late.", {"ORD-1001", "is", "late"}),
        ('{"id":"LIN-10002","due":"2026-01-09"}', {"id", "LIN-10002", "due", "2026-01-09"}),
        ("from ana.b+c@mail.example: -3.50- done-", {"from", "ana.b+c@mail.example", "3.50", "done"}),
        ("", set[str]()),
    ],
)
def test_words_are_ids_numbers_and_dates_without_the_marks_around_them(text: str, found: set[str]) -> None:
    assert words([Message(role="user", content=text)]) == found


def test_words_are_those_of_every_message() -> None:
    assert words([Message(role="user", content="a"), Message(role="tool", content="b c")]) == {"a", "b", "c"}


@settings(derandomize=True)
@given(VALUES)
def test_leaves_are_every_single_value_and_none_but_those(value: Json) -> None:
    found = leaves(value)
    assert not any(isinstance(leaf, (dict, list)) for leaf in found)
    wrapped = leaves({"a": [value], "b": value})
    assert [repr(leaf) for leaf in wrapped] == [repr(leaf) for leaf in found * 2]


def test_a_value_that_was_asked_with_can_be_known() -> None:
    assert could_know(GET, ASKED, [GET, LOOK])


def test_an_id_that_only_a_later_answer_shows_cannot_be_known() -> None:
    assert not could_know(LOOK, ASKED, [GET, LOOK])
    assert could_know(LOOK, ASKED | words(GET.observation), [GET, LOOK])


def test_a_date_has_to_be_shown_and_prose_and_sums_have_not() -> None:
    dated = step("finish", {"answer": {"due": "2026-01-09"}})
    assert not could_know(dated, ASKED, [GET, LOOK])
    assert could_know(PAY, ASKED | {"LIN-7"}, [GET, LOOK, PAY])


def test_an_id_without_a_digit_has_to_be_shown_where_the_schema_says_that_it_is_one() -> None:
    path = "/projects/canal/costs.txt"
    listing = step("list_files", {"folder": "/projects/canal"}, [path])
    read = step("read_file", {"path": path}, named=(path,))
    assert not could_know(read, ASKED, [listing, read])
    assert could_know(read, words(listing.observation), [listing, read])
    assert needed_reads([listing, read], frozenset({1}), ASKED) == {0}


def test_a_value_that_no_answer_shows_is_the_authors_own() -> None:
    assert could_know(step("refund", {"line_id": "LIN-99"}), ASKED, [GET, LOOK])


def test_a_read_is_needed_where_it_alone_shows_a_value_of_needed_work() -> None:
    assert needed_reads([GET, PAY], frozenset({1}), ASKED) == {0}


def test_a_read_is_not_needed_where_the_request_tells_as_much() -> None:
    assert needed_reads([GET, PAY], frozenset({1}), ASKED | {"LIN-7"}) == frozenset()


def test_one_of_two_reads_that_show_the_same_is_not_needed() -> None:
    twin = step("get_order", {"order_id": "ORD-1"}, {"lines": ["LIN-7"]})
    assert needed_reads([GET, twin, PAY], frozenset({2}), ASKED) == frozenset()


def test_a_chain_of_reads_is_needed_from_its_first_link() -> None:
    first = step("get_customer", {"customer_id": "CUS-1"}, {"order": "ORD-1"})
    assert needed_reads([first, GET, PAY], frozenset({2}), frozenset({"CUS-1"})) == {0, 1}


def test_what_a_blind_read_shows_teaches_nothing() -> None:
    assert needed_reads([GET, LOOK, step("f", {"due": "2026-01-09"})], frozenset({2}), ASKED) == {0, 1}


def test_work_that_is_left_out_is_not_missed_by_itself() -> None:
    assert needed_reads([PAY], frozenset({0}), frozenset()) == frozenset()

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.tools import Mark, OpaqueFormat
from palaestra.tools.formats.handles import PER_KIND
from palaestra.tools.formats.opaque import OpaqueRendering

parts = st.sampled_from(
    [
        "ORD-1042", "ORD-1043", "LIN-99999", "1042", "123", "12", "199.99", "2031-01-02T03:04:05", "2031-01-02",
        "a.b@c.example", "NO8127120811", "<ORD.0>", "<N.1>", " ", "-", ".", "@", "+", ":", "=", '"', "\\", "\\n", "\n",
        "x", "é", "٣٤٥", "T",
    ]
)  # fmt: skip
texts = st.lists(parts, max_size=8).map("".join) | st.text(max_size=20)


def opened() -> OpaqueRendering:
    return OpaqueFormat().rendering()


def masked(text: str) -> str:
    """`text` as a policy reads it, in a new episode."""
    return "".join(opened().mask(text))


def marks_in(pieces: Sequence[str]) -> list[str]:
    return [piece for piece in pieces if isinstance(piece, Mark)]


@given(said=st.lists(st.tuples(texts, st.integers(0, 60)), max_size=6))
def test_every_text_of_an_episode_resolves_to_itself_then_and_later(said: list[tuple[str, int]]) -> None:
    handles = opened()
    pieces = [handles.mask(text, record=record) for text, record in said]
    assert [handles.resolve(p) for p in pieces] == [text for text, _ in said]
    assert [handles.mask(text) for text, _ in said] == pieces


@given(said=texts)
def test_only_marks_are_resolved_and_text_that_spells_one_is_not(said: str) -> None:
    handles = opened()
    handles.mask("ORD-1042 is 1234")
    assert handles.resolve([said]) == said
    assert handles.resolve(["<ORD.0>", Mark("<ORD.0>")]) == "<ORD.0>ORD-1042"


def test_a_mark_that_nothing_has_stays_as_it_is_written() -> None:
    assert opened().resolve(["a=", Mark("<ORD.7>"), Mark("<|user|>")]) == "a=<ORD.7><|user|>"


def test_an_episode_has_no_more_handles_of_a_kind_than_there_are_tokens_and_the_rest_stays_text() -> None:
    handles = opened()
    given = [handles.mask(f"ORD-{1000 + n}", record=n) for n in range(PER_KIND + 5)]
    assert [p for (p,) in given[:PER_KIND]] == [f"<ORD.{n}>" for n in range(PER_KIND)]
    assert [marks_in(p) for p in given[PER_KIND:]] == [[]] * 5
    assert handles.mask(f"of ORD-{1000 + PER_KIND}, now") == [f"of ORD-{1000 + PER_KIND}, now"]
    assert handles.mask("LIN-1000") == ["<LIN.0>"]


@pytest.mark.parametrize("record", [PER_KIND - 1, PER_KIND, PER_KIND + 20, 10_000])
def test_a_record_far_down_a_listing_still_gets_a_handle_that_is_a_token(record: int) -> None:
    handles = opened()
    given = marks_in(list(itertools.chain(*(handles.mask(f"ORD-{1000 + n}", record=record) for n in range(60)))))
    assert sorted(given) == sorted(f"<ORD.{n}>" for n in range(PER_KIND))


def test_handles_are_numbered_by_first_appearance_and_by_record_where_that_is_free() -> None:
    handles = opened()
    assert handles.mask("ORD-1009, ORD-1001") == ["<ORD.0>", ", ", "<ORD.1>"]
    assert handles.mask("ORD-1005", record=4) == ["<ORD.4>"]
    assert handles.mask("ORD-1006", record=4) == ["<ORD.5>"]
    assert handles.mask("ORD-1001", record=9) == ["<ORD.1>"]
    assert handles.mask("ORD-1007") == ["<ORD.2>"]


def test_episodes_do_not_share_handles() -> None:
    first, second = opened(), opened()
    first.mask("ORD-1001")
    assert second.mask("ORD-1002") == ["<ORD.0>"]
    assert second.resolve([Mark("<ORD.0>")]) == "ORD-1002"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("ORD-1042", "<ORD.0>"),
        ("(ORD-1042, LIN-10077)", "(<ORD.0>, <LIN.0>)"),
        ("order_id=ORD-1042.", "order_id=<ORDER_ID.0>."),
        ("id=ORD-1042", "id=<ORD.0>"),
        ("ORD-1042 order_id=ORD-1042", "<ORD.0> order_id=<ORD.0>"),
        ("a product_id=CPU-1001 product_id=PSU-1002", "a product_id=<PRODUCT_ID.0> product_id=<PRODUCT_ID.1>"),
        ("123 1234.50 123", "<N.0> <N.1> <N.0>"),
        ("total_cents=4599", "total_cents=<TOTAL_CENTS.0>"),
        ("at 2031-01-02T03:04:05.", "at <T.0>."),
        ("kofi.dubois+x@mail.example.", "<MAIL.0>."),
        ("1234@mail.example", "<MAIL.0>"),
        ("ORD-1042@mail.example", "<MAIL.0>"),
        ("PA9762735048", "<CODE.0>"),
        ('"Hello,\\nORD-1042"', '"Hello,\\n<ORD.0>"'),
        ('"Hello,\\na@b.example"', '"Hello,\\n<MAIL.0>"'),
        ("Hello,\nORD-1042", "Hello,\n<ORD.0>"),
    ],
)
def test_what_a_small_policy_cannot_copy_gets_a_handle(text: str, read: str) -> None:
    assert masked(text) == read


@pytest.mark.parametrize(
    "text",
    [
        "", "RET-1", "EMP-101", "12", "2031-01-02", "09:00", "LGA1851", "x1234", "1234x", "a-1234", "-1234", "ord-1042",
        "a@b", "@", "1.234", "\\u0123",
    ],
)  # fmt: skip
def test_names_dates_and_short_numbers_stay_text(text: str) -> None:
    assert masked(text) == text

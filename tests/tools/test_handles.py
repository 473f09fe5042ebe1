import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.tools import Mark
from palaestra.tools.formats.handles import PER_KIND, Handles, handle_marks, is_handle

values = st.text(min_size=1, max_size=4) | st.integers(0, 200)


@given(shown=st.lists(st.tuples(values, st.sampled_from(["order", "amount"]), st.integers(0, 60)), max_size=60))
def test_a_handle_stands_for_its_value_for_the_whole_episode(shown: list[tuple[str | int, str, int]]) -> None:
    handles = Handles()
    marks = {value: handles.show(value, kind, record=record) for value, kind, record in shown}
    for value, mark in marks.items():
        assert handles.find(value) == mark
        assert mark is None or handles.resolve(mark) == value
    given = [mark for mark in marks.values() if mark is not None]
    assert len(set(given)) == len(given)


def test_a_new_handle_takes_the_number_of_its_record_if_it_is_free() -> None:
    handles = Handles()
    assert handles.show("a", "order", record=4) == "<order.4>"
    assert handles.show("b", "order", record=4) == "<order.5>"
    assert handles.show("c", "order") == "<order.0>"
    assert handles.show("a", "line", record=9) == "<order.4>"


def test_an_episode_has_no_more_handles_of_a_kind_than_there_are_tokens() -> None:
    handles = Handles()
    given = [handles.show(n, "amount", record=n) for n in range(PER_KIND + 3)]
    assert given == [*(f"<amount.{n}>" for n in range(PER_KIND)), None, None, None]
    assert handles.find(PER_KIND) is None
    assert handles.show("other", "order") == "<order.0>"


def test_a_number_and_the_text_that_spells_it_are_two_values() -> None:
    handles = Handles()
    assert handles.show(1042, "amount") != handles.show("1042", "order")


def test_a_handle_that_was_never_shown_stands_for_nothing() -> None:
    assert Handles().resolve(Mark("<order.0>")) is None


@pytest.mark.parametrize(
    ("piece", "expected"), [(Mark("<order.0>"), True), (Mark("<|end|>"), False), ("<order.0>", False)]
)
def test_only_marks_in_the_form_of_handles_are_handles(piece: str, *, expected: bool) -> None:
    assert is_handle(piece) is expected


def test_every_handle_of_a_kind_that_occurs_is_a_mark_to_learn() -> None:
    corpus: list[list[str]] = [["<ticket.0>", Mark("<|end|>"), Mark("<order.3>")], [Mark("<amount.0>")]]
    assert handle_marks(corpus) == [f"<{kind}.{number}>" for kind in ("amount", "order") for number in range(PER_KIND)]
    assert handle_marks([]) == []

"""Ids of any form are found in text, whole, and in every place that decides what an id is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palaestra.ids import ids_in, is_plain, is_readable, tokens, words, words_in

IDS = (
    "ORD-1042",
    "HR/2024-17",
    "ana.b+c@mail.example",
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    "https://desk.example/cases/17?v=2&lang=de#top",
    "urn:case:17",
    "a_b.c-9",
    "/srv/cases/17",
    "#417",
)
AROUND = (
    "{}",
    "Please close {}.",
    "Is it {}?",
    "({}), or another",
    '{{"id":"{}","n":5}}',
    "`{}`: see below",
    "“{}”!",
    "from <{}>;",
    "one, {}, two",
    "line\n{}\nline",
)


@pytest.mark.parametrize("key", IDS)
@pytest.mark.parametrize("around", AROUND)
def test_an_id_is_found_whole_whatever_stands_around_it(key: str, around: str) -> None:
    text = around.format(key)
    assert key in tokens(text)
    assert key in words(text)
    assert ids_in(text, {key}.__contains__) == [key]
    assert is_readable(key)


def test_the_longest_reading_that_is_an_id_counts() -> None:
    known = {"HR/2024-17", "2024-17", "HR"}
    assert ids_in("Close HR/2024-17, not 2024-17.", known.__contains__) == ["HR/2024-17", "2024-17"]
    assert ids_in("Close HR/2024-17.", {"2024-17"}.__contains__) == ["2024-17"]


def test_ids_come_once_and_in_the_order_in_which_they_stand() -> None:
    assert ids_in("B-2, A-1, B-2 and C-3", {"A-1", "B-2"}.__contains__) == ["B-2", "A-1"]


def test_an_id_behind_a_name_or_a_path_is_read_too() -> None:
    text = "order=ORD-1 at https://desk.example/orders/ORD-2 from mailto:ana@mail.example"
    assert {"ORD-1", "ORD-2", "ana@mail.example"} <= words(text)
    known = {"ORD-1", "ORD-2", "ana@mail.example"}
    assert ids_in(text, known.__contains__) == ["ORD-1", "ORD-2", "ana@mail.example"]


@pytest.mark.parametrize("key", ["two words", "a,b", '"x"', "HR-1.", "", "a(b)"])
def test_what_cannot_be_told_from_the_words_around_it_is_not_readable(key: str) -> None:
    assert not is_readable(key)


def test_a_plain_id_is_one_run_of_letters_digits_and_hyphens() -> None:
    assert [key for key in IDS if is_plain(key)] == ["ORD-1042", "3f2504e0-4f89-11d3-9a0c-0305e82c3301"]


def test_words_of_a_value_are_those_of_its_names_and_its_texts_however_deep() -> None:
    found = words_in({"case": [{"id": "HR/2024-17"}, "line\nORD-1"], "n": 5, "none": None})
    assert {"case", "id", "HR/2024-17", "ORD-1", "line", "n", "5"} <= found


@settings(derandomize=True)
@given(st.lists(st.sampled_from(IDS), max_size=5))
def test_every_id_of_a_text_is_found_and_none_besides(keys: list[str]) -> None:
    text = "Close " + " and ".join(keys) + ", please."
    assert ids_in(text, set(keys).__contains__) == list(dict.fromkeys(keys))

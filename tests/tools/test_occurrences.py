"""Known texts as whole words: against a regular expression of them, and at the edges of words."""

import re

from hypothesis import given
from hypothesis import strategies as st

from palaestra.tools.formats.occurrences import find_occurrences

words = st.text(alphabet="ab -.", min_size=1, max_size=4)


@given(st.text(alphabet="ab -.", max_size=30), st.sets(words, min_size=1, max_size=4))
def test_it_finds_what_a_pattern_of_the_texts_finds(text: str, known: set[str]) -> None:
    longest_first = sorted(known, key=lambda one: (-len(one), one))
    pattern = rf"(?<![\w.])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-])"
    expected = [(found.start(), found.group()) for found in re.finditer(pattern, text)]
    assert [(one.start, one.text) for one in find_occurrences(text, known, before=".", after="-")] == expected


def test_a_part_of_a_word_is_no_occurrence() -> None:
    assert find_occurrences("Umbra Rocks", ["Umbra Rock"]) == []

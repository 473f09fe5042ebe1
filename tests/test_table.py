"""A table of words, shown on a terminal and in Markdown."""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from palaestra.table import Table, tables_markdown


def table(*rows: tuple[str, ...], columns: tuple[str, ...] = ("family", "mean-score"), note: str = "") -> Table:
    return Table(title="Scores", columns=columns, rows=rows, note=note)


def printed(shown: Table) -> str:
    out = StringIO()
    Console(file=out, width=80).print(shown.for_terminal())
    return out.getvalue()


def test_markdown_has_a_heading_a_rule_and_a_line_a_row() -> None:
    assert table(("cancel-order", "100"), ("fix-build", "-7.5")).markdown() == (
        "| family | mean-score |\n| --- | ---: |\n| cancel-order | 100 |\n| fix-build | -7.5 |"
    )


@pytest.mark.parametrize("cell", ["1", "-3", "+3", "1.5", "1,000", "99.5 %", "100%"])
def test_a_column_of_figures_stands_to_the_right(cell: str) -> None:
    assert table(("a", cell)).markdown().splitlines()[1] == "| --- | ---: |"


@pytest.mark.parametrize("cell", ["yes", "1 of 2", "3 / 4", "v1", "-", ""])
def test_a_column_of_words_stands_to_the_left(cell: str) -> None:
    assert table(("a", cell)).markdown().splitlines()[1] == "| --- | --- |"


def test_an_empty_cell_does_not_make_figures_words() -> None:
    assert table(("a", "1"), ("b", "-"), ("c", "")).markdown().splitlines()[1] == "| --- | ---: |"


def test_a_bar_in_a_cell_is_escaped() -> None:
    assert "a\\|b" in table(("a|b", "1")).markdown()


def test_a_table_without_rows_has_its_columns() -> None:
    assert table().markdown() == "| family | mean-score |\n| --- | --- |"
    assert "family" in printed(table())


def test_the_terminal_shows_title_note_and_every_cell() -> None:
    out = printed(table(("cancel-order", "100"), note="Points of 100."))
    for word in ("Scores", "family", "mean score", "cancel-order", "100", "Points of 100."):
        assert word in out


@pytest.mark.parametrize("width", [24, 40, 80])
def test_a_narrow_terminal_cuts_no_cell_short(width: int) -> None:
    name, figure = "a-family-with-a-name-that-no-narrow-terminal-holds", "1,000/1,000"
    out = StringIO()
    Console(file=out, width=width).print(table((name, figure)).for_terminal())
    _, below = out.getvalue().split(" \u2500", 1)
    words = below.strip("\u2500 \n").split()
    assert "".join(word for word in words if word[0] not in "0123456789") == name
    assert "".join(word for word in words if word[0] in "0123456789") == figure


def test_tables_become_one_text_with_titles_and_notes_that_there_are() -> None:
    plain = table(("a", "1"))
    text = tables_markdown([replace(plain, title="First", note="A note."), replace(plain, title="Second", note="")])
    assert text == f"### First\n\n{plain.markdown()}\n\nA note.\n\n### Second\n\n{plain.markdown()}\n"

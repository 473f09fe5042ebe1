"""Figures of a text, and what they may follow from."""

import re
from datetime import date

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from palaestra.rubrics.messages.figures import SMALLEST, Figure, figures_in
from palaestra.rubrics.messages.sources import is_supported


def read(text: str) -> list[tuple[str, int | str]]:
    return [(figure.kind, figure.value) for figure in figures_in(text)]


@pytest.mark.parametrize(
    ("text", "cents"),
    [
        ("EUR 40.66", 4_066),
        ("40,66 €", 4_066),
        ("€40.6", 4_060),
        ("4066 cents", 4_066),
        ("4,066 cents", 4_066),
        ("EUR 1,234.50", 123_450),
        ("1.234,50 Euro", 123_450),
        ("1 euro", 100),
        ("EUR 5,000", 500_000),
        ("five thousand euros", 500_000),
        ("twenty-one cents", 21),
        ("three hundred and five euros", 30_500),
    ],
)
def test_amounts_are_read_as_people_write_them(text: str, cents: int) -> None:
    assert read(f"We owe you {text}.") == [("money", cents)]


@given(st.integers(min_value=1, max_value=10**8))
def test_every_amount_survives_its_usual_forms(cents: int) -> None:
    euros, rest = divmod(cents, 100)
    forms = (
        f"EUR {euros}.{rest:02}",
        f"{euros},{rest:02} €",
        f"{cents} cents",
        f"EUR {euros:,}.{rest:02}",
    )
    for form in forms:
        assert read(f"It is {form} now") == [("money", cents)], form


@pytest.mark.parametrize("text", ["2026-27", "2026-13-45", "31.02.2026", "45/45/2026", "30 February 2026"])
def test_what_is_written_as_a_date_and_is_none_is_a_false_figure(text: str) -> None:
    """A trained policy ended its replies in "due on 2026-27"."""
    assert read(f"It is due on {text}.") == [("date", text)]
    assert not is_supported(figures_in(text)[0], [ANSWER])


@pytest.mark.parametrize(("text", "day"), [("2026-5-2", "2026-05-02"), ("05/27/2026", "2026-05-27")])
def test_days_without_zeros_or_with_the_month_first_are_dates(text: str, day: str) -> None:
    assert read(f"It is due on {text}.") == [("date", day)]


@given(st.dates(min_value=date(1990, 1, 1), max_value=date(2099, 12, 31)))
def test_every_date_survives_its_usual_forms(day: date) -> None:
    forms = (
        day.isoformat(),
        f"{day:%d.%m.%Y}",
        f"{day.day} {day:%B} {day.year}",
        f"{day:%B} {day.day}, {day.year}",
    )
    for form in forms:
        assert read(f"by {form} at the latest") == [("date", day.isoformat())], form
    assert read(f"on {day.day} {day:%b}") == [("date", f"{day:%m-%d}")]


def test_other_kinds_are_told_apart() -> None:
    assert read("ORD-1042 comes within 14 days, 20 % off, for 37 people") == [
        ("id", "ORD-1042"),
        ("percent", "20"),
        ("span", "14"),
        ("number", "37"),
    ]


@pytest.mark.parametrize(
    "text", ["", "Both of you", "we send 2", "2 items and 12 more", "RTX4070", "mid-2000s style", "v1.2.3x"]
)
def test_what_claims_nothing_is_left_out(text: str) -> None:
    assert read(text) == []
    assert SMALLEST == 13


@given(st.text())
def test_any_text_can_be_read_and_a_figure_is_a_part_of_it(text: str) -> None:
    assert all(figure.text.strip() and re.search(r"\d", figure.text) for figure in figures_in(text))


def money(cents: int) -> Figure:
    return Figure(kind="money", value=cents, text="")


ANSWER = '{"amount_cents": 20330, "fee_cents": 1999, "placed": "2026-03-04T10:00:00", "order_id": "ORD-1042"}'


@pytest.mark.parametrize(
    ("figure", "supported"),
    [
        (money(20_330), True),
        (money(20_330 - 1_999), True),
        (money(20_330 + 1_999), True),
        (money(4_066), True),  # 20 %
        (money(20_330 - 4_066), True),
        (money(3 * 1_999), True),
        (money(20_331), False),
        (money(104_200), False),  # a part of an id
        (money(1_042), False),
        (money(202_600), False),  # a part of a date
        (Figure(kind="date", value="2026-03-04", text=""), True),
        (Figure(kind="date", value="03-04", text=""), True),
        (Figure(kind="date", value="2026-03-05", text=""), False),
        (Figure(kind="id", value="ORD-1042", text=""), True),
        (Figure(kind="id", value="ORD-104", text=""), False),
        (Figure(kind="percent", value="20", text=""), True),
        (Figure(kind="span", value="30", text=""), False),
        (Figure(kind="name", value="Lindenallee 11", text=""), True),
        (Figure(kind="name", value="Lindenallee 1", text=""), False),
        (Figure(kind="name", value="Only 2", text=""), True),
    ],
)
def test_a_figure_follows_from_what_was_read_or_from_simple_arithmetic(figure: Figure, supported: bool) -> None:
    assert is_supported(figure, [ANSWER, "A fee of 20 percent is kept. Send it to Lindenallee 11."]) is supported


@pytest.mark.parametrize("shown", ["04.03.2026", "04/03/2026", "4 Mar 2026"])
def test_a_day_follows_from_tools_that_write_days_in_another_way(shown: str) -> None:
    answer = f'{{"id":"LN-1001","due":"{shown}"}}'
    for value, supported in (("2026-03-04", True), ("03-04", True), ("2026-04-03", False), ("2025-03-04", False)):
        assert is_supported(Figure(kind="date", value=value, text=""), [answer]) is supported, value
    assert not is_supported(Figure(kind="date", value="2026-03-04", text=""), [f'{{"due":"1{shown}"}}'])


def test_amounts_and_ids_follow_from_tools_that_write_them_in_another_way() -> None:
    answer = '{"id":"LN1431","amount":"12.50","fee":"3.25"}'
    assert is_supported(money(1_250), [answer])
    assert is_supported(money(1_250 + 325), [answer])
    assert not is_supported(money(1_251), [answer])
    assert is_supported(Figure(kind="number", value="1431", text=""), [answer])
    assert not is_supported(Figure(kind="number", value="431", text=""), [answer])


@given(st.integers(min_value=100, max_value=10**6))
def test_an_amount_that_stands_anywhere_in_any_form_is_supported(cents: int) -> None:
    for form in (f"{cents} cents", f"EUR {cents // 100}.{cents % 100:02}", f'"x": {cents},'):
        assert is_supported(money(cents), [f"so {form}"]), form


@given(st.integers(min_value=100, max_value=10**7))
def test_an_amount_that_a_row_holds_is_supported_however_its_json_is_spaced(cents: int) -> None:
    for row in (f'{{"refund_due_cents":{cents},"id":1}}', f'{{"refund_due_cents": {cents}}}'):
        assert is_supported(money(cents), [row])
        assert not is_supported(Figure(kind="number", value="30", text="30"), ['{"at":"10:30"}', "at 10:30"])


@given(st.integers(min_value=100, max_value=10**7), st.integers(min_value=100, max_value=10**7))
def test_amounts_that_a_page_shows_add_up_as_those_of_an_answer_do(first: int, second: int) -> None:
    answer = [f'{{"amount_cents":{first}}}', f'{{"amount_cents":{second}}}']
    table = f"[row.RFD-1] link | amount_cents {first} | reason\n    damaged | amount_cents\n    {second} | status paid"
    dialog = f"  list_cents: {first}\n  paid_cents: {second}"
    record = " ".join(f"Paid: EUR {cents // 100:,}.{cents % 100:02} ({cents} cents)" for cents in (first, second))
    assume(first != second)
    for texts in (answer, [table], [dialog], [record]):
        for worked_out in (first + second, abs(first - second), 3 * second):
            assert is_supported(money(worked_out), texts), texts


def test_a_page_s_percentage_is_a_rate() -> None:
    assert is_supported(money(2_000), ["amount_cents 10000 | fee_percent 20 | reason other"])
    assert not is_supported(money(2_000), ["amount_cents 10000 | fee_percent 21 | reason other"])


def test_thousands_are_no_decimals() -> None:
    """EUR 4,554.00 is not EUR 4.55 as well."""
    assert not is_supported(money(2 * 455), ["EUR 4,554.00"])
    assert is_supported(money(2 * 455_400), ["EUR 4,554.00"])

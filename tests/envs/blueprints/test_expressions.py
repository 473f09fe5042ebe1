"""The expression language: held against Python on the same rows, typed when it is read, and closed."""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palaestra.envs.blueprints.expressions import (
    DATE,
    FLAG,
    INTEGER,
    MONEY,
    EvaluationTrace,
    ValueType,
    parse_expression,
)
from palaestra.envs.blueprints.expressions.parsing import MAX_LENGTH
from palaestra.envs.kit import percent_half_up
from palaestra.errors import ExpressionError
from worlds.tool_library import compiled, frame, scope, state

# Expressions of integers over one loan, and of conditions over them. Python reads the same text.
_leaves = st.sampled_from(
    ["loan.extensions", "rules.most_extensions", "rules.extension_days", "(loan.due - loan.started)", "3", "0"]
)
_numbers = st.recursive(
    _leaves,
    lambda inner: (
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner)
        | st.builds("min({}, {})".format, inner, inner)
        | st.builds("({} if {} > {} else {})".format, inner, inner, inner, inner)
    ),
    max_leaves=6,
)
_conditions = st.recursive(
    st.builds("({} {} {})".format, _numbers, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), _numbers)
    | st.just('(loan.status == "active")')
    | st.just('(loan.status in ["returned"])')
    | st.just('((4 if loan.tool.title in ["Saw", "Drill"] else 1) > loan.extensions)')
    | st.just('any(h.status == "waiting" for h in loan.tool.holds)')
    | st.just("(sum(x.extensions for x in loan.member.loans if x != loan) > 2)"),
    lambda inner: (
        st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner)
        | st.builds("(not {})".format, inner)
    ),
    max_leaves=4,
)


@cache
def _objects(key: str) -> dict[str, Any]:
    """The same rows as plain objects that Python's own evaluation reads."""
    kinds, rows = compiled().kinds, state()

    def view(entity: str, row: Any) -> SimpleNamespace:
        values = {name: getattr(row, name) for name in row.__dataclass_fields__}
        return SimpleNamespace(**values, entity=entity)

    loans = [view("loan", row) for row in rows.find(kinds["loan"])]
    holds = [view("hold", row) for row in rows.find(kinds["hold"])]
    for loan in loans:
        tool: Any = rows.get(kinds["tool"], loan.tool_id)
        loan.tool = SimpleNamespace(title=tool.title, holds=[h for h in holds if h.tool_id == loan.tool_id])
        loan.member = SimpleNamespace(loans=[x for x in loans if x.member_id == loan.member_id])
        loan.due, loan.started = _Day(loan.due), _Day(loan.started)
    made = frame(rows, key)
    return {"loan": next(one for one in loans if one.id == key), "rules": made.rules, "today": made.today}


class _Day:
    """A date whose differences are whole days."""

    def __init__(self, day: Any) -> None:
        self.day = day

    def __sub__(self, other: "_Day") -> int:
        return int((self.day - other.day).days)


@settings(max_examples=300, deadline=None)
@given(text=_numbers | _conditions, place=st.integers(0, 40))
def test_an_expression_has_the_value_that_python_gives(text: str, place: int) -> None:
    if len(text) > MAX_LENGTH:
        return
    rows = state()
    keys = [row.id for row in rows.find(compiled().kinds["loan"])]
    key = keys[place % len(keys)]
    found = parse_expression(text, scope()).evaluate(frame(rows, key))
    builtins = {"min": min, "any": any, "sum": sum}
    assert found == eval(text, {"__builtins__": builtins, **_objects(key)})  # noqa: S307  our own text


@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=80) | st.text(alphabet="loan.duestrf=<>()[]+-*\"' ", max_size=60))
def test_any_text_is_an_expression_or_refused(text: str) -> None:
    with suppress(ExpressionError):
        assert parse_expression(text, scope()).text == text


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("loan.due + 3", DATE),
        ("today - loan.due", INTEGER),
        ("loan.tool.daily_fee * 3", MONEY),
        ("share(loan.tool.daily_fee, rules.damage_percent)", MONEY),
        ("loan.tool.daily_fee - 100", MONEY),
        ("max(loan.tool.daily_fee, 100)", MONEY),
        ("loan.due < today and not loan.extensions > 2", FLAG),
        ("count(h for h in loan.tool.holds)", INTEGER),
        ("sum(m.balance for m in members)", MONEY),
        ("loan.due if loan.extensions > 1 else None", replace(DATE, optional=True)),
        ("None if loan.extensions > 1 else loan.due", replace(DATE, optional=True)),
        ('loan.tool.title == "Saw"', FLAG),
        ('300 if loan.tool.title in ["Saw", "Drill"] else 900', INTEGER),
        ('"worn" if loan.extensions > 1 else "good"', ValueType("choice", options=("worn", "good"))),
    ],
)
def test_types_follow_from_the_fields(text: str, kind: object) -> None:
    assert parse_expression(text, scope()).type == kind


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("loan.due * 2", "has no meaning"),
        ("loan.due + loan.due", "has no meaning"),
        ("loan.tool.daily_fee + loan.extensions", "has no meaning"),
        ("loan.extensions + today", "has no meaning"),
        ("loan.status < 3", "has no order"),
        ('loan.status == "lost"', "is compared with"),
        ("loan.due == None", "is compared with"),
        ("loan.due is None", "is never missing"),
        ("loan == loan.tool", "is compared with"),
        ("loan.extensions and True", "take conditions"),
        ("1 < loan.extensions < 3", "compares several times"),
        ("loan.extensions if loan.extensions else 2", "stands a condition"),
        ("loan.due if loan.extensions > 1 else 2", "give both one type"),
        ("first(x for x in loans).due - today", "that may be missing"),
        ("loans", "are rows"),
        ("rules", "is no value"),
        ("loan.tool.holds", "are rows"),
        ("any(h.status for h in loan.tool.holds)", "it takes a condition"),
        ("any(True for loan in loans)", "is taken"),
        ("any(True for x in loans for y in loans)", "under one name"),
        ("any([True])", "goes through rows"),
        ("share(1, 2)", "it takes an amount"),
        ("share(loan.tool.daily_fee, percent=2)", "none takes arguments by name"),
        ("loan.extensions in (x for x in loans)", "takes a list"),
        ("loan['due']", "is not part of the language"),
        ("[1, 2]", "is not part of the language"),
        ("f'{loan}'", "is not part of the language"),
        ("1.5", "is no literal"),
        ("b'x' == b'x'", "is no literal"),
        ("loan.extensions / 2", "has no meaning"),
        ("loan.extensions ** 9", "has no meaning"),
        ("(x := 3)", "is not part of the language"),
        ("loan.__init__", "unknown field"),
        ("().__class__.__bases__[0]", "is not part of the language"),
    ],
)
def test_what_has_no_type_is_refused(text: str, said: str) -> None:
    with pytest.raises(ExpressionError, match=said.replace("(", r"\(")):
        parse_expression(text, scope())


def test_a_comparison_with_a_missing_row_is_false() -> None:
    rows = state()
    key = rows.find(compiled().kinds["loan"])[0].id
    missing = "first(x for x in loans if x.extensions > 99)"
    for sign in ("<", "<=", ">", ">=", "=="):
        assert not parse_expression(f"{missing}.due {sign} today", scope()).evaluate(frame(rows, key))
    assert parse_expression(f"{missing}.due != today", scope()).evaluate(frame(rows, key))
    assert parse_expression(f"{missing} is None", scope()).evaluate(frame(rows, key))


def test_a_trace_names_what_was_read_and_no_more() -> None:
    rows, trace = state(), EvaluationTrace()
    loan: Any = rows.find(compiled().kinds["loan"])[0]
    text = "loan.extensions > 99 and loan.tool.daily_fee > 0"
    parse_expression(text, scope()).evaluate(frame(rows, loan.id, trace=trace))
    assert trace.cells == {("loan", loan.id): {"extensions": None}}  # the right side was not needed


def test_a_trace_of_a_relation_reads_every_row_of_it() -> None:
    rows, trace = state(), EvaluationTrace()
    loan: Any = rows.find(compiled().kinds["loan"])[0]
    text = 'any(h.status == "waiting" for h in loan.tool.holds)'
    parse_expression(text, scope()).evaluate(frame(rows, loan.id, trace=trace))
    holds = [row.id for row in rows.find(compiled().kinds["hold"], tool_id=loan.tool_id)]
    assert {key for entity, key in trace.cells if entity == "hold"} == set(holds)


def test_calculations_are_noted_in_the_order_in_which_they_are_made() -> None:
    rows, trace = state(), EvaluationTrace()
    loan: Any = rows.find(compiled().kinds["loan"])[0]
    tool: Any = rows.get(compiled().kinds["tool"], loan.tool_id)
    fee = tool.daily_fee
    text = "loan.tool.daily_fee - share(loan.tool.daily_fee, rules.damage_percent)"
    found = parse_expression(text, scope()).evaluate(frame(rows, loan.id, trace=trace))
    part = percent_half_up(fee, 30)
    assert found == fee - part
    assert [(one.operation, one.values) for one in trace.calculations] == [
        ("percent", (fee, 30)),
        ("difference", (fee, part)),
    ]


def test_a_date_moves_by_days() -> None:
    rows = state()
    loan: Any = rows.find(compiled().kinds["loan"])[0]
    assert parse_expression("loan.due + 3", scope()).evaluate(frame(rows, loan.id)) == loan.due + timedelta(3)

"""The steps of an expression: counted by hand for small ones, and never fewer than an evaluation takes."""

import ast
from typing import Any

import pytest

from palaestra.envs.blueprints.expressions import parse_expression
from palaestra.envs.blueprints.expressions.evaluation_steps import count_steps
from worlds.tool_library import frame, scope, state

# 24 members with up to 3 loans each; 30 tools with up to 2 holds each, which are dealt to the members: four times
# the average of 60 / 24, rounded up. A relation counts as the largest of its name.
LOANS, HOLDS = 72, max(2, 4 * 3)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("today", 1),
        ("loan.due", 2),
        ("loan.due + 3", 4),
        # The call, its name, the table, and for each loan the row itself and its condition in four parts.
        ("any(x.extensions > 1 for x in loans)", 1 + 1 + 1 + LOANS * (1 + 4)),
        # The same, with `loan.tool.holds` in three parts.
        ('any(h.status == "waiting" for h in loan.tool.holds)', 1 + 1 + 3 + HOLDS * (1 + 4)),
    ],
)
def test_steps_are_those_counted_by_hand(text: str, steps: int) -> None:
    assert parse_expression(text, scope()).steps == steps


def test_a_definition_counts_where_it_is_used() -> None:
    defined = parse_expression("any(x.extensions > 1 for x in loans)", scope())
    named = scope().define("many", defined)
    assert parse_expression("many and many", named).steps == 1 + 2 * defined.steps


def test_an_evaluation_goes_through_no_more_rows_than_were_counted() -> None:
    text = "any(any(y == x for y in x.member.loans) for x in loans)"
    rows, gone = state(), 0
    made = frame(rows, "LN-1001")
    find = made.state.find

    class Counted:
        """The rows, counted as they are found."""

        get = made.state.get

        def find(self, kind: Any, **equal: Any) -> Any:
            nonlocal gone
            found = find(kind, **equal)
            gone += len(found)
            return found

    counted: Any = Counted()
    made.state = counted
    parse_expression(text, scope()).evaluate(made)
    assert 0 < gone <= count_steps(ast.parse(text, mode="eval").body, scope())

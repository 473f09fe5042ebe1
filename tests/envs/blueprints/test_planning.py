"""Plans of look-ups: a set of rows is listed once, also where its rows are known or there are none."""

from typing import Any

from palaestra.clock import Clock
from palaestra.envs.blueprints.expressions import EvaluationTrace, parse_expression
from palaestra.envs.blueprints.planning import Planner
from palaestra.envs.state import Overlay
from palaestra.envs.task import call
from palaestra.tools import ToolContext
from worlds.tool_library import SEED, compiled, frame, scope, state

LOAN = "LN-1001"
RETURNED = "any(x.status == 'returned' for x in loan.member.loans)"
WAITING = "any(h.status == 'waiting' for h in loan.tool.holds)"


def test_a_set_is_listed_also_where_every_row_of_it_is_known() -> None:
    rows = state()
    planner = _planner(rows)
    for other in rows.find(compiled().kinds["loan"], member_id=_loan(rows).member_id):
        planner.make(call("get_loan", loan_id=other.id))
    assert _planned(planner, rows, RETURNED) == ["get_loans"]


def test_a_set_is_listed_once() -> None:
    rows = state()
    planner = _planner(rows)
    assert _planned(planner, rows, RETURNED) == ["get_loan", "get_loans"]
    assert _planned(planner, rows, RETURNED) == []


def test_a_set_without_rows_is_listed_once() -> None:
    rows = state()
    for hold in rows.find(compiled().kinds["hold"], tool_id=_loan(rows).tool_id):
        rows.delete(hold)
    planner = _planner(rows)
    assert _planned(planner, rows, WAITING) == ["get_loan", "get_holds"]
    assert _planned(planner, rows, WAITING) == []


def _loan(rows: Overlay) -> Any:
    return rows.get(compiled().kinds["loan"], LOAN)


def _planner(rows: Overlay) -> Planner:
    world = compiled().world
    context = ToolContext(
        state=rows,
        clock=Clock(world.start(SEED)),
        role=world.role,
        actor=world.actor,
        ids_in=world.schema.ids_in,
        rules=compiled().rules.own,
    )
    return Planner(world.toolbox, compiled().kinds, state=rows, context=context, known={LOAN})


def _planned(planner: Planner, rows: Overlay, condition: str) -> list[str]:
    """The tools by which a condition about the loan is looked up."""
    trace = EvaluationTrace()
    parse_expression(condition, scope()).evaluate(frame(rows, LOAN, trace=trace))
    return [made.tool for made in planner.look_up(trace)]

"""Which fields an answer of the generic surface shows, and that right work may ask for columns by name."""

from typing import Any

import gymnasium as gym
import pytest

from palaestra.envs import ToolEnv
from palaestra.envs.state import Overlay
from palaestra.envs.worlds.storefront.schema import Customer
from palaestra.proof.routes import routes
from palaestra.proof.trial import Trial
from palaestra.records import ToolEvent
from worlds.library import LIBRARY, SCHEMA, Book, Loan, populate
from worlds.play import Play


@pytest.fixture
def play() -> Play:
    return Play(SCHEMA, LIBRARY.surface("generic").toolbox, Overlay(populate(1)))


def shown_columns(play: Play, tool: str, **arguments: Any) -> dict[tuple[str, str], set[str]]:
    """By row: the columns of it that a call shows in part."""
    answer = play.call(tool, arguments)
    assert "error" not in answer, answer
    event: ToolEvent = play.events[-1]
    found: dict[tuple[str, str], set[str]] = {}
    for part in event.columns:
        for key in part.keys:
            found.setdefault((part.table, key), set()).update(part.columns)
    return found


def test_a_query_shows_its_columns_and_those_that_its_conditions_fix(play: Play) -> None:
    loan = play.state.find(Loan)[0]
    where = {"member_id": loan.member_id, "returned": loan.returned, "due >=": "2000-01-01"}
    found = shown_columns(play, "query", table="loans", where=where, columns=["due"])
    assert found[("loans", loan.id)] == {"due", "member_id", "returned"}
    assert not play.events[-1].shown
    assert shown_columns(play, "query", table="loans", where={"id": loan.id}) == {}
    assert play.events[-1].shown == (("loans", loan.id),)


def test_a_measure_of_one_row_shows_its_column(play: Play) -> None:
    book = play.state.find(Book)[0]
    for measure in ("min", "max", "sum"):
        found = shown_columns(play, "aggregate", table="books", measure=measure, column="copies", where={"id": book.id})
        assert found == {("books", book.id): {"copies"}}
    every = shown_columns(play, "aggregate", table="books", measure="sum", column="copies")
    assert every == {}, "a sum of many rows settles none of them"


def test_an_extreme_shows_the_rows_that_have_it(play: Play) -> None:
    books = play.state.find(Book)
    most = max(book.copies for book in books)
    found = shown_columns(play, "aggregate", table="books", measure="max", column="copies")
    assert found == {("books", book.id): {"copies"} for book in books if book.copies == most}


def test_a_count_shows_a_column_only_where_the_other_conditions_leave_one_row(play: Play) -> None:
    first, second = (loan for loan in play.state.find(Loan)[:2])
    pinned = {"id": first.id, "returned": first.returned}
    assert (
        "returned"
        in shown_columns(play, "aggregate", table="loans", measure="count", where=pinned)[("loans", first.id)]
    )
    other = {"id": first.id, "returned": not first.returned}
    assert shown_columns(play, "aggregate", table="loans", measure="count", where=other) == {
        ("loans", first.id): {"returned"}
    }
    either = {"id in": [first.id, second.id], "returned": True}
    assert shown_columns(play, "aggregate", table="loans", measure="count", where=either) == {}
    wrong = {"id": first.id, "fine_cents": first.fine_cents + 1}
    assert shown_columns(play, "aggregate", table="loans", measure="count", where=wrong) == {}, (
        "not that value, but which?"
    )


def test_groups_by_id_show_each_row(play: Play) -> None:
    found = shown_columns(play, "aggregate", table="books", measure="max", column="copies", group_by="id")
    assert found == {("books", book.id): {"id", "copies"} for book in play.state.find(Book)}


FAMILIES = (
    "absent-approver", "bundle-return", "cancel-order", "cancel-order-twin", "decline-late-return", "fix-build",
    "late-parcels", "least-approver", "lost-parcel-twin", "recall", "short-refund-twin", "talk-which-order",
    "warranty-claim",
)  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_right_work_that_names_its_columns_gets_every_point(family: str) -> None:
    env = gym.make("palaestra/Storefront-v0", surface="generic").unwrapped
    assert isinstance(env, ToolEnv)
    trial = Trial(env, next(t for t in env.task_set.ids("heldout") if t.startswith(f"storefront/{family}/")))
    tried = [route for route in routes(trial) if route.kind == "named columns"]
    assert len(tried) == 2
    for route in tried:
        outcome = trial.vary(route.turns)
        assert (outcome.score.points, outcome.passed) == (100, True), route.what


def test_a_column_that_a_query_showed_of_a_stranger_is_not_told_and_one_that_it_did_not_show_is_not_known() -> None:
    env = gym.make("palaestra/Storefront-v0", surface="generic").unwrapped
    assert isinstance(env, ToolEnv)
    env.reset(seed=0, options={"task": "storefront/refund-damaged-item/0000"})
    mine = {str(c.arguments["customer_id"]) for c in env.instance.oracle if c.tool == "get_customer"}
    stranger = next(c for c in env.state.find(Customer)[:10] if c.id not in mine)
    env.step({"tool": "query", "arguments": {"table": "customers", "columns": ["email"]}})
    env.step({"tool": "reply", "arguments": {"message": f"Their street is {stranger.street}."}})
    assert "disclosure" not in env.counting
    env.step({"tool": "reply", "arguments": {"message": f"Write to {stranger.email}."}})
    assert "disclosure" in env.counting

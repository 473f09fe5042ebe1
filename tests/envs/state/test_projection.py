from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from palaestra.envs.state import Base, Overlay, Schema, SqlProjection
from palaestra.errors import RowMissingError
from palaestra.records import Row, Searchable
from worlds.library import SCHEMA, Book, Loan, Member

KINDS: tuple[type[Row], ...] = (Member, Book, Loan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked(Row):
    """Its columns have names that SQL and FTS5 would like for themselves."""

    table: ClassVar[str] = "ranked"
    prefix: ClassVar[str] = "R-"
    rank: Annotated[str, Searchable()]
    order: tuple[str, ...] | None


def test_a_projection_has_the_rows_of_its_overlay(overlay: Overlay) -> None:
    projection = SqlProjection(overlay)
    for kind in KINDS:
        assert projection.find(kind) == overlay.find(kind)


def test_a_projection_of_an_overlay_under_way_catches_up_at_once(overlay: Overlay) -> None:
    overlay.update(overlay.get(Book, "BK-1"), copies=42)
    assert SqlProjection(overlay).get(Book, "BK-1").copies == 42


def test_syncing_follows_writes_rollbacks_and_forks(overlay: Overlay) -> None:
    projection = SqlProjection(overlay)
    overlay.delete(overlay.get(Book, "BK-1"))
    projection.sync(overlay)
    assert projection.peek(Book, "BK-1") is None
    fork = overlay.fork()
    fork.rollback(0)
    fork.update(fork.get(Book, "BK-2"), title="Elsewhere")
    projection.sync(fork)
    assert projection.find(Book) == fork.find(Book)
    assert [b.id for b in projection.search(Book, "elsewhere")] == ["BK-2"]
    projection.sync(overlay)
    assert projection.find(Book) == overlay.find(Book)


def test_a_missing_row_is_none_to_peek_and_an_error_to_get(overlay: Overlay) -> None:
    projection = SqlProjection(overlay)
    assert projection.peek(Book, "BK-404") is None
    with pytest.raises(RowMissingError, match="there is no book 'BK-404'"):
        projection.get(Book, "BK-404")


@pytest.mark.parametrize("column", ["blurb", "tags", "copies", "title"])
def test_find_agrees_with_the_overlay_on_every_value_of_a_column(overlay: Overlay, column: str) -> None:
    projection = SqlProjection(overlay)
    for value in {getattr(book, column) for book in overlay.find(Book)}:
        equal: dict[str, Any] = {column: value}
        assert projection.find(Book, **equal) == overlay.find(Book, **equal)


@pytest.mark.parametrize("text", ["engine", "CAFE", "café", "the rain", "", "…", "nothing", "2", "number rivers"])
def test_search_agrees_with_the_overlay(overlay: Overlay, text: str) -> None:
    assert SqlProjection(overlay).search(Book, text) == overlay.search(Book, text)


@pytest.mark.parametrize("title", ["Straße", "Acme™", "ΟΔΟΣ", "x²", "ﬁne", "o'clock", "a_b", "Ørsted", "ไทย", "名前"])
def test_search_folds_as_the_overlay_folds(overlay: Overlay, title: str) -> None:
    overlay.insert(Book(id="BK-77", title=title, blurb=None, tags=(), copies=0))
    projection = SqlProjection(overlay)
    for text in (title, title.lower(), title.upper(), "strasse", "x2", "tm", "orsted", "σας", "fine", "a b"):
        assert projection.search(Book, text) == overlay.search(Book, text)


def test_a_query_is_a_select_with_parameters(overlay: Overlay) -> None:
    projection = SqlProjection(overlay)
    counted = projection.query("SELECT count(*) AS n FROM loans WHERE member_id = :who", who="MEM-1")
    assert counted == [{"n": len(overlay.find(Loan, member_id="MEM-1"))}]
    table = SCHEMA.sql_table("books")
    titles = projection.query(sa.select(table.c.title).where(table.c.id == "BK-1"))
    assert titles == [{"title": "River Maps"}]


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM books", "UPDATE books SET copies = 0", "DROP TABLE loans", "INSERT INTO books (id) VALUES ('x')"],
)
def test_a_query_cannot_write(overlay: Overlay, statement: str) -> None:
    projection = SqlProjection(overlay)
    with pytest.raises(SQLAlchemyError):
        projection.query(statement)
    assert projection.find(Book) == overlay.find(Book)


def test_names_that_sql_reserves_and_absent_lists_are_fine() -> None:
    rows = [Ranked(id="R-1", rank="First of all", order=None), Ranked(id="R-2", rank="Last", order=("a", "b"))]
    overlay = Overlay(Base(Schema(Ranked), rows))
    projection = SqlProjection(overlay)
    assert projection.find(Ranked) == rows
    assert projection.find(Ranked, order=None) == rows[:1] == overlay.find(Ranked, order=None)
    assert projection.search(Ranked, "first") == rows[:1]

from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, ClassVar, Literal

import pytest
import sqlalchemy as sa

from palaestra.envs.state import Base, Schema
from palaestra.envs.state.schema import number_of
from palaestra.errors import DefinitionError, RowError, UnknownNameError
from palaestra.records import ANY_TABLE, References, Row, Searchable
from worlds.library import SCHEMA, Book, Loan, Member


@dataclass(frozen=True, slots=True, kw_only=True)
class Note(Row):
    table: ClassVar[str] = "notes"
    prefix: ClassVar[str] = "N-"
    about: Annotated[str, References("notes")] | None
    text: Annotated[str | None, Searchable()]
    proof: Annotated[str, References(ANY_TABLE)] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Twin(Row):
    table: ClassVar[str] = "notes"
    prefix: ClassVar[str] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imaginary(Row):
    table: ClassVar[str] = "imaginary"
    prefix: ClassVar[str] = ""
    price: complex


@dataclass(frozen=True, slots=True, kw_only=True)
class Either(Row):
    table: ClassVar[str] = "either"
    prefix: ClassVar[str] = ""
    value: int | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dangling(Row):
    table: ClassVar[str] = "dangling"
    prefix: ClassVar[str] = ""
    other: Annotated[str, References("elsewhere")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers(Row):
    table: ClassVar[str] = "numbers"
    prefix: ClassVar[str] = ""
    kind: Literal[1, 2]


def test_an_id_of_any_table_is_no_foreign_key_and_is_not_known_by_seeing_the_row() -> None:
    schema = Schema(Note)
    info = schema["notes"]
    assert (info.references, info.identifiers) == (("about",), ("proof",))
    assert not schema.sql_table("notes").columns["proof"].foreign_keys
    assert SCHEMA["loans"].identifiers == ()


def test_a_column_is_what_its_annotation_says() -> None:
    columns = SCHEMA["loans"].columns
    assert (columns["book_id"].type, columns["book_id"].references) == (str, "books")
    assert columns["lent_at"].type is datetime
    assert columns["due"].type is date
    assert columns["returned"].type is bool
    assert columns["fine_cents"].type is int
    assert SCHEMA["members"].columns["tier"].choices == ("basic", "premium")
    assert SCHEMA["books"].columns["tags"].type is tuple


@pytest.mark.parametrize("column", ["about", "text"])
def test_a_column_may_be_nullable_inside_or_outside_of_its_marks(column: str) -> None:
    assert Schema(Note)["notes"].columns[column].nullable


def test_marks_make_references_and_searchable_columns() -> None:
    notes = Schema(Note)["notes"]
    assert notes.references == ("about",)
    assert notes.searchable == ("text",)


def test_the_sql_table_has_the_columns_keys_and_foreign_keys() -> None:
    loans = SCHEMA.sql_table("loans")
    assert [c.name for c in loans.primary_key] == ["id"]
    assert {f.target_fullname for f in loans.foreign_keys} == {"books.id", "members.id"}
    assert isinstance(loans.c.due.type, sa.Date)
    assert not loans.c.due.nullable
    assert SCHEMA.sql_table("books").c.blurb.nullable


def test_whoever_sees_a_row_knows_its_id_and_those_it_holds() -> None:
    member = Member(id="MEM-1", name="A", tier="basic", blocked=False, sponsor_id=None)
    assert list(SCHEMA.ids_in(member)) == ["MEM-1"]
    loan = Loan(
        id="LN-1", book_id="BK-1", member_id="MEM-1", lent_at=datetime(2031, 1, 1), due=date(2031, 2, 1),
        returned=False, fine_cents=0,
    )  # fmt: skip
    assert sorted(SCHEMA.ids_in(loan)) == ["BK-1", "LN-1", "MEM-1"]


@pytest.mark.parametrize(
    ("kinds", "says"),
    [
        ([Note, Twin], "share the table name 'notes'"),
        ([Imaginary], "is no column type"),
        ([Numbers], "is no column type"),
        ([Either], "a column has one type"),
        ([Dangling], "which the schema lacks; it has dangling"),
    ],
)
def test_a_class_that_cannot_be_a_table_is_refused(kinds: list[type[Row]], says: str) -> None:
    with pytest.raises(DefinitionError, match=says):
        Schema(*kinds)


def test_an_unknown_table_is_answered_with_near_ones() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'loans'"):
        SCHEMA["loan"]


@pytest.mark.parametrize(("key", "number"), [("BK-12", 12), ("A7-3", 3), ("none", 0), ("4X", 0), ("", 0)])
def test_the_number_of_an_id_is_what_it_ends_in(key: str, number: int) -> None:
    assert number_of(key) == number


def book(key: str) -> Book:
    return Book(id=key, title="T", blurb=None, tags=(), copies=1)


def test_a_base_refuses_two_rows_of_one_id() -> None:
    with pytest.raises(RowError, match="two rows of books have the id 'BK-1'"):
        Base(SCHEMA, [book("BK-1"), book("BK-1")])


def test_a_base_refuses_a_reference_to_nothing() -> None:
    stray = Member(id="MEM-1", name="A", tier="basic", blocked=False, sponsor_id="MEM-9")
    with pytest.raises(RowError, match="sponsor_id is 'MEM-9', but members has no such row"):
        Base(SCHEMA, [stray])


def test_a_base_hashes_alike_in_any_order_of_rows() -> None:
    rows = [book("BK-1"), book("BK-2")]
    assert Base(SCHEMA, rows).state_hash() == Base(SCHEMA, reversed(rows)).state_hash()
    assert len(Base(SCHEMA, rows)) == 2

import pickle
from dataclasses import replace

import pytest

from palaestra.envs.state import Base, Overlay
from palaestra.errors import DefinitionError, RowError, RowMissingError
from palaestra.records import RowChange
from worlds.library import Book, Loan, Member


def new_book(key: str = "BK-99", title: str = "New") -> Book:
    return Book(id=key, title=title, blurb=None, tags=(), copies=1)


def test_what_is_not_written_reads_as_the_base(base: Base, overlay: Overlay) -> None:
    assert overlay.find(Book) == list(base.listings["books"])
    assert overlay.get(Book, "BK-1") is base.rows["books"]["BK-1"]
    assert overlay.journal == []
    assert list(overlay.changes()) == []


def test_a_missing_row_is_none_to_peek_and_an_error_to_get(overlay: Overlay) -> None:
    assert overlay.peek(Book, "BK-404") is None
    with pytest.raises(RowMissingError, match="there is no book 'BK-404'"):
        overlay.get(Book, "BK-404")


def test_find_asks_for_all_of_its_values_and_orders_by_key(overlay: Overlay) -> None:
    overlay.insert(new_book("BK-0", title="River Maps"))
    assert [b.id for b in overlay.find(Book, title="River Maps")] == ["BK-0", "BK-1"]
    assert [b.id for b in overlay.find(Book, title="River Maps", copies=1, blurb=None)] == ["BK-0"]
    assert overlay.find(Book, title="Nothing") == []


def test_find_by_a_column_that_is_not_there_says_which_are(overlay: Overlay) -> None:
    with pytest.raises(DefinitionError, match="books has no column 'colour'; it has id, title"):
        overlay.find(Book, colour="red")


def test_a_list_that_find_gave_belongs_to_the_caller(overlay: Overlay) -> None:
    overlay.find(Book).clear()
    assert overlay.find(Book)


@pytest.mark.parametrize("text", ["engine", "ENGINE", "quiet Engine", "  engine!  "])
def test_search_takes_whole_words_without_case_or_punctuation(overlay: Overlay, text: str) -> None:
    assert "BK-3" in [b.id for b in overlay.search(Book, text)]


@pytest.mark.parametrize("text", ["", " ", "…", "engin"])
def test_search_finds_nothing_for_no_word_or_half_a_word(overlay: Overlay, text: str) -> None:
    assert overlay.search(Book, text) == []


@pytest.mark.parametrize(("text", "key"), [("cafe", "BK-2"), ("CAFÉ", "BK-2"), ("café society", "BK-2")])
def test_search_ignores_accents(overlay: Overlay, text: str, key: str) -> None:
    assert [b.id for b in overlay.search(Book, text)] == [key]


@pytest.mark.parametrize(("said", "asked"), [("Straße", "strasse"), ("Acme™", "acmetm"), ("ΟΔΟΣ", "οδος")])
def test_search_folds_what_unicode_folds(overlay: Overlay, said: str, asked: str) -> None:
    overlay.insert(new_book(title=said))
    assert [b.id for b in overlay.search(Book, asked)] == ["BK-99"]


def test_search_follows_what_was_written(overlay: Overlay) -> None:
    overlay.update(overlay.get(Book, "BK-3"), title="The Loud Motor", blurb=None)
    overlay.insert(new_book(title="Engine"))
    overlay.delete(overlay.get(Book, "BK-8"))
    assert [b.id for b in overlay.search(Book, "engine")] == ["BK-99"]


def test_only_tables_with_searchable_columns_can_be_searched(overlay: Overlay) -> None:
    with pytest.raises(DefinitionError, match="loans has no Searchable column"):
        overlay.search(Loan, "x")


def test_a_write_is_one_journal_entry_and_a_change_of_nothing_is_none(overlay: Overlay) -> None:
    book = overlay.get(Book, "BK-1")
    assert overlay.update(book, copies=book.copies) == book
    assert overlay.journal == []
    new = overlay.update(book, copies=9)
    assert overlay.journal == [RowChange(table="books", key="BK-1", before=book, after=new)]
    overlay.delete(new)
    assert overlay.peek(Book, "BK-1") is None
    assert len(overlay.journal) == 2


def test_insert_refuses_a_key_that_is_taken_but_takes_one_that_was_freed(overlay: Overlay) -> None:
    with pytest.raises(RowError, match="'BK-1' already; ask next_id"):
        overlay.insert(new_book("BK-1"))
    overlay.delete(overlay.get(Book, "BK-1"))
    overlay.insert(new_book("BK-1"))
    assert overlay.get(Book, "BK-1").title == "New"


def test_a_stale_row_can_be_neither_updated_nor_deleted(overlay: Overlay) -> None:
    stale = overlay.get(Book, "BK-1")
    overlay.update(stale, copies=7)
    with pytest.raises(RowError, match="read it again"):
        overlay.update(stale, copies=8)
    with pytest.raises(RowError, match="read it again"):
        overlay.delete(stale)


def test_an_equal_row_is_as_good_as_the_one_that_stands(overlay: Overlay) -> None:
    overlay.delete(replace(overlay.get(Book, "BK-1")))
    assert overlay.peek(Book, "BK-1") is None


def test_an_update_cannot_change_the_id(overlay: Overlay) -> None:
    with pytest.raises(RowError, match="keeps its id"):
        overlay.update(overlay.get(Book, "BK-1"), id="BK-2")


def test_next_id_counts_on_from_the_base_and_never_gives_an_id_twice(overlay: Overlay) -> None:
    first = overlay.insert(replace(overlay.get(Loan, "LN-1"), id=overlay.next_id(Loan)))
    assert first.id == "LN-17"
    overlay.delete(first)
    assert overlay.next_id(Loan) == "LN-18"


def test_next_id_counts_on_from_what_was_planted(overlay: Overlay) -> None:
    overlay.insert(replace(overlay.get(Loan, "LN-1"), id="LN-40"))
    assert overlay.settle().next_id(Loan) == "LN-41"


def test_rolling_back_undoes_the_latest_writes(overlay: Overlay) -> None:
    hashes = [overlay.state_hash()]
    overlay.update(overlay.get(Book, "BK-1"), copies=7)
    hashes.append(overlay.state_hash())
    overlay.insert(new_book())
    overlay.rollback(1)
    assert overlay.state_hash() == hashes[1]
    assert overlay.peek(Book, "BK-99") is None
    overlay.rollback(0)
    assert overlay.state_hash() == hashes[0]
    assert list(overlay.changes()) == []


def test_changes_are_the_net_difference(overlay: Overlay) -> None:
    old = overlay.get(Book, "BK-1")
    passing = overlay.insert(new_book("BK-50"))
    overlay.delete(passing)
    new = overlay.update(overlay.update(old, copies=5), copies=6)
    same = overlay.get(Member, "MEM-1")
    overlay.update(overlay.update(same, name="X"), name=same.name)
    assert list(overlay.changes()) == [RowChange(table="books", key="BK-1", before=old, after=new)]


def test_the_hash_is_of_the_rows_and_not_of_the_way_to_them(overlay: Overlay) -> None:
    before = overlay.state_hash()
    there = overlay.update(overlay.get(Book, "BK-1"), copies=99)
    changed = overlay.state_hash()
    assert changed != before
    overlay.update(there, copies=overlay.base.rows["books"]["BK-1"].copies)  # type: ignore[attr-defined]
    assert overlay.state_hash() == before


def test_settling_makes_what_was_planted_the_beginning(overlay: Overlay) -> None:
    planted = overlay.insert(new_book())
    moved = overlay.update(overlay.get(Book, "BK-1"), copies=9)
    settled = overlay.settle()
    assert settled.journal == []
    assert list(settled.changes()) == []
    assert settled.state_hash() == overlay.state_hash()
    settled.delete(settled.get(Book, "BK-99"))
    settled.update(moved, copies=3)
    assert {(c.key, c.before) for c in settled.changes()} == {("BK-99", planted), ("BK-1", moved)}
    settled.rollback(0)
    assert settled.state_hash() == overlay.state_hash()


def test_settling_refuses_a_reference_to_nothing_but_not_to_a_planted_row(overlay: Overlay) -> None:
    loan = overlay.insert(replace(overlay.get(Loan, "LN-1"), id="LN-30", book_id="BK-99"))
    with pytest.raises(RowError, match="book_id is 'BK-99'"):
        overlay.settle()
    overlay.insert(new_book(loan.book_id))
    assert overlay.settle().get(Loan, "LN-30") == loan


def test_settling_refuses_a_row_whose_reference_was_deleted(overlay: Overlay) -> None:
    loan = overlay.get(Loan, "LN-1")
    overlay.delete(overlay.get(Book, loan.book_id))
    with pytest.raises(RowError, match=f"book_id is '{loan.book_id}'"):
        overlay.settle()


def test_forks_go_their_own_ways(overlay: Overlay) -> None:
    overlay.update(overlay.get(Book, "BK-1"), copies=9)
    fork, sibling = overlay.fork(), overlay.fork()
    assert fork.state_hash() == overlay.state_hash()
    fork.delete(fork.get(Book, "BK-1"))
    fork.insert(new_book())
    assert sibling.state_hash() == overlay.state_hash() != fork.state_hash()
    assert overlay.get(Book, "BK-1").copies == 9
    assert len(overlay.journal) == 1


def test_a_snapshot_restores_after_further_writes_and_after_pickling(overlay: Overlay) -> None:
    overlay.update(overlay.get(Book, "BK-1"), copies=9)
    snapshot, wanted = overlay.snapshot(), overlay.state_hash()
    overlay.rollback(0)
    overlay.insert(new_book())
    overlay.state_hash()
    for taken in (snapshot, pickle.loads(pickle.dumps(snapshot))):
        overlay.restore(taken)
        assert overlay.state_hash() == wanted
        assert overlay.peek(Book, "BK-99") is None
        other = Overlay(overlay.base)
        other.restore(taken)
        assert other.state_hash() == wanted


def test_a_restored_overlay_does_not_write_into_the_snapshot(overlay: Overlay) -> None:
    overlay.update(overlay.get(Book, "BK-1"), copies=9)
    snapshot = overlay.snapshot()
    overlay.restore(snapshot)
    overlay.delete(overlay.get(Book, "BK-1"))
    overlay.restore(snapshot)
    assert overlay.get(Book, "BK-1").copies == 9

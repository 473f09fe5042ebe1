"""Pages against sequences that each have a copy of their own."""

from dataclasses import dataclass, field

import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from decoders import tiny
from palaestra.trainers.engines.native.pages import NOWHERE, PagedMemory, page_count

SHAPE = tiny(layers=2, kv_heads=1, head_dim=2)
PLACES, TOKENS, SEQUENCES = 4, 60, 5


def memory() -> PagedMemory:
    return PagedMemory(
        SHAPE, tokens=TOKENS, sequences=SEQUENCES, places=PLACES, dtype=torch.float32, device=torch.device("cpu")
    )


@dataclass
class Copied:
    """A sequence, and the numbers that it must hold."""

    pages: list[int] = field(default_factory=list[int])
    numbers: list[float] = field(default_factory=list[float])


class Pages(RuleBasedStateMachine):
    """Sequences are written to, shared, shortened and returned in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = memory()
        self.sequences: list[Copied] = []
        self.written = 0.0

    def pick(self, number: int) -> Copied:
        return self.sequences[number % len(self.sequences)]

    def fits(self, tokens: int) -> bool:
        return sum(len(one.numbers) for one in self.sequences) + tokens <= TOKENS

    @precondition(lambda self: len(self.sequences) < SEQUENCES)
    @rule()
    def begin(self) -> None:
        self.sequences.append(Copied())

    @precondition(lambda self: self.sequences)
    @rule(number=st.integers(0, 9), count=st.integers(1, 9))
    def write(self, number: int, count: int) -> None:
        one = self.pick(number)
        if not self.fits(count):
            return
        start = len(one.numbers)
        new = [self.written + i for i in range(count)]
        self.written += count
        self.memory.extend(one.pages, start + count)
        places = range(start, start + count)
        page_T = torch.tensor([one.pages[place // PLACES] for place in places])
        spot_T = torch.tensor([place % PLACES for place in places])
        k_TGD = torch.tensor(new)[:, None, None].expand(-1, 1, 2)
        for layer in range(2):
            self.memory.write(layer, page_T, spot_T, k_TGD + layer, -k_TGD)
        one.numbers += new

    @precondition(lambda self: self.sequences and len(self.sequences) < SEQUENCES)
    @rule(number=st.integers(0, 9), part=st.integers(0, 100))
    def share(self, number: int, part: int) -> None:
        one = self.pick(number)
        count = len(one.numbers) * part // 100
        if self.fits(count):
            self.sequences.append(Copied(self.memory.share(one.pages, count), one.numbers[:count]))

    @precondition(lambda self: self.sequences)
    @rule(number=st.integers(0, 9), part=st.integers(0, 100))
    def cut(self, number: int, part: int) -> None:
        one = self.pick(number)
        count = len(one.numbers) * part // 100
        self.memory.cut(one.pages, count)
        del one.numbers[count:]

    @precondition(lambda self: self.sequences)
    @rule(number=st.integers(0, 9), unsound=st.booleans())
    def release(self, number: int, unsound: bool) -> None:
        one = self.pick(number)
        self.sequences.remove(one)
        if unsound:
            own = [page for page in one.pages if self.memory._users[page] == 1]
            self.memory.keys[0][own] = torch.nan
        self.memory.release(one.pages, unsound=unsound)

    @invariant()
    def every_sequence_holds_what_was_written_to_it(self) -> None:
        for one in self.sequences:
            for layer in range(2):
                keys, values = (
                    pool[layer][one.pages].flatten(0, 1)[: len(one.numbers), 0, 0].tolist()
                    for pool in (self.memory.keys, self.memory.values)
                )
                assert keys == [number + layer for number in one.numbers]
                assert values == [-number for number in one.numbers]

    @invariant()
    def pages_are_used_as_often_as_they_are_listed(self) -> None:
        listed = [page for one in self.sequences for page in one.pages]
        for page, users in enumerate(self.memory._users):
            assert users == listed.count(page)
        assert self.memory.unused == page_count(TOKENS, SEQUENCES, PLACES) - 1 - len(set(listed))
        assert NOWHERE not in listed
        assert all(torch.isfinite(self.memory.keys[0][page]).all() for page in self.memory._unused)


TestPages = Pages.TestCase
TestPages.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)


def test_sequences_that_begin_alike_take_the_pages_of_one() -> None:
    pages = memory()
    first: list[int] = []
    pages.extend(first, 3 * PLACES + 1)
    before = pages.unused
    group = [pages.share(first, 3 * PLACES) for _ in range(4)]
    assert pages.unused == before
    further = pages.share(first, 3 * PLACES + 1)
    assert pages.unused == before - 1, "the page that is written next is copied"
    assert further[:3] == first[:3] == group[0]
    assert further[3] != first[3]


def test_a_page_that_may_hold_no_number_is_wiped_once_nobody_has_it() -> None:
    pages = memory()
    first: list[int] = []
    pages.extend(first, PLACES)
    pages.keys[1][first] = torch.nan
    other = pages.share(first, PLACES)
    pages.release(first, unsound=True)
    assert pages.keys[1][other].isnan().all()
    pages.release(other)
    assert not pages.keys[1].isnan().any()


def test_a_shorter_row_of_a_table_repeats_its_own_first_page() -> None:
    pages = memory()
    assert pages.table([[5, 6, 7], [8]]).tolist() == [[5, 6, 7], [8, 8, 8]]
    assert pages.table([[5]], pages=3).tolist() == [[5, 5, 5]]


@pytest.mark.parametrize(("tokens", "pages"), [(1, 1), (4, 1), (5, 2), (60, 15)])
def test_a_pool_has_a_page_more_for_each_sequence_and_two(tokens: int, pages: int) -> None:
    assert page_count(tokens, SEQUENCES, PLACES) == pages + SEQUENCES + 2

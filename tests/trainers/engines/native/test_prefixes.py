from hypothesis import given, settings
from hypothesis import strategies as st

from palaestra.trainers.engines.native.prefixes import BLOCK, Holding, Prefixes, common_beginning

TOKENS = st.lists(st.integers(0, 1), min_size=0, max_size=4 * BLOCK)
"""Of a few patterns, repeated, so that beginnings are often alike."""


def holding(tokens: list[int], *, held: int | None = None, coming: bool = False) -> Holding:
    return Holding("someone", list(tokens), held=len(tokens) if held is None else held, coming=coming)


def plain(one: list[int], other: list[int]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


@given(TOKENS, TOKENS)
def test_a_common_beginning_is_that_of_a_loop(one: list[int], other: list[int]) -> None:
    assert common_beginning(one, other) == plain(one, other)


@settings(max_examples=200)
@given(
    held=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 5 * BLOCK)), max_size=6),
    removed=st.sets(st.integers(0, 5)),
    asked=st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 5 * BLOCK)),
)
def test_what_is_found_is_what_a_search_through_everything_finds(
    held: list[tuple[int, int, int]], removed: set[int], asked: tuple[int, int, int]
) -> None:
    def tokens(first: int, second: int, length: int) -> list[int]:
        return ([first] * (2 * BLOCK) + [second] * (3 * BLOCK))[:length]

    prefixes, asking = Prefixes(), tokens(*asked)
    holdings = [holding(tokens(*one)) for one in held]
    for one in holdings:
        prefixes.add(one)
    for i in removed & set(range(len(holdings))):
        prefixes.remove(holdings[i])
    left = [one for i, one in enumerate(holdings) if i not in removed]
    most = max((plain(one.tokens, asking) for one in left), default=0)
    found = prefixes.find(asking, without=holding([]))
    if most < BLOCK:
        assert found is None
    else:
        assert found is not None
        assert found[1] == most == plain(found[0].tokens, asking)


def test_a_holding_does_not_find_itself() -> None:
    prefixes, own = Prefixes(), holding([1] * 20)
    prefixes.add(own)
    assert prefixes.find([1] * 20, without=own) is None


def test_of_what_is_not_held_yet_nothing_is_found_unless_it_is_coming() -> None:
    prefixes, context = Prefixes(), [1] * 20
    later = holding(context, held=3)
    prefixes.add(later)
    assert prefixes.find(context, without=holding([])) == (later, 3)
    later.coming = True
    assert prefixes.find(context, without=holding([])) == (later, 20)
    there = holding(context)
    prefixes.add(there)
    assert prefixes.find(context, without=holding([])) == (there, 20)


def test_a_holding_that_grows_is_found_by_what_is_new() -> None:
    prefixes, one = Prefixes(), holding(list(range(10)))
    prefixes.add(one)
    one.tokens += range(10, 40)
    one.held = 40
    prefixes.add(one)
    assert prefixes.find(list(range(35)), without=holding([])) == (one, 35)
    prefixes.remove(one)
    assert prefixes.find(list(range(35)), without=holding([])) is None
    prefixes.remove(one)


def test_contexts_that_differ_in_one_token_share_what_comes_before_it() -> None:
    prefixes, one = Prefixes(), holding(list(range(40)))
    prefixes.add(one)
    other = list(range(40))
    other[29] = 0
    assert prefixes.find(other, without=holding([])) == (one, 29)


def test_unequal_tokens_with_equal_hashes_share_nothing() -> None:
    prefixes, one = Prefixes(), holding([1] * 20)
    prefixes.add(one)
    one.tokens[:] = [2] * 20  # found by the hashes of other tokens, as after a collision
    assert prefixes.find([1] * 20, without=holding([])) is None

"""What is kept to imitate: the limits, what replaces what, and where a beginning ends."""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from palaestra.records import EndReason
from palaestra.seeding import Stream
from palaestra.trainers.data.flatten import flatten_tokens
from palaestra.trainers.data.own import HarmlessPrefix, best_prefix, own_tokens
from palaestra.trainers.loops.examples import BalancedDraw, ExampleStore, draw_of_demonstrations
from palaestra.trainers.loops.imitation_config import KeepConfig
from palaestra.trainers.rollouts.groups import RolloutGroup
from palaestra.trajectory import Episode, Segment, Span, Stop, Tokens
from trajectories import episode, sequence, turn


def played(*rewards: float, ids: int = 5, passed: bool = False, harm: int | None = None) -> Episode:
    """An episode of turns of one token behind a prompt of one, each answered by one; harm from that turn on."""
    width = 1 + 2 * len(rewards)
    spans = tuple(Span(kind="turn", start=1 + 2 * n, end=2 + 2 * n) for n in range(len(rewards)))
    ended: Stop = "end"
    tokens = Tokens(
        ids=tuple(ids + n for n in range(width)),
        sampled=tuple(n % 2 == 1 for n in range(width)),
        logprobs=(-1.0,) * width,
        versions=(3,) * width,
        spans=spans,
        stops=(ended,) * len(rewards),
    )
    turns = tuple(
        replace(turn(reward), violated=("harm",) if harm is not None and n >= harm else ())
        for n, reward in enumerate(rewards)
    )
    one = episode(Segment(prompt=(), turns=turns, tokens=tokens))
    return replace(one, score=replace(one.score, passed=passed), end=EndReason.FINISHED)


def group(task: str, *episodes: Episode) -> RolloutGroup:
    return RolloutGroup(index=0, version=0, task=task, episodes=episodes, failed=0, straggled=0)


def kept(store: ExampleStore) -> list[tuple[str, bool, int]]:
    """Each sequence by task, whether it solved, and its first token."""
    return [(one.task, one.solved, one.tokens.ids[0]) for own in store.families.values() for one in own]


# beginnings


def test_a_beginning_ends_at_the_best_points_before_any_harm() -> None:
    members = [
        played(5, 5, -20, 90, harm=2),  # 10 behind 2 turns; the rest comes after harm
        played(5, 0, 20, -5, 0),  # 25 behind 3 turns
        played(0, 25, 0, 0),  # 25 behind 2 turns: shorter
        played(10, 80),  # the last turn ended it
    ]
    assert best_prefix(members) == HarmlessPrefix(member=2, turns=2, points=25)
    assert best_prefix(members[:1]) == HarmlessPrefix(member=0, turns=2, points=10)
    assert best_prefix([played(0, 0, 0), played(-5, 50, harm=0), played(30)]) is None
    assert best_prefix([]) is None


def test_own_turns_are_imitated_and_nothing_else() -> None:
    tokens = own_tokens(played(1, 2, 3), turns=2)
    assert tokens.ids == (5, 6, 7, 8)
    assert tokens.sampled == (False, True, False, True)
    assert flatten_tokens([tokens]).trained_T.sum() == 2
    whole = own_tokens(played(1, 2, 3))
    assert (sum(whole.sampled), len(whole.ids)) == (3, 7)


def test_tokens_that_somebody_else_drew_are_imitated_as_well() -> None:
    """The prefix of a branch is marked as not sampled, and is the policy's own."""
    one = played(1, 2)
    (segment,) = one.segments
    assert segment.tokens is not None
    masked = replace(segment.tokens, sampled=(False,) * 4 + (True,) * 0 + segment.tokens.sampled[4:])
    assert own_tokens(replace(one, segments=(replace(segment, tokens=masked),))) == own_tokens(one)


# limits


def test_a_group_keeps_its_shortest_different_solutions() -> None:
    store = ExampleStore(KeepConfig(per_task=2, per_family=9))
    short, same, long = played(9, ids=20, passed=True), played(9, ids=20, passed=True), played(1, 2, 3, passed=True)
    assert store.add([group("w/f/0001", long, played(50), same, short, played(4, 5, passed=True, ids=40))]) == 2
    assert kept(store) == [("w/f/0001", True, 20), ("w/f/0001", True, 40)]


def test_newer_solutions_replace_older_ones_and_solutions_beginnings() -> None:
    store = ExampleStore(KeepConfig(per_task=2, per_family=3))
    store.add([group("w/f/0001", played(5, 0, ids=1))])
    assert kept(store) == [("w/f/0001", False, 1)]
    store.add([group("w/f/0001", played(9, ids=n, passed=True)) for n in (2, 3, 4)])
    assert kept(store) == [("w/f/0001", True, 3), ("w/f/0001", True, 4)]
    store.add([group("w/f/0001", played(5, 0, ids=5))])
    assert kept(store)[-1] == ("w/f/0001", True, 4), "a solved task keeps no beginning"
    store.add([group("w/f/0002", played(5, 0, ids=6)), group("w/f/0003", played(9, ids=7, passed=True))])
    assert kept(store) == [("w/f/0001", True, 3), ("w/f/0001", True, 4), ("w/f/0003", True, 7)]
    store.add([group("w/f/0004", played(9, ids=8, passed=True)), group("w/g/0001", played(9, ids=9, passed=True))])
    assert [ids for *_, ids in kept(store)] == [4, 7, 8, 9]
    assert store.metrics() == {"kept/solved": 4, "kept/prefixes": 0, "kept/families": 2}


def test_without_beginnings_none_are_kept() -> None:
    store = ExampleStore(KeepConfig(prefixes=False))
    assert store.add([group("w/f/0001", played(5, 0))]) == 0
    assert not len(store)


def test_a_full_family_keeps_what_was_expected_least() -> None:
    """The solve rates are 1, 1/2 and 1; expected were 0.9, 0.9 and 0.2."""
    expected = {"w/f/0001": 0.9, "w/f/0002": 0.9, "w/f/0003": 0.2}
    solutions = {"w/f/0001": (True, True), "w/f/0002": (True, False), "w/f/0003": (True, True)}
    found: dict[str, set[str]] = {}
    for order in itertools.permutations(expected):
        store = ExampleStore(
            KeepConfig(per_task=1, per_family=2, order="surprising"), expected=lambda task, version: expected[task]
        )
        for task in order:
            store.add([group(task, *(played(5, 5, passed=passed) for passed in solutions[task]))])
        found["".join(order)] = {task for task, *_ in kept(store)}
    assert set(map(frozenset, found.values())) == {frozenset({"w/f/0002", "w/f/0003"})}
    newest = ExampleStore(KeepConfig(per_task=1, per_family=2))
    newest.add([group(task, played(5, 5, passed=True)) for task in ("w/f/0003", "w/f/0001", "w/f/0002")])
    assert {task for task, *_ in kept(newest)} == {"w/f/0001", "w/f/0002"}


def test_continuations_do_not_count_for_how_surprising_a_group_was() -> None:
    tokens = played(5, 5, 5, passed=True)
    segment = tokens.segments[0]
    assert segment.tokens is not None
    branch = replace(tokens, segments=(replace(segment, tokens=replace(segment.tokens, shared_turns=1)),))
    store = ExampleStore(KeepConfig(order="surprising"), expected=lambda task, version: 0.25)
    store.add([group("w/f/0001", played(5, 5), branch)])
    ((example,),) = store.families.values()
    assert example.surprise == 0.25, "none of one whole trajectory solved it"


GROUPS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.integers(0, 3),
        st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=3),
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(drawn=GROUPS, per_task=st.integers(1, 3), more=st.integers(0, 3), prefixes=st.booleans())
def test_limits_hold_after_every_group_and_nothing_depends_on_how_groups_come(
    drawn: Sequence[tuple[int, int, list[tuple[bool, int]]]], per_task: int, more: int, prefixes: bool
) -> None:
    config = KeepConfig(per_task=per_task, per_family=per_task + more, prefixes=prefixes)
    groups = [
        group(f"w/f{family}/{task:04d}", *(played(3, 0, ids=10 * ids, passed=passed) for passed, ids in members))
        for family, task, members in drawn
    ]
    store, at_once = ExampleStore(config), ExampleStore(config)
    for one in groups:
        store.add([one])
        tasks = Counter(task for task, *_ in kept(store))
        families = Counter(task.rpartition("/")[0] for task, *_ in kept(store))
        assert max(tasks.values(), default=0) <= per_task
        assert max(families.values(), default=0) <= per_task + more
        for task in tasks:
            mine = [(solved, ids) for name, solved, ids in kept(store) if name == task]
            assert len(set(mine)) == len(mine), "each sequence once"
            assert len({solved for solved, _ in mine}) == 1, "solutions or beginnings"
    at_once.add(groups)
    assert kept(at_once) == kept(store)


# batches


def test_families_share_a_batch_evenly_however_much_was_kept_of_each() -> None:
    families = {"a": [sequence(n, 1, own=1) for n in range(50)], "b": [sequence(90, 1, own=1)], "c": []}
    draw = BalancedDraw(families)
    assert len(draw) == 2
    counts = Counter(tokens.ids[0] == 90 for tokens in draw.draw(15, Stream.root("test")))
    assert sorted(counts.values()) == [7, 8]
    assert draw.draw(4, Stream.root("x")) == draw.draw(4, Stream.root("x"))
    assert BalancedDraw({}).draw(3, Stream.root("x")) == []


def test_demonstrations_are_balanced_by_their_own_families() -> None:
    one = played(1)
    other = replace(one, task=replace(one.task, family="nothing/other"))
    draw = draw_of_demonstrations([one, one, one, other], [sequence(n, 1, own=1) for n in range(4)])
    assert Counter(tokens.ids[0] == 3 for tokens in draw.draw(10, Stream.root("test"))) == {True: 5, False: 5}

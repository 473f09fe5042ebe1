"""Figures of a diagnosis: closed forms and enumerations, on episodes and groups that are written by hand."""

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnosed import DECLINED, GUESSED, LOOKED, SLIP, close, episode, group, one, solved, turn
from palaestra.benchmarks.diagnosis.amplification import group_passes, group_solutions
from palaestra.benchmarks.diagnosis.break_even import break_even, break_even_share, break_evens
from palaestra.benchmarks.diagnosis.change import figure_changes
from palaestra.benchmarks.diagnosis.decision_counts import decision_counts
from palaestra.benchmarks.diagnosis.decisions import closing_decision, expected_decision
from palaestra.benchmarks.diagnosis.ends import end_counts
from palaestra.benchmarks.diagnosis.episodes import diagnosed_episode, flatten_groups
from palaestra.benchmarks.diagnosis.failures import first_broken, first_failures
from palaestra.benchmarks.diagnosis.families import family_figures
from palaestra.benchmarks.diagnosis.thirds import divide_steps
from palaestra.benchmarks.diagnosis.variation import VARIATIONS, count_variations, group_variation
from palaestra.records import CriterionSpec, EndReason

LEFT = "left open"


@given(st.sets(st.integers(1, 60), max_size=40))
def test_thirds_keep_every_step_in_order_and_compare_equal_parts(steps: set[int]) -> None:
    found = divide_steps(steps)
    parts = [sorted(part) for _, part in found.parts]
    assert [step for part in parts for step in part] == sorted(steps)
    if len(steps) > 1:
        assert len(found.first) == len(found.last) == max(1, len(steps) // 3)
    else:
        assert (found.first, found.last) == (frozenset(steps), frozenset())


def test_pass_at_k_is_the_share_of_subsets_with_a_solution() -> None:
    """Groups of four with 0, 1 and 3 solutions, each of a task of its own: every subset of k members is counted."""
    counts = (0, 1, 3)
    groups = [solved(count, 4, task=f"w/refund/{count}") for count in counts]
    for found in group_passes(groups):
        shares: list[Fraction] = []
        for count in counts:
            members = [place < count for place in range(4)]
            subsets = [any(subset) for subset in combinations(members, found.k)]
            shares.append(Fraction(sum(subsets), len(subsets)))
        assert found.any.mean == pytest.approx(100 * float(sum(shares)) / len(counts))
    assert [found.k for found in group_passes(groups)] == [1, 2, 4]


def test_groups_of_one_task_are_sets_of_their_own() -> None:
    """Joined, 1 of 4 solves with 2 samples in half of the subsets; apart, in all of one group and none of the other."""
    (_, two) = group_passes([solved(2, 2), solved(0, 2)])
    assert (two.k, two.any.mean, two.tasks) == (2, 50.0, 1)


def test_groups_are_counted_by_what_their_members_solved() -> None:
    found = group_solutions([solved(0, 3), solved(1, 3), solved(2, 3), solved(3, 3), group()])
    assert (found.groups, found.none, found.some, found.every) == (4, 1, 2, 1)


@given(st.floats(-100, 100), st.floats(-100, 100), st.floats(-100, 100), st.floats(0, 1))
def test_at_the_break_even_acting_and_doing_nothing_pay_the_same(
    right: float, wrong: float, idle: float, measured: float
) -> None:
    share = break_even_share(right, wrong, idle)
    if right <= wrong:
        assert share is None
        return
    assert share is not None
    if share > 0 and right - wrong > 1e-3:
        assert share * right + (1 - share) * wrong == pytest.approx(idle, abs=1e-6)
    if share == 0:
        assert wrong >= idle or idle - wrong < 1e-9
    if abs(measured - share) > 1e-3 and right - wrong > 1e-3 and share > 0:
        assert (measured * right + (1 - measured) * wrong > idle) == (measured > share)


def test_break_even_counts_acts_and_pays_by_the_record() -> None:
    episodes = [
        *[one(acted=True, solved=True, returned=100.0)] * 1,
        *[one(acted=True, returned=-80.0)] * 3,
        *[one(returned=10.0)] * 2,
    ]
    found = break_even("all", episodes)
    assert (found.acts, found.right, found.idle) == (4, 1, 2)
    assert (found.right_points, found.wrong_points, found.idle_points) == (100.0, -80.0, 10.0)
    assert found.share == pytest.approx(90 / 180)
    assert (found.share_of_right_acts, found.pays) == (0.25, False)


def test_without_a_right_act_the_rubric_says_what_one_is_paid() -> None:
    found = break_even("", [one(acted=True, returned=-50.0), one(returned=0.0)])
    assert (found.right_points, found.right_recorded) == (100.0, False)
    assert found.share == pytest.approx(1 / 3)


def test_a_wrong_act_that_is_paid_more_than_doing_nothing_always_pays() -> None:
    found = break_even("", [one(acted=True, returned=30.0), one(returned=5.0)])
    assert (found.share, found.share_of_right_acts, found.pays) == (0.0, 0.0, True)


@pytest.mark.parametrize("episodes", [[one(returned=5.0)], [one(acted=True, returned=5.0)]])
def test_without_acts_or_without_idle_episodes_there_is_no_break_even(episodes: list[object]) -> None:
    found = break_even("", episodes)  # type: ignore[arg-type]
    assert (found.share, found.pays) == (None, None)


def test_break_evens_begin_with_all_and_list_families_by_name() -> None:
    assert [found.family for found in break_evens([one(family="b"), one(family="a")])] == ["", "a", "b"]
    assert break_evens([]) == []


@pytest.mark.parametrize(
    ("members", "variation"),
    [
        ([one(returned=1.0), one(returned=1.0, harmed=True, broken=("slip",))], "nothing"),
        ([one(returned=1.0), one(returned=100.0, solved=True, look_ups=("saw",))], "solved"),
        ([one(returned=1.0), one(returned=-20.0, harmed=True, broken=("slip",))], "harm"),
        ([one(returned=1.0), one(returned=3.0, look_ups=("saw",))], "look-ups"),
        ([one(returned=1.0), one(returned=43.0, work=("refunded",))], "work"),
        ([one(returned=40.0), one(returned=30.0, end=EndReason.MAX_TURNS)], "end"),
        ([one(returned=1.0), one(returned=3.0, look_ups=("saw",), end=EndReason.GAVE_UP)], "several"),
        ([one(returned=1.0), one(returned=2.0)], "several"),
    ],
)
def test_a_group_varies_in_what_its_members_differ_in(members: list[object], variation: str) -> None:
    assert group_variation(group(*members)) == variation  # type: ignore[arg-type]


def test_variations_leave_out_groups_of_one_and_sum_to_the_others() -> None:
    counts = count_variations([solved(1, 2), solved(0, 2), solved(1, 1)])
    assert counts == {**dict.fromkeys(VARIATIONS, 0), "solved": 1, "nothing": 1}


def test_the_first_failure_is_the_first_in_the_rubric_and_unfinished_or_solved_episodes_have_none() -> None:
    episodes = [
        one(missed=("saw-order", "refunded"), broken=("slip",)),
        one(missed=("refunded",)),
        one(broken=("slip",)),
        one(missed=("saw-order",), end=EndReason.MAX_TURNS),
        one(missed=("saw-order",), end=None),
        one(solved=True),
    ]
    found = {(count.criterion, count.kind): count.episodes for count in first_failures(episodes)}
    assert found == {("saw-order", "missed"): 1, ("refunded", "missed"): 1, ("slip", "broken"): 1}
    assert [(count.criterion, count.episodes) for count in first_broken(episodes)] == [("slip", 2)]


def test_ids_of_records_are_joined_where_they_differ_between_tasks_of_a_family() -> None:
    episodes = [
        one(criteria=("changed-BK-8", "read-SHP-2"), missed=("changed-BK-8",)),
        one(criteria=("changed-BK-9", "read-SHP-2"), missed=("changed-BK-9",)),
        one(criteria=("changed-BK-9", "read-SHP-2"), missed=("read-SHP-2",)),
    ]
    found = {count.criterion: count.episodes for count in first_failures(episodes)}
    assert found == {"changed-*": 2, "read-SHP-2": 1}


def test_a_rubric_states_a_decision_by_an_id_or_by_a_status_and_none_is_guessed() -> None:
    stated = CriterionSpec(
        id="closed",
        text="TCK-1 (tickets) now has status = resolved.",
        kind="expect",
        points=1,
        layer="outcome",
        after=(),
    )
    assert expected_decision([LOOKED, DECLINED, SLIP]) == "declined"
    assert expected_decision([stated]) == "resolved"
    assert expected_decision([stated, DECLINED]) == "resolved + declined"
    assert expected_decision([LOOKED, SLIP]) is None


def test_a_case_closes_as_it_was_written_last_and_other_rows_are_no_cases() -> None:
    claim = {"table": "claims", "key": "CLM-1", "before": None, "after": {"id": "CLM-1", "status": "resolved"}}
    assert closing_decision([turn(close("open", "declined")), turn(close("declined", "resolved"))]) == "resolved"
    assert closing_decision([turn(close("open", "declined")), turn(close("declined", "open"))]) == LEFT
    assert closing_decision([turn(claim)]) == LEFT  # type: ignore[arg-type]
    both = [turn(close("open", "declined", "TCK-1"), close("open", "resolved", "TCK-2"))]
    assert closing_decision(both) == "resolved + declined"


def test_decisions_are_counted_against_what_is_expected() -> None:
    episodes = [
        one(expected="declined", closed="declined", solved=True, returned=100.0),
        one(expected="declined", closed="resolved", returned=-80.0),
        one(expected="declined", closed="resolved", returned=-60.0),
        one(expected=None, closed="resolved"),
    ]
    (found,) = decision_counts(episodes)
    assert (found.expected, found.episodes, found.right, found.solved) == ("declined", 3, 1, 1)
    assert found.closed == {"resolved": 2, "declined": 1}
    assert found.returned == {"resolved": -70.0, "declined": 100.0}


def test_an_episode_keeps_what_it_missed_and_what_it_broke_in_order() -> None:
    kept = diagnosed_episode(
        episode(
            turn(readable=False),
            turn(violated=["ungrounded"], reward=-100.0),
            turn(close("open", "declined"), violated=["slip", "ungrounded"], reward=60.0),
            met={"declined": True},
        ),
        step=3,
    )
    assert kept.missed == (LOOKED.id,)
    assert kept.broken == (GUESSED.id, SLIP.id), "the guess came first, though the rubric lists it last"
    assert (kept.work, kept.look_ups) == ((DECLINED.id,), ())
    assert (kept.step, kept.returned, kept.acted, kept.harmed) == (3, -40.0, True, True)
    assert (kept.expected, kept.closed) == ("declined", "declined")
    assert (kept.turns, kept.unreadable) == (3, 1)


def test_what_a_world_writes_by_itself_is_no_act() -> None:
    assert not diagnosed_episode(episode(turn(close("open", "resolved"), by_world=True)), step=1).acted


def test_families_are_compared_between_the_first_and_the_last_third() -> None:
    groups = [
        solved(1, 2, step=1),
        solved(0, 2, step=2, family="w/other"),
        solved(2, 2, step=3),
    ]
    other, refund = family_figures(flatten_groups(groups), divide_steps([1, 2, 3]))
    assert (other.family, other.first, other.last, other.was_solved) == ("w/other", None, None, False)
    assert refund.first is not None
    assert refund.last is not None
    assert (refund.first.solved, refund.last.solved, refund.whole.solved) == (0.5, 1.0, 0.75)
    assert refund.last.points == 100.0


def test_a_change_is_certain_beyond_two_standard_errors_of_groups() -> None:
    """Shares 0, 0.5 and 0.5, 1: the difference is 0.5, and its standard error sqrt(0.125 / 2 + 0.125 / 2)."""
    groups = [solved(count, 2, step=step) for step, count in ((1, 0), (1, 1), (3, 1), (3, 2))]
    found = figure_changes(groups, divide_steps([1, 2, 3]))["solved"]
    assert (found.first, found.last, found.difference) == (0.25, 0.75, 0.5)
    assert found.error == pytest.approx(0.125**0.5)
    assert not found.is_certain
    clear = figure_changes([solved(2 * (step == 3), 2, step=step) for step in (1, 1, 3, 3)], divide_steps([1, 2, 3]))
    assert clear["solved"].is_certain
    assert figure_changes(groups[:2], divide_steps([1])) == {}


def test_ends_are_counted_by_third_and_a_rollout_that_stopped_has_a_name() -> None:
    ends = (EndReason.FINISHED, EndReason.TOKEN_BUDGET, None)
    episodes = [one(end=end, step=step) for step in (1, 2, 3) for end in ends[:step]]
    found = end_counts(episodes, divide_steps([1, 2, 3]))
    assert [(part.part, dict(part.ends)) for part in found] == [
        ("first third", {"finished": 1}),
        ("middle", {"finished": 1, "token_budget": 1}),
        ("last third", {"finished": 1, "stopped": 1, "token_budget": 1}),
    ]
    assert found[1].share("token_budget") == 0.5

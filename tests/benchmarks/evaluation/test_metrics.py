"""Every figure against the same figure in plain Python; and that faults and order change no score."""

import random
from collections import Counter
from dataclasses import replace
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluations import outcome
from palaestra.benchmarks.evaluation.metrics import Prices, family, figures, observations, scores
from palaestra.benchmarks.evaluation.outcome import EpisodeFault, EpisodeOutcome
from palaestra.benchmarks.statistics import Observation, Unit, estimate_mean, estimate_share
from palaestra.records import EndReason

COUNTS = st.integers(0, 9)
OUTCOME: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "solved": st.booleans(),
        "points": st.integers(-100, 100),
        "harmed": st.booleans(),
        "fault": st.sampled_from([None, None, None, "world", "server", "reply", "engine", "time"]),
        "end": st.sampled_from([None, *EndReason]),
        "turns": COUNTS,
        "calls": COUNTS,
        "invalid": COUNTS,
        "refused": COUNTS,
        "prompt_tokens": st.none() | st.integers(0, 10_000),
        "completion_tokens": st.none() | st.integers(0, 1_000),
        "criteria": st.dictionaries(st.sampled_from(["ast", "state", "harm"]), st.booleans()),
        "troubles": st.dictionaries(st.sampled_from(["status 429", "late"]), st.integers(1, 3)),
    }
)
OUTCOMES = st.dictionaries(
    st.tuples(st.sampled_from(["base", "strong"]), st.sampled_from(["w/f/0", "w/f/1", "w/g/0"]), st.integers(0, 3)),
    OUTCOME,
    min_size=1,
    max_size=10,
).map(lambda given: [outcome(cell, task, sample, **own) for (cell, task, sample), own in given.items()])
PRICES = Prices(read=2.0, written=8.0)


def task_mean(outcomes: list[EpisodeOutcome], value: str) -> float:
    """The mean over tasks of each task's mean, in plain Python."""
    tasks = sorted({one.task for one in outcomes})
    return fmean(fmean(float(getattr(one, value)) for one in outcomes if one.task == task) for task in tasks)


@settings(max_examples=40)
@given(OUTCOMES)
def test_every_figure_is_what_plain_python_finds(outcomes: list[EpisodeOutcome]) -> None:
    found = figures(outcomes, prices=PRICES)
    scored = [one for one in outcomes if one.fault is None]
    assert found.scores.episodes == len(scored)
    assert found.scores.tasks == len({one.task for one in scored})
    assert found.faults == Counter(one.fault.kind for one in outcomes if one.fault)
    troubles = Counter(name for one in outcomes for name, count in one.troubles.items() for _ in range(count))
    assert found.troubles == troubles
    assert found.ends == Counter(str(one.end or "unfinished") for one in scored)
    if not scored:
        assert found.scores.solved is found.scores.points is found.scores.harmed is found.gave_up is None
        assert found.effort.turns is found.effort.cost is found.effort.invalid_a_call is None
        return
    assert found.scores.solved is not None
    assert found.scores.points is not None
    assert found.scores.harmed is not None
    assert found.gave_up is not None
    assert found.out_of_time is not None
    assert found.scores.solved.mean == pytest.approx(100 * task_mean(scored, "solved"))
    assert found.scores.points.mean == pytest.approx(task_mean(scored, "points"))
    assert found.scores.harmed.mean == pytest.approx(100 * task_mean(scored, "harmed"))
    for name in ("turns", "calls", "invalid", "refused"):
        assert getattr(found.effort, name) == pytest.approx(task_mean(scored, name))
    calls = sum(one.calls for one in scored)
    assert found.effort.invalid_a_call == (sum(one.invalid for one in scored) / calls if calls else None)
    ends = [replace(one, solved=one.end == EndReason.GAVE_UP) for one in scored]
    assert found.gave_up.mean == pytest.approx(100 * task_mean(ends, "solved"))
    ends = [replace(one, solved=one.end in (EndReason.DEADLINE, EndReason.TIME_BUDGET)) for one in scored]
    assert found.out_of_time.mean == pytest.approx(100 * task_mean(ends, "solved"))


@settings(max_examples=40)
@given(OUTCOMES)
def test_tokens_and_cost_are_those_that_somebody_counted(outcomes: list[EpisodeOutcome]) -> None:
    effort = figures(outcomes, prices=PRICES).effort
    paid = [o for o in outcomes if o.prompt_tokens is not None and o.completion_tokens is not None]
    counted = [one for one in paid if one.fault is None]
    costs = {id(o): ((o.prompt_tokens or 0) * 2 + (o.completion_tokens or 0) * 8) / 1e6 for o in paid}
    assert effort.counted == len(counted)
    assert effort.spent == (pytest.approx(sum(costs.values())) if paid else None)
    if not counted:
        assert effort.prompt_tokens is effort.completion_tokens is effort.cost is None
        return
    assert effort.prompt_tokens == pytest.approx(task_mean(counted, "prompt_tokens"))
    assert effort.completion_tokens == pytest.approx(task_mean(counted, "completion_tokens"))
    assert effort.prompt_tokens is not None
    assert effort.completion_tokens is not None
    # A cost is linear in its tokens, so the mean cost is the cost of the mean.
    assert effort.cost == pytest.approx((2 * effort.prompt_tokens + 8 * effort.completion_tokens) / 1e6)


@settings(max_examples=40)
@given(OUTCOMES)
def test_sub_scores_are_shares_of_the_episodes_that_have_them(outcomes: list[EpisodeOutcome]) -> None:
    found = figures(outcomes)
    scored = [one for one in outcomes if one.fault is None]
    assert list(found.criteria) == sorted({name for one in scored for name in one.criteria})
    for name, criterion in found.criteria.items():
        having = [replace(one, solved=one.criteria[name]) for one in scored if name in one.criteria]
        assert criterion.episodes == len(having)
        assert criterion.share.mean == pytest.approx(100 * task_mean(having, "solved"))


@settings(max_examples=40)
@given(OUTCOMES, st.lists(OUTCOME, max_size=3))
def test_faults_never_change_a_score(outcomes: list[EpisodeOutcome], others: list[dict[str, Any]]) -> None:
    faulty = [
        replace(outcome("base", f"w/h/{place}", 0, **own), fault=EpisodeFault(kind="server", said="500"))
        for place, own in enumerate(others)
    ]
    clean, mixed = figures(outcomes), figures([*outcomes, *faulty])
    assert mixed.scores == clean.scores
    assert mixed.passes == clean.passes
    assert (mixed.ends, mixed.criteria, mixed.gave_up) == (clean.ends, clean.criteria, clean.gave_up)
    assert mixed.effort == clean.effort
    assert sum(mixed.faults.values()) == sum(clean.faults.values()) + len(faulty)


@settings(max_examples=40)
@given(OUTCOMES, st.randoms(use_true_random=False))
def test_order_changes_nothing(outcomes: list[EpisodeOutcome], rng: random.Random) -> None:
    shuffled = rng.sample(outcomes, k=len(outcomes))
    known_bad = {"w/f/1": "broken"}
    assert figures(shuffled, prices=PRICES, known_bad=known_bad) == figures(
        outcomes, prices=PRICES, known_bad=known_bad
    )


@settings(max_examples=40)
@given(OUTCOMES)
def test_known_bad_tasks_are_left_out_of_the_second_score_alone(outcomes: list[EpisodeOutcome]) -> None:
    found = figures(outcomes, known_bad={"w/f/0": "its answer is wrong"})
    assert found.scores == figures(outcomes).scores
    scored = {one.task for one in outcomes if one.fault is None}
    if "w/f/0" in scored:
        assert found.sound == figures(one for one in outcomes if one.task != "w/f/0").scores
    else:
        assert found.sound is None


@pytest.mark.parametrize(("unit", "units"), [(Unit.TASK, 24), (Unit.FAMILY, 12), (Unit.WORLD, 8)])
def test_scores_are_estimated_over_the_unit_that_the_cell_is_about(unit: Unit, units: int) -> None:
    outcomes = [
        outcome(task=f"w/f{t // 2}/{t}", sample=s, solved=(t + s) % 3 == 0, family=f"w/f{t // 2}", world=str(t % 8))
        for t in range(24)
        for s in range(4)
    ]
    found = figures(outcomes, unit=unit).scores
    values = [
        Observation(value=100.0 * one.solved, task=one.task, family=one.family, world=one.world) for one in outcomes
    ]
    assert found.solved == estimate_share(values, unit, whole=100)
    assert found.points == estimate_mean(values, unit)
    assert found.harmed == estimate_share([replace(one, value=0.0) for one in values], unit, whole=100)
    assert found.points is not None
    assert found.points.units == units


def test_an_older_outcome_that_names_no_family_has_that_of_its_tasks_id() -> None:
    (found,) = observations([outcome(task="w/f/0", points=3)], lambda one: one.points)
    assert found == Observation(value=3.0, task="w/f/0", family="f")


def test_a_task_in_two_cells_is_one_cluster_with_the_samples_of_both() -> None:
    found = figures([outcome("base", solved=True), outcome("strong"), outcome("base", "w/f/1", solved=True)])
    assert found.scores.solved is not None
    assert found.scores.solved.mean == 75
    assert (found.scores.tasks, found.scores.episodes) == (2, 3)
    assert [(one.k, one.tasks) for one in found.passes] == [(1, 2)]


def test_one_price_is_no_price() -> None:
    priced = outcome(prompt_tokens=10, completion_tokens=10)
    assert figures([priced], prices=Prices(read=1.0)).effort.cost is None


def test_invalid_turns_of_an_agent_that_never_calls_are_not_a_share_of_calls() -> None:
    effort = figures([outcome(calls=0, invalid=3, turns=3)]).effort
    assert (effort.invalid, effort.invalid_a_call) == (3, None)


@pytest.mark.parametrize(
    ("task", "named"),
    [("storefront/refund/0007", "refund"), ("multi_turn_base/12", "multi_turn_base"), ("alone", "")],
)
def test_a_family_is_the_last_part_but_one(task: str, named: str) -> None:
    assert family(task) == named


def test_versions_of_one_task_are_one_task_in_scores() -> None:
    solved = [True, False, True, True, False, False, True, False, True, False]
    single = [outcome("a", f"b/base/{number}", solved=own) for number, own in enumerate(solved)]
    kinds = ("base", "miss", "long", "more")
    four = [replace(one, cell=kind, task=one.task.replace("base", kind)) for one in single for kind in kinds]
    versions = {one.task: f"b/{one.task.rpartition('/')[2]}" for one in four}
    alike = scores(four, versions)
    assert alike.tasks == 40
    assert alike.solved == scores(single).solved
    assert alike.points == scores(single).points
    apart = scores(four)
    assert alike.solved is not None
    assert apart.solved is not None
    both = (apart.solved, alike.solved)
    widths = [one.high - one.low for one in both if one.high is not None and one.low is not None]
    assert widths[0] < 0.6 * widths[1]


def test_pass_at_k_is_of_each_version_by_itself() -> None:
    played = [outcome("a", f"b/{kind}/0", sample=sample, solved=kind == "x") for kind in "xy" for sample in range(2)]
    found = figures(played, versions={"b/x/0": "b/0", "b/y/0": "b/0"})
    assert [(one.k, one.tasks, one.any.mean) for one in found.passes] == [(1, 2, 50.0), (2, 2, 50.0)]

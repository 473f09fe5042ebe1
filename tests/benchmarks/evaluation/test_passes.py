"""pass@k and pass^k: by counting every subset, identities, monotony."""

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.benchmarks.evaluation.passes import pass_all, pass_at, passes
from palaestra.benchmarks.statistics import Observation, Unit, estimate_share

SAMPLES = st.lists(st.booleans(), min_size=1, max_size=9)


def counted(samples: list[bool], k: int) -> tuple[Fraction, Fraction]:
    """The shares of subsets of k that hold a success, and that hold nothing else."""
    subsets = list(combinations(samples, k))
    return Fraction(sum(map(any, subsets)), len(subsets)), Fraction(sum(map(all, subsets)), len(subsets))


@given(SAMPLES, st.data())
def test_both_are_the_mean_over_every_subset(samples: list[bool], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(samples)))
    some, each = counted(samples, k)
    assert pass_at(k, len(samples), sum(samples)) == pytest.approx(float(some), abs=1e-12)
    assert pass_all(k, len(samples), sum(samples)) == pytest.approx(float(each), abs=1e-12)


@given(SAMPLES)
def test_one_of_one_is_the_share_solved(samples: list[bool]) -> None:
    share = sum(samples) / len(samples)
    assert pass_at(1, len(samples), sum(samples)) == pytest.approx(share, abs=1e-12)
    assert pass_all(1, len(samples), sum(samples)) == pytest.approx(share, abs=1e-12)


@given(SAMPLES)
def test_any_can_only_rise_with_k_and_all_only_fall(samples: list[bool]) -> None:
    n, c = len(samples), sum(samples)
    at = [pass_at(k, n, c) for k in range(1, n + 1)]
    each = [pass_all(k, n, c) for k in range(1, n + 1)]
    assert at == sorted(at)
    assert each == sorted(each, reverse=True)
    assert all(high >= low for high, low in zip(at, each, strict=True))


@given(SAMPLES, st.data())
def test_failures_and_successes_changed_over_turn_one_into_the_other(samples: list[bool], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(samples)))
    n, c = len(samples), sum(samples)
    assert pass_at(k, n, c) == pytest.approx(1 - pass_all(k, n, n - c), abs=1e-12)


def test_the_papers_estimator_as_a_product() -> None:
    # Chen et al. 2021, figure 3: 1 - prod(1 - k / i for i in n-c+1 .. n).
    n, c, k = 200, 13, 10
    product = 1.0
    for i in range(n - c + 1, n + 1):
        product *= 1 - k / i
    assert pass_at(k, n, c) == pytest.approx(1 - product, rel=1e-12)


@pytest.mark.parametrize(("k", "samples", "solved"), [(0, 4, 1), (5, 4, 1), (1, 4, 5), (1, 4, -1)])
def test_what_cannot_be_is_refused(k: int, samples: int, solved: int) -> None:
    for estimate in (pass_at, pass_all):
        with pytest.raises(ValueError, match="samples"):
            estimate(k, samples, solved)


def test_tasks_that_lack_samples_are_left_out_where_they_are_too_few() -> None:
    found = passes({"whole": [[True, True, False, False]], "short": [[True]], "middle": [[True, False]]})
    assert [(one.k, one.tasks) for one in found] == [(1, 3), (2, 2), (4, 1)]
    assert found[0].any.mean == found[0].all.mean == pytest.approx(100 * (0.5 + 1 + 0.5) / 3)
    assert found[1].any.mean == pytest.approx(100 * (5 / 6 + 1) / 2)
    assert found[1].all.mean == pytest.approx(100 * (1 / 6 + 0) / 2)
    assert (found[2].any.mean, found[2].all.mean) == (100, 0)


def test_a_task_of_several_worlds_stays_one_cluster() -> None:
    found = passes({"a": [[True, True], [False, False]], "b": [[True, False]]})
    assert found[1].any.values == {"a": 50.0, "b": 100.0}
    assert found[1].all.values == {"a": 50.0, "b": 0.0}


def test_tasks_are_strata_by_their_family() -> None:
    attempts = {f"{family}/{n}": [[n % 2 == 0, family == "f"]] for family in "fg" for n in range(6)}
    families = {task: task[0] for task in attempts}
    found = passes(attempts, families)[0].any
    values = [Observation(value=50.0 * sum(own), task=task, family=task[0]) for task, [own] in attempts.items()]
    assert found == estimate_share(values, Unit.TASK, whole=100) != passes(attempts)[0].any


def test_nothing_played_has_no_figures() -> None:
    assert passes({}) == ()

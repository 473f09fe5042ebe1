"""Choosers at work on students whose solve rates are known."""

from collections.abc import Callable

import pytest

from palaestra.seeding import Stream
from palaestra.trainers.choice import ChoiceConfig, GroupOutcome, TaskChooser, TaskFamily

RATES = [n / 20 for n in range(21)]
FAMILIES = tuple(
    TaskFamily(
        reference=f"shop/f{n:02d}",
        level=1 + (n < 7),
        tasks=tuple(f"shop/f{n:02d}/{i:04d}" for i in range(5)),
        weight=1.0,
    )
    for n in range(21)
)
RULES = {
    "uniform": ChoiceConfig(rule="uniform"),
    "bandit": ChoiceConfig(rule="bandit"),
    "goldilocks": ChoiceConfig(rule="goldilocks"),
    "paced": ChoiceConfig(rule="paced"),
}


def results_of(
    chooser: TaskChooser, step: int, rate: Callable[[str], float], *, groups: int = 16
) -> list[GroupOutcome]:
    """A step's groups of 8, each trajectory solved with the family's rate."""
    found: list[GroupOutcome] = []
    for index in range(groups * step, groups * (step + 1)):
        task = chooser.task(index, step)
        stream = Stream.root("student", index)
        solved = sum(stream.word() / 2.0**64 < rate(task) for _ in range(8))
        found.append(GroupOutcome(task=task, solved=solved, tried=8))
    return found


def rate_of(task: str) -> float:
    return RATES[int(task[6:8])]


def studied(
    config: ChoiceConfig, rate: Callable[[str], float] = rate_of, *, steps: int = 40
) -> list[list[GroupOutcome]]:
    chooser = TaskChooser(config, FAMILIES, names=("test", 0))
    taught: list[list[GroupOutcome]] = []
    for step in range(steps):
        taught.append(results_of(chooser, step, rate))
        chooser.observe(taught[-1])
    return taught


def share_between(taught: list[list[GroupOutcome]], low: float, high: float) -> float:
    """The share of the later half's groups that played a family with a solve rate between these."""
    later = [rate_of(one.task) for step in taught[len(taught) // 2 :] for one in step]
    return sum(low <= rate <= high for rate in later) / len(later)


def test_uniform_draws_go_everywhere() -> None:
    assert share_between(studied(RULES["uniform"]), 0.2, 0.8) == pytest.approx(13 / 21, abs=0.08)


def test_goldilocks_and_paced_play_what_is_solved_in_part() -> None:
    """The design's test: at least 80 % of groups within 0.2 and 0.8 after the first steps."""
    for rule in ("goldilocks", "paced"):
        assert share_between(studied(RULES[rule]), 0.2, 0.8) >= 0.8, rule
    assert share_between(studied(RULES["paced"]), 0.35, 0.65) >= 0.7, "PACED looks for half"


def test_the_bandit_draws_by_its_weights() -> None:
    """With rates that are known well, shares are p (1 - p) + floor over their sum."""
    weights = [p * (1 - p) + 0.1 for p in RATES]
    expected = sum(w for w, p in zip(weights, RATES, strict=True) if 0.2 <= p <= 0.8) / sum(weights)
    found = share_between(studied(ChoiceConfig(rule="bandit", memory=1.0), steps=80), 0.2, 0.8)
    assert found == pytest.approx(expected, abs=0.06)


@pytest.mark.parametrize("rule", ["bandit", "goldilocks", "paced"])
def test_as_a_student_learns_choices_move_to_what_is_harder(rule: str) -> None:
    chooser = TaskChooser(RULES[rule], FAMILIES, names=("test", 1))
    means: list[float] = []
    for step in range(60):
        learnt = 0.0 if step < 30 else 0.5
        results = results_of(chooser, step, lambda task, learnt=learnt: min(1.0, rate_of(task) + learnt))  # type: ignore[misc]
        chooser.observe(results)
        means.append(sum(rate_of(one.task) for one in results) / len(results))
    assert sum(means[50:]) / 10 < sum(means[20:30]) / 10 - 0.1


@pytest.mark.parametrize("rule", RULES)
def test_choices_follow_from_index_version_and_results_alone(rule: str) -> None:
    taught = studied(RULES[rule], steps=6)
    again = TaskChooser(RULES[rule], FAMILIES, names=("test", 0))
    for step in taught:
        again.observe(step)
    assert again.version == 6
    for version in range(6):
        assert [again.task(index, version) for index in range(16 * version, 16 * (version + 1))] == [
            one.task for one in taught[version]
        ]
    other = TaskChooser(RULES[rule], FAMILIES, names=("test", 1))
    assert [other.task(n, 0) for n in range(16)] != [again.task(n, 0) for n in range(16)]


def test_an_instance_is_drawn_by_whoever_is_asked() -> None:
    chooser = TaskChooser(
        RULES["uniform"],
        FAMILIES,
        names=("test", 0),
        draw=lambda family, stream: f"{family.reference}/{stream.below(5000):04d}",
    )
    tasks = [chooser.task(n, 0) for n in range(200)]
    assert tasks == [chooser.task(n, 0) for n in range(200)]
    assert len(set(tasks)) > 190


def test_figures_say_where_sampling_went() -> None:
    chooser = TaskChooser(RULES["bandit"], FAMILIES, names=("test", 0))
    results = [
        GroupOutcome(task="shop/f03/0001", solved=2, tried=8),
        GroupOutcome(task="shop/f03/0002", solved=4, tried=8),
        GroupOutcome(task="shop/f09/0000", solved=0, tried=0),
        GroupOutcome(task="shop/f09/0001", solved=8, tried=8),
    ]
    chooser.observe(results)
    found = chooser.metrics(results)
    assert {name: value for name, value in found.items() if "share" in name} == {
        "choice/share/shop/f03": 0.5,
        "choice/share/shop/f09": 0.5,
    }
    assert found["choice/solved/shop/f03"] == 6 / 16
    assert found["choice/expected/shop/f03"] == (6 + 1) / (16 + 2)
    assert found["choice/untried"] == 19

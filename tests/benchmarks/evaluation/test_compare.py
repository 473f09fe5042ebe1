"""Two agents side by side: against the pieces by themselves, under no difference, and what is refused."""

import random
from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluations import outcome, results, suite
from palaestra.benchmarks.evaluation.agents.agent import PRIVILEGED
from palaestra.benchmarks.evaluation.compare import Comparison, compare
from palaestra.benchmarks.evaluation.report import comparison_markdown, comparison_sentences, comparison_table
from palaestra.benchmarks.evaluation.results import Results
from palaestra.benchmarks.evaluation.suite import Ladder
from palaestra.benchmarks.statistics import Observation, Unit, holm, paired_difference, sign_flip_p
from palaestra.errors import ConfigError

SIZES = {"easy": 30, "hard": 20}


def side(
    solved: dict[str, list[list[bool]]], *, agent: str, cells: dict[str, int] | None = None, samples: int = 4
) -> Results:
    """Results of these samples, by cell and task."""
    sizes = cells or {cell: len(tasks) for cell, tasks in solved.items()}
    return results(
        [
            outcome(cell, f"w/{cell}/{task}", sample, solved=own, points=60 * own + 10)
            for cell, tasks in solved.items()
            for task, row in enumerate(tasks)
            for sample, own in enumerate(row)
        ],
        agent=agent,
        suite=suite({cell: [f"w/{cell}/{task}" for task in range(size)] for cell, size in sizes.items()}),
        samples=samples,
    )


def drawn(rng: np.random.Generator, lead: float, *, agent: str, cells: dict[str, int] | None = None) -> Results:
    """An agent that solves each task of each cell as often as its number says, and `lead` more."""
    return side(
        {
            cell: [
                [bool(rng.random() < min(1, 0.1 + 0.7 * task / size + lead)) for _ in range(4)] for task in range(size)
            ]
            for cell, size in (cells or SIZES).items()
        },
        agent=agent,
    )


SMALL = (
    drawn(np.random.default_rng(4), 0.2, agent="A", cells={"easy": 5, "hard": 4}),
    drawn(np.random.default_rng(5), 0, agent="B", cells={"easy": 5, "hard": 4}),
)


def by_task(results: Results, cell: str) -> dict[str, list[float]]:
    """Percent solved by task, in plain Python."""
    tasks = dict.fromkeys(one.task for one in results.outcomes if one.cell == cell and one.fault is None)
    return {
        task: [100.0 * one.solved for one in results.outcomes if one.task == task and one.fault is None]
        for task in tasks
    }


def test_an_agent_that_forks_the_world_is_compared_with_its_like_alone() -> None:
    free, other = SMALL
    searching, another = (
        replace(one, settings=replace(one.settings, playing={"kind": "scripted", PRIVILEGED: True})) for one in SMALL
    )
    for pair in ((searching, other), (free, another)):
        with pytest.raises(ConfigError, match="is privileged: it tries its actions in forks of the measured world"):
            compare(*pair)
    assert compare(searching, another).overall.difference == compare(free, other).overall.difference


def test_every_figure_is_that_of_its_part() -> None:
    rng = np.random.default_rng(1)
    first, second = drawn(rng, 0.15, agent="A"), drawn(rng, 0, agent="B")
    found = compare(first, second)
    assert [one.cell for one in found.cells] == ["easy", "hard"]
    p_values: list[float] = []
    for one in found.cells:
        own, other = by_task(first, one.cell), by_task(second, one.cell)
        assert one.tasks == SIZES[one.cell]
        assert one.first == pytest.approx(fmean(map(fmean, own.values())))
        assert one.second == pytest.approx(fmean(map(fmean, other.values())))
        sides = [
            [Observation(value=value, task=task, family=one.cell) for task, row in side.items() for value in row]
            for side in (other, own)
        ]
        assert one.difference == paired_difference(sides[0], sides[1], Unit.TASK, whole=100)
        assert one.difference.mean == pytest.approx(one.first - one.second)
        p_values.append(sign_flip_p([fmean(own[task]) - fmean(other[task]) for task in own]))
        assert one.p == pytest.approx(p_values[-1], abs=1e-12)
    assert [one.corrected for one in found.cells] == pytest.approx(holm(p_values))
    assert found.overall.tasks == 50
    assert found.overall.difference.mean == pytest.approx(
        fmean([one.difference.mean for one in found.cells for _ in range(one.tasks)])
    )
    assert found.overall.corrected == found.overall.p


def test_points_are_compared_where_they_are_asked_for() -> None:
    rng = np.random.default_rng(2)
    sides = drawn(rng, 0.1, agent="A"), drawn(rng, 0, agent="B")
    solved, score = compare(*sides), compare(*sides, measure="score")
    # Points here are 60 for a success and 10 besides, so their difference is 0.6 of that in percent.
    assert score.overall.difference.mean == pytest.approx(0.6 * solved.overall.difference.mean)
    assert score.overall.first == pytest.approx(0.6 * solved.overall.first + 10)


def test_sides_changed_over_turn_every_difference_around() -> None:
    rng = np.random.default_rng(3)
    first, second = drawn(rng, 0.1, agent="A"), drawn(rng, 0, agent="B")
    there, back = compare(first, second), compare(second, first)
    for one, other in zip(there.cells, back.cells, strict=True):
        assert one.difference.mean == pytest.approx(-other.difference.mean)
        assert (one.p, one.corrected) == (other.p, other.corrected)


@settings(max_examples=25)
@given(st.randoms(use_true_random=False))
def test_order_of_outcomes_changes_nothing(rng: random.Random) -> None:
    first, second = SMALL
    shuffled = replace(first, outcomes=tuple(rng.sample(first.outcomes, k=len(first.outcomes))))
    assert compare(shuffled, second) == compare(first, second)


def test_under_no_difference_hardly_any_cell_is_called_significant() -> None:
    # Two agents of the same chances; over the two cells together Holm bounds false findings by 5 %.
    rng = np.random.default_rng(6)
    cells = {"easy": 12, "hard": 12}
    found = [compare(drawn(rng, 0, agent="A", cells=cells), drawn(rng, 0, agent="B", cells=cells)) for _ in range(150)]
    assert fmean(any(one.significant for one in own.cells) for own in found) <= 0.11
    assert fmean(own.overall.significant for own in found) <= 0.11


def test_a_difference_that_is_there_is_told() -> None:
    rng = np.random.default_rng(7)
    found = [compare(drawn(rng, 0.25, agent="A"), drawn(rng, 0, agent="B")) for _ in range(12)]
    assert fmean(own.overall.significant for own in found) == 1
    assert all("A solves" in comparison_sentences(own)[0] for own in found)


def test_only_shared_tasks_count_and_the_others_are_named() -> None:
    first = side({"easy": [[True], [True], [False]]}, agent="A", samples=1)
    second = side({"easy": [[False], [True]]}, agent="B", cells={"easy": 3}, samples=1)
    found = compare(first, second)
    assert (found.cells[0].tasks, found.cells[0].first, found.cells[0].second) == (2, 100, 50)
    assert found.cautions[1:] == ("cell easy: 1 task has a score of A alone and is left out (w/easy/2).",)
    assert comparison_sentences(found)[-1] == found.cautions[1]


def test_a_run_that_is_not_done_is_named_with_what_it_lacks() -> None:
    whole = side({"easy": [[True], [True]]}, agent="A", samples=1)
    half = side({"easy": [[False]]}, agent="B", cells={"easy": 2}, samples=1)
    assert compare(whole, whole).cautions == ()
    assert compare(whole, half).cautions[0].startswith("B is not done: 1 of 2 episodes are played;")


def test_a_fault_leaves_a_task_its_other_samples() -> None:
    first = side({"easy": [[True, False], [True, True]]}, agent="A", samples=2)
    broken = outcome("easy", "w/easy/0", 1, fault="server")
    kept = (*(one for one in first.outcomes if (one.task, one.sample) != ("w/easy/0", 1)), broken)
    found = compare(replace(first, outcomes=kept), side({"easy": [[False], [False]]}, agent="B", samples=1))
    assert (found.cells[0].tasks, found.cells[0].first) == (2, 100)


def test_what_differs_beside_the_agents_is_said() -> None:
    first = side({"easy": [[True], [True]]}, agent="A", samples=1)
    broken = outcome("easy", "w/easy/1", 0, fault="server")
    second = side({"easy": [[False, True], [False, True]]}, agent="B", samples=2)
    other = replace(
        second,
        outcomes=(*second.outcomes[:2], broken, *second.outcomes[3:]),
        settings=replace(
            second.settings,
            seed=5,
            versions={"palaestra": "9"},
            suite=replace(second.suite, notes=("Task files of x, digest 12.",)),
        ),
    )
    first = replace(first, settings=replace(first.settings, versions={"palaestra": "8", "torch": "2"}))
    assert compare(first, other).cautions == (
        "B: 1 of 4 episodes have no score, by faults.",
        "The seeds differ (0 and 5), so the sides do not share their luck.",
        "Samples of a task differ: 1 and 2.",
        "Versions of palaestra differ: 8 and 9.",
        "Said of one side's suite alone: Task files of x, digest 12.",
    )


def test_cells_of_one_run_alone_are_said() -> None:
    first = side({"easy": [[True]], "hard": [[True]]}, agent="A", samples=1)
    found = compare(first, side({"easy": [[False]]}, agent="B", samples=1))
    assert [one.cell for one in found.cells] == ["easy"]
    assert found.cautions == ("1 cell has scores of A alone and is left out (cell hard).",)


def test_runs_of_different_suites_are_refused() -> None:
    first, second = SMALL
    renamed = replace(second.suite, name="bfcl")
    with pytest.raises(ConfigError, match="suites 'made' and 'bfcl'; only runs of one suite"):
        compare(first, replace(second, settings=replace(second.settings, suite=renamed)))


def test_the_same_name_for_other_worlds_is_refused() -> None:
    first, second = SMALL
    noisy = tuple(replace(cell, switches={"noise": {"failures": 20}}) for cell in second.suite.cells)
    changed = replace(second, settings=replace(second.settings, suite=replace(second.suite, cells=noisy)))
    with pytest.raises(ConfigError, match=r"cell 'easy' of suite 'made' is .* with \{\} in one run and .*failures"):
        compare(first, changed)


def test_runs_that_share_nothing_are_refused() -> None:
    first = side({"easy": [[True]]}, agent="A", samples=1)
    with pytest.raises(ConfigError, match="share no cell"):
        compare(first, side({"hard": [[True]]}, agent="B", samples=1))
    unscored = replace(first, outcomes=(outcome("easy", "w/easy/0", fault="world"),))
    with pytest.raises(
        ConfigError, match=r"no task of suite 'made' has a score in both runs; evaluate .*1 cell has scores"
    ):
        compare(first, unscored)


def told(first: list[list[bool]], second: list[list[bool]], **names: str) -> Comparison:
    return compare(
        side({"easy": first}, agent=names.get("a", "A"), samples=1),
        side({"easy": second}, agent=names.get("b", "B"), samples=1),
    )


def test_a_sentence_says_who_is_ahead_and_whether_it_can_be_chance() -> None:
    (sentence,) = comparison_sentences(told([[True]] * 10, [[False]] * 10))
    assert sentence == (
        "A solves 100.0 points more than B on cell easy [56.4, 100.0], p = 0.002 (one cell; 10 tasks): "
        "significant at 5 %."
    )
    (sentence,) = comparison_sentences(told([[False]] * 10, [[True]] * 10))
    assert sentence.startswith("B solves 100.0 points more than A on cell easy [56.4, 100.0]")


def test_a_sentence_says_where_nothing_can_be_told() -> None:
    (sentence,) = comparison_sentences(told([[True]] * 3, [[True]] * 3))
    assert sentence == (
        "No difference can be told on cell easy, and with so few tasks none could be: both solve 100.0 %, "
        "difference (of each task: 0.0, 0.0, 0.0), p = 1.000 (one cell; 3 tasks)."
    )
    (sentence,) = comparison_sentences(told([[True]] + [[False]] * 19, [[False]] * 20))
    assert sentence.startswith(
        "No difference can be told on cell easy: A solves 5.0 points more than B [-12.4, 26.0], p = 1"
    )


def test_a_table_has_a_row_for_each_cell_and_one_for_all() -> None:
    table = comparison_table(compare(*SMALL))
    assert [row[0] for row in table.rows] == ["cell easy", "cell hard", "all cells"]
    assert table.columns[2:4] == ("A", "B")
    assert all(len(row) == len(table.columns) for row in table.rows)


def test_names_cannot_put_markup_into_the_sentences_of_markdown() -> None:
    text = comparison_markdown(told([[True]] * 10, [[False]] * 10, a="<img src=x>\n# A"))
    assert "\n# A" not in text.partition("\n- ")[2]
    assert "<img" not in text.partition("\n- ")[2]


def test_a_rung_is_named_with_its_axis() -> None:
    first, second = SMALL
    ladder = Ladder(axis="noise", title="Noise", cells=("easy", "hard"))
    sides = [
        replace(own, settings=replace(own.settings, suite=replace(own.suite, ladders=(ladder,))))
        for own in (first, second)
    ]
    assert [one.label for one in compare(*sides).cells] == ["cell easy", "Noise: cell hard"]


def test_versions_of_one_task_are_one_task_in_a_comparison() -> None:
    better, worse = [[True], [True], [True], [False]], [[False], [True], [False], [False]]
    cells = ("base", "miss", "long")
    sides = [side(dict.fromkeys(cells, own), agent=name, samples=1) for name, own in (("A", better), ("B", worse))]
    versions = {f"w/{cell}/{task}": f"w/{task}" for cell in cells for task in range(4)}
    joined = [
        replace(one, settings=replace(one.settings, suite=replace(one.suite, versions=versions))) for one in sides
    ]
    (single,) = compare(*(side({"base": own}, agent="A", samples=1) for own in (better, worse))).cells
    found = compare(*joined).overall
    assert (found.tasks, found.p, found.difference.mean) == (4, single.p, single.difference.mean)
    assert [*found.difference.values.values()] == [*single.difference.values.values()]
    assert compare(*sides).overall.p < found.p

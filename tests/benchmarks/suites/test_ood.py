"""The internal axes: what is in distribution, what each rung changes, and that every cell can be solved."""

from collections import Counter
from collections.abc import Sequence

import gymnasium as gym
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.agents import PatientAgent, finish_at_once, no_op, oracle, rollout
from palaestra.benchmarks.evaluation.suite import Cell, Suite
from palaestra.benchmarks.suites import SuiteOptions, suite_of
from palaestra.benchmarks.suites.ood import AXES, SWITCH_AXES, suite
from palaestra.benchmarks.suites.ood.family import distance
from palaestra.benchmarks.suites.ood.pool import BASE, TaskPool, even, families_of
from palaestra.envs import ToolEnv
from palaestra.errors import ConfigError, UnknownNameError
from palaestra.records import Json

pytestmark = pytest.mark.xdist_group("ood")

WORLD = "palaestra/Storefront-v0"
FEW = ("cancel-order", "price-match", "order-status", "return-opened-item", "talk-which-order")
"""Families of an agent that was trained on little."""


@pytest.fixture(scope="module")
def small() -> Suite:
    return suite(limit=4)


@pytest.fixture(scope="module")
def narrow() -> Suite:
    return suite(limit=6, families=FEW)


def by_id(made: Suite) -> dict[str, Cell]:
    return {cell.id: cell for cell in made.cells}


def world(cell: Cell) -> ToolEnv:
    env = gym.make(cell.env_id, **cell.switches).unwrapped
    assert isinstance(env, ToolEnv)
    return env


def test_every_axis_of_the_issue_has_a_ladder_from_none_to_strong(small: Suite) -> None:
    assert [ladder.axis for ladder in small.ladders] == list(AXES)
    assert list(AXES) == [
        "entities",
        "family",
        "policy",
        "surface",
        "interface",
        "noise",
        "horizon",
        "wording",
        "temper",
    ]
    cells = by_id(small)
    assert len(cells) == len(small.cells)
    begins = {"temper": "temper/as-stated", "interface": "interface/plain"}
    for ladder in small.ladders:
        assert ladder.cells[0] == begins.get(ladder.axis, BASE)
        assert len(ladder.cells) >= 3
        assert len({*ladder.cells}) == len(ladder.cells)
        assert {*ladder.cells} <= {*cells}
        assert ladder.note
    assert {*cells} == {cell for ladder in small.ladders for cell in ladder.cells}
    assert all(cell.env_id == WORLD for cell in small.cells)


def test_every_cell_is_solved_by_its_solution_and_by_nothing_else(small: Suite) -> None:
    for cell in small.cells:
        env = world(cell)
        for task in cell.tasks:
            score = rollout(env, PatientAgent(oracle(env.oracle)), name="oracle", seed=0, task=task).score
            assert score.passed, (cell.id, task)
            assert score.points == 100, (cell.id, task)
        for name, agent in (("no-op", no_op()), ("finish", finish_at_once())):
            score = rollout(env, agent, name=name, seed=0, task=cell.tasks[0]).score
            assert not score.passed, (cell.id, name)
            assert score.points <= 20, (cell.id, name)


def test_no_cell_holds_a_task_that_was_trained_on(small: Suite, narrow: Suite) -> None:
    listed = {*TaskPool(WORLD).task_set.ids("train")}
    for made in (small, narrow):
        for cell in made.cells:
            assert cell.tasks
            assert not listed & {*cell.tasks}, cell.id


def test_in_distribution_are_trained_families_in_the_worlds_of_training(narrow: Suite) -> None:
    pool = TaskPool(WORLD, FEW, limit=6)
    tasks = by_id(narrow)[BASE].tasks
    assert {task.split("/")[1] for task in tasks} == {*FEW}
    assert all(pool.instance(task).spec.world_seed in pool.world.seeds["train"] for task in tasks)


def test_what_is_in_distribution_repeats_no_request_that_was_trained_on() -> None:
    pool = TaskPool(WORLD, ["find-double-charge"])
    tasks = pool.fresh(pool.trained, about=5)
    trained = [pool.instance(task) for task in pool.listed_tasks("train", pool.trained)]
    seen = {(i.spec.world_seed, i.messages[1]["content"].partition(", from ")[2].partition(":")[0]) for i in trained}
    for task in tasks:
        made = pool.instance(task)
        sender = made.messages[1]["content"].partition(", from ")[2].partition(":")[0]
        assert (made.spec.world_seed, sender) not in seen, task


def test_entities_are_trained_families_in_worlds_that_are_new(narrow: Suite) -> None:
    pool = TaskPool(WORLD)
    for id, split in (("entities/dev-worlds", "dev"), ("entities/held-out-records", "heldout-records")):
        specs = [pool.instance(task).spec for task in by_id(narrow)[id].tasks]
        assert {spec.split for spec in specs} == {split}
        assert {spec.family.split("/")[1] for spec in specs} == {*FEW}


def test_families_come_as_twins_then_near_then_far(narrow: Suite) -> None:
    pool = TaskPool(WORLD, FEW)
    cells = by_id(narrow)
    assert narrow.ladders[1].cells == (
        BASE, "wording/held-out", "family/twins", "family/near", "family/far",
    )  # fmt: skip
    twins = families_of(cells["family/twins"].tasks)
    assert all(pool.family(name).twin_of in pool.trained for name in twins)
    near, far = (families_of(cells[f"family/{rung}"].tasks) for rung in ("near", "far"))
    assert max(distance(pool, name) for name in near) <= min(distance(pool, name) for name in far)
    assert not {*near, *far, *twins} & {*pool.trained}


def test_a_trained_family_is_at_no_distance_and_another_at_some() -> None:
    pool = TaskPool(WORLD, ["cancel-order"])
    assert distance(pool, "storefront/cancel-order") == 0
    assert 0 < distance(pool, "storefront/cancel-order-twin") < distance(pool, "storefront/finish-build") <= 1


def test_rungs_that_only_switch_something_share_their_tasks(small: Suite) -> None:
    cells = by_id(small)
    for ladder in small.ladders:
        if ladder.axis in ("surface", "noise", "wording"):
            switched = [id for id in ladder.cells if id not in ("entities/held-out-records", "wording/held-out")]
            assert {cells[id].tasks for id in switched} == {cells[BASE].tasks}
        if ladder.axis == "temper":
            assert len({cells[id].tasks for id in ladder.cells}) == 1


def test_rungs_of_policy_change_one_rule_then_some_then_all_and_decide_every_task(small: Suite) -> None:
    from palaestra.envs.rule_twin import is_decided, rule_twin
    from palaestra.envs.worlds.storefront.rules import CHANGES, rules

    cells = by_id(small)
    counts = {
        BASE: {0},
        "policy/one-rule": {1},
        "policy/some-rules": {*range(8, 13)},
        "policy/other-worlds": {*range(8, 13)},
        "policy/all-rules": {len(CHANGES)},
    }
    assert tuple(counts) == next(ladder.cells for ladder in small.ladders if ladder.axis == "policy")
    for id, wanted in counts.items():
        env = world(cells[id])
        for task in cells[id].tasks:
            instance = env.task_set.instance(task, env.handbook)
            assert len(rules.list_changes(instance.rules)) in wanted, (id, task)
            assert id == BASE or is_decided(instance, rule_twin(instance)), (id, task)


def test_bins_of_horizon_hold_solutions_of_their_length(narrow: Suite) -> None:
    pool = TaskPool(WORLD, FEW)
    bounds = {"short": (0, 7), "medium": (8, 10), "long": (11, 14), "longest": (15, 1_000)}
    for cell in narrow.cells:
        if cell.id.startswith("horizon/"):
            low, high = bounds[cell.id.partition("/")[2]]
            assert all(low <= pool.instance(task).spec.oracle_calls <= high for task in cell.tasks), cell.id
            trained = {*families_of(cell.tasks)} <= {*pool.trained}
            assert trained != cell.label.endswith("untrained families"), cell.id


def test_a_limit_holds_for_every_cell_and_spreads_over_families(small: Suite) -> None:
    for cell in small.cells:
        assert len(cell.tasks) <= 4
        assert max(Counter(task.rpartition("/")[0] for task in cell.tasks).values()) <= 2, cell.id


def test_axes_choose_ladders_and_unknown_ones_are_told_near_names() -> None:
    made = suite(limit=2, axes=["wording", "surface"])
    assert [ladder.axis for ladder in made.ladders] == ["surface", "wording"]
    with pytest.raises(UnknownNameError, match="unknown axis 'wordings'; did you mean 'wording'"):
        suite(axes=["wordings"])


@pytest.mark.parametrize(("switch", "axis"), SWITCH_AXES.items())
def test_a_switch_that_is_no_axis_is_answered_with_the_axis_that_measures_it(switch: str, axis: str) -> None:
    assert axis in AXES
    assert switch not in AXES
    with pytest.raises(UnknownNameError, match=rf"unknown axis '{switch}'.*the axis '{axis}' measures it"):
        suite(axes=[switch])


def test_families_that_nobody_can_train_on_and_empty_limits_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="unknown family to train on 'storefront/delay-credit'"):
        suite(families=["delay-credit"])
    with pytest.raises(ValueError, match="limit=0: a cell has at least one task"):
        suite(limit=0)


def test_families_are_an_option_of_the_command_too() -> None:
    options = SuiteOptions(limit=2, axes=("entities",), options={"families": "cancel-order, storefront/price-match"})
    made = suite_of("ood", options)
    assert made == suite(limit=2, axes=["entities"], families=["price-match", "cancel-order"])
    with pytest.raises(UnknownNameError, match="unknown option 'family'; did you mean 'families'"):
        suite_of("ood", SuiteOptions(limit=2, options={"family": "cancel-order"}))


@pytest.mark.parametrize("families", [5, True, None, {"cancel-order": 1}, ["cancel-order", 5]])
def test_families_that_are_no_names_are_refused(families: Json) -> None:
    with pytest.raises(ConfigError) as told:
        suite_of("ood", SuiteOptions(limit=2, options={"families": families}))
    assert str(told.value).startswith(f"families={families!r}: write names with commas between, or a list of them")


def test_a_suite_is_the_same_every_time(narrow: Suite) -> None:
    assert suite(limit=6, families=FEW) == narrow


@given(
    sizes=st.lists(st.integers(min_value=1, max_value=6), min_size=1, max_size=8),
    limit=st.integers(min_value=1, max_value=40),
)
def test_an_even_choice_takes_as_much_of_each_family_as_can_be(sizes: Sequence[int], limit: int) -> None:
    tasks = [f"w/f{family}/{index:04d}" for family, size in enumerate(sizes) for index in range(size)]
    chosen = even(tasks, limit)
    assert len(chosen) == min(limit, len(tasks))
    assert [task for task in tasks if task in chosen] == list(chosen)
    counts = Counter(task.rpartition("/")[0] for task in chosen)
    for family, size in enumerate(sizes):
        own = counts[f"w/f{family}"]
        assert own == size or own >= max(counts.values()) - 1

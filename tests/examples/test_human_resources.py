"""The human-resources world of the examples: a world of one's own has what a bundled one has."""

import pickle
from pathlib import Path
from typing import Any, cast

import gymnasium as gym
import pytest

import palaestra
from palaestra.agents import oracle, rollout
from palaestra.envs import ToolEnv
from palaestra.envs.kit import HandbookVariants
from palaestra.proof import prove
from property.budget import SOAK

FOLDER = Path(__file__).parents[2] / "examples" / "worlds" / "human_resources"


@pytest.fixture(scope="module")
def env() -> ToolEnv:
    made = gym.make(palaestra.register_world(FOLDER)).unwrapped
    assert isinstance(made, ToolEnv)
    return made


def code_lines(file: Path) -> list[str]:
    """The lines of a file without imports, comments and what is too short to be a statement of its own."""
    lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if len(line) > 15 and not line.startswith(("#", "from ", "import ", '"""'))]


def test_it_is_small() -> None:
    lines = sum(len(file.read_text().splitlines()) for file in FOLDER.glob("*.py"))
    assert lines <= 300


def test_it_repeats_little_of_the_storefront() -> None:
    storefront = FOLDER.parents[2] / "src" / "palaestra" / "envs" / "worlds" / "storefront"
    known = {line for file in storefront.rglob("*.py") for line in code_lines(file)}
    own = [line for file in FOLDER.glob("*.py") for line in code_lines(file)]
    # Alike are declarations of columns and of the world, 16 of 165 lines. A desk without the kit repeated 357 of 504.
    assert sum(line in known for line in own) <= 0.15 * len(own)


def test_it_has_five_tables_twelve_tools_and_four_families_with_twins(env: ToolEnv) -> None:
    families = env.task_set.families.values()
    assert len(list(env.world.schema)) == 5
    assert len(list(env.world.toolbox)) - 3 >= 12
    assert [sum(f.twin_of is None for f in families), sum(f.twin_of is not None for f in families)] == [4, 4]


def test_its_tasks_are_proved(env: ToolEnv) -> None:
    """Every task in a soak, else one task of each family in each split."""
    splits = ("dev", "heldout", "heldout-policy", "heldout-records")
    ids = [(split, task) for split in splits for task in env.task_set.candidates(split)]
    assert len(ids) == 100
    first = {(split, task.rpartition("/")[0]): task for split, task in reversed(ids)}
    proved = [task for _, task in ids] if SOAK else sorted(first.values())
    assert len(proved) >= 25
    assert not prove(env, proved).faults


@pytest.mark.parametrize("split", ["train", "dev", "heldout", "heldout-policy", "heldout-records"])
def test_the_oracle_gets_every_point(env: ToolEnv, split: str) -> None:
    for task in env.task_set.ids(split):
        env.reset(options={"task": task})
        assert rollout(env, oracle(env.oracle), name="oracle", seed=0, task=task).score.passed, task


def test_the_oracle_gets_every_point_on_the_generic_surface() -> None:
    made = gym.make(palaestra.register_world(FOLDER), surface="generic").unwrapped
    assert isinstance(made, ToolEnv)
    for task in made.task_set.ids("dev"):
        made.reset(options={"task": task})
        assert rollout(made, oracle(made.oracle), name="oracle", seed=0, task=task).score.passed, task


def test_its_tools_pickle(env: ToolEnv) -> None:
    for tool in env.world.toolbox:
        assert pickle.loads(pickle.dumps(tool)).export() == tool.export()


def test_a_derived_rubric_passes_the_oracle_as_the_authors_does(env: ToolEnv) -> None:
    for task in env.task_set.ids("dev"):
        instance = env.task_set.instance(task)
        derived = {c.id for c in instance.derived_rubric().criteria if c.kind == "expect"}
        assert len(derived) >= 2, task


@pytest.mark.parametrize("noise", [{"stale": 80}, {"events": 1_200}, {"injections": 80}, {"renames": True}])
def test_it_is_solved_under_noise(noise: dict[str, int | bool]) -> None:
    made = gym.make(palaestra.register_world(FOLDER), noise=noise, split="dev").unwrapped
    assert isinstance(made, ToolEnv)
    made.reset(seed=0)
    assert rollout(made, oracle(made.oracle), name="oracle", seed=0).score.passed


def test_each_rule_changes_the_world(env: ToolEnv) -> None:
    rules = cast("HandbookVariants[Any]", env.world.rules)
    own = env.world.populate(1000, rules.own)
    for name in rules.changes:
        changed = env.world.populate(1000, rules.one_changed(name))
        assert changed.rows != own.rows, name

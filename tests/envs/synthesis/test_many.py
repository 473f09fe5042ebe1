"""Many worlds behind one environment: each episode is that of the world's own environment."""

from typing import Any

import gymnasium as gym
import pytest

from palaestra.agents import oracle, rollout
from palaestra.envs import ToolEnv
from palaestra.envs.synthesis import MANY_SPLITS, ManyWorldsEnv, draw_plan, listed_numbers
from palaestra.errors import CapabilityError, UnknownNameError
from palaestra.trainers.loops.config import WorldConfig
from palaestra.trainers.loops.material import demonstrations_of, tasks_of

NUMBERS = [0, 2, 4]


def make(**switches: Any) -> ManyWorldsEnv:
    env = gym.make("palaestra/Synth-v0", worlds=NUMBERS, unlisted=True, **switches).unwrapped
    assert isinstance(env, ManyWorldsEnv)
    return env


@pytest.fixture(scope="module")
def env() -> ManyWorldsEnv:
    return make()


def test_its_tasks_are_those_of_its_worlds(env: ManyWorldsEnv) -> None:
    for split, (_, own) in MANY_SPLITS.items():
        alone = [
            task
            for number in NUMBERS
            for task in gym.make("palaestra/Synth-v0", world=number, unlisted=True)
            .get_wrapper_attr("task_set")
            .ids(own)
        ]
        assert [*env.task_set.ids(split)] == alone


def test_a_solution_is_worth_what_it_is_in_the_world_alone(env: ManyWorldsEnv) -> None:
    for number in NUMBERS:
        alone = gym.make("palaestra/Synth-v0", world=number, unlisted=True).unwrapped
        assert isinstance(alone, ToolEnv)
        for task in alone.task_set.ids("train")[::9]:
            together = rollout(env, oracle(env.oracle), name="oracle", seed=3, task=task)
            single = rollout(alone, oracle(alone.oracle), name="oracle", seed=3, task=task)
            assert together.score is not None
            assert together.score.passed
            assert [*together.turns] == [*single.turns]
            assert env.digest() == alone.digest()


def test_a_seed_draws_world_and_task(env: ManyWorldsEnv) -> None:
    drawn = [env.reset(seed=seed)[1]["task"].id for seed in range(40)]
    assert {task.partition("/")[0] for task in drawn} == {f"synth-{number}" for number in NUMBERS}
    assert set(drawn) <= set(env.task_set.ids("train"))
    other = make()
    other.reset(seed=7)
    assert [other.reset(seed=seed)[1]["task"].id for seed in range(40)] == drawn
    held_out = make(split="heldout")
    assert held_out.reset(seed=1)[1]["task"].id in env.task_set.ids("heldout")


def test_snapshots_and_forks_cross_worlds(env: ManyWorldsEnv) -> None:
    first, second = env.task_set.ids("train")[0], env.task_set.ids("train")[-1]
    env.reset(seed=0, options={"task": first})
    calls = env.oracle()
    env.step({"tool": calls[0].tool, "arguments": dict(calls[0].arguments)})
    kept, stood = env.snapshot(), env.digest()
    copy = env.fork()
    env.reset(seed=0, options={"task": second})
    assert env.playing is not copy.playing
    assert copy.digest() == stood != env.digest()
    env.restore(kept)
    assert env.digest() == stood
    for call in calls[1:]:
        assert (
            copy.step({"tool": call.tool, "arguments": dict(call.arguments)})[1]
            == (env.step({"tool": call.tool, "arguments": dict(call.arguments)})[1])
        )
    assert copy.digest() == env.digest()


def test_training_takes_all_of_them_as_one_world() -> None:
    config = WorldConfig(env_id="palaestra/Synth-v0", switches={"worlds": NUMBERS, "unlisted": True})
    tasks = tasks_of(config)
    assert {task.partition("/")[0] for task in tasks} == {f"synth-{number}" for number in NUMBERS}
    shown = demonstrations_of(config, tasks=[tasks[0], tasks[-1]])
    assert [episode.task.id for episode in shown] == [tasks[0], tasks[-1]]
    assert all(episode.score.passed for episode in shown)


@pytest.mark.parametrize(
    ("switches", "error", "says"),
    [
        ({"split": "test"}, UnknownNameError, "unknown split 'test'"),
        ({"worlds": 0}, ValueError, "worlds=0: give a number above 0"),
        ({"worlds": True}, ValueError, "worlds=True: give a number above 0"),
        ({"worlds": 10**6}, CapabilityError, "worlds=1000000: .* are listed for training; give fewer"),
        ({"worlds": [10**7]}, CapabilityError, "world=10000000: no generated world of that number is listed"),
        ({"worlds": [0], "unlisted": True, "wording": "loud"}, UnknownNameError, "unknown wording"),
    ],
)
def test_what_no_world_has_is_refused(switches: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        gym.make("palaestra/Synth-v0", **switches)


@pytest.mark.parametrize("task", ["storefront/cancel-order/0000", "synth-01/x/0000", "synth-/x/0000", "x"])
def test_a_task_of_no_generated_world_is_refused(env: ManyWorldsEnv, task: str) -> None:
    with pytest.raises(UnknownNameError, match="the id begins with a world's, such as synth-17"):
        env.reset(seed=0, options={"task": task})


def test_listed_worlds_are_in_the_split_that_their_plan_has() -> None:
    for world_split, _ in MANY_SPLITS.values():
        assert all(draw_plan(number).split == world_split for number in listed_numbers(world_split))

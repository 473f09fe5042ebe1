"""The proof of `my_family.py`, as `palaestra tasks prove` gives it. Run it with `pytest`."""

from pathlib import Path

import gymnasium as gym
import pytest

from palaestra.agents import oracle, rollout
from palaestra.envs import ToolEnv
from palaestra.proof import Proof, proof_lines, prove

TASK_FILE = Path(__file__).with_name("my_family.py")


@pytest.fixture(scope="module")
def env() -> ToolEnv:
    """The world, with the families of the task file in the place of its own."""
    made = gym.make("palaestra/Storefront-v0", tasks=TASK_FILE).unwrapped
    assert isinstance(made, ToolEnv)
    return made


@pytest.fixture(scope="module")
def proof(env: ToolEnv) -> Proof:
    """The proof of every task that the split `train` lists."""
    return prove(env, env.task_set.ids("train"))


def test_my_family_is_proved(proof: Proof) -> None:
    """It can be solved, wrong work is rejected, right work is accepted, and no attack pays."""
    assert proof.verdict.proved, "\n".join(proof_lines(proof))


def test_its_oracle_gets_every_point(env: ToolEnv) -> None:
    """The author's own calls, played as an agent would play them."""
    episode = rollout(env, oracle(env.oracle), name="oracle", seed=0)
    why = [f"{name}: {verdict.reason}" for name, verdict in episode.score.verdicts.items() if not verdict.met]
    assert episode.score.passed, "\n".join(["the oracle does not solve it:", *why])


def test_its_tasks_differ(env: ToolEnv) -> None:
    """Tasks of one world are not one task over and over."""
    prompts = {env.task_set.instance(task).messages[-1]["content"] for task in env.task_set.ids("train")}
    assert len(prompts) > 1, "every task asks the same; pick and draw from the desk"

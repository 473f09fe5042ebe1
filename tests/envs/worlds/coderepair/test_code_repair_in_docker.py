"""The world of code repair with its code in Docker: the same results, scores and digests as in namespaces."""

import gymnasium as gym
import pytest

import palaestra
from palaestra.agents import oracle, rollout
from palaestra.envs import ToolEnv
from palaestra.envs.worlds.coderepair import PLACE
from palaestra.envs.worlds.coderepair.library import repositories
from palaestra.envs.worlds.coderepair.running import run_tests
from palaestra.tools.sandbox import SANDBOX_VARIABLE


@pytest.mark.parametrize("name", list(repositories()))
def test_a_repository_has_the_same_results(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = repositories()[name]
    tests = {**repository.tests, **repository.hidden}
    planted = {path: text for bug in repository.bugs[:1] for path, text in ((bug.path, repository.sources[bug.path]),)}
    sources = {**repository.sources, **{path: repository.bugs[0].plant(text) for path, text in planted.items()}}
    here = run_tests(sources, tests)
    assert not all(result.passed for result in here.values())
    monkeypatch.setenv(SANDBOX_VARIABLE, "docker")
    assert run_tests(sources, tests) == here


@pytest.mark.parametrize("task", ["code-repair/graphs/0002", "code-repair/ledger/5000"])
def test_an_episode_has_the_same_score_and_digest(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[tuple[int, bool, str]] = []
    for backend in ("namespaces", "docker"):
        monkeypatch.setenv(SANDBOX_VARIABLE, backend)
        env = gym.make(palaestra.register_world(PLACE), task=task).unwrapped
        assert isinstance(env, ToolEnv)
        env.reset(seed=0)
        score = rollout(env, oracle(env.oracle), name="oracle", seed=0, task=task).score
        found.append((score.points, score.passed, env.digest()))
    assert found[0] == found[1]
    assert found[0][1]


def test_code_as_an_action_runs_there_with_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = """```python
import time, random
print(time.time(), random.random())
for section in search_handbook(query="cancel")["results"]:
    print(section["id"])
```"""
    found: list[tuple[str, str]] = []
    for backend in ("namespaces", "docker"):
        monkeypatch.setenv(SANDBOX_VARIABLE, backend)
        env = gym.make("palaestra/Storefront-v0", task="storefront/cancel-order/5000", action_format="python").unwrapped
        assert isinstance(env, ToolEnv)
        env.reset(seed=0)
        messages, *_ = env.step(turn)
        found.append((messages[0]["content"], env.digest()))
    assert found[0] == found[1]
    assert found[0][0].count("\n") >= 2

"""What holds of every benchmark whose tool is `act`: its solution solves, episodes do not touch, junk is worth 0."""

from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium as gym
import pytest

from palaestra.benchmarks.external import ExternalEnv


@dataclass(frozen=True, slots=True, kw_only=True)
class ActingBenchmark:
    """A benchmark, and the tasks that it is tested with."""

    env_id: str
    argument: str
    """Of the tool `act`."""
    solved: tuple[str, ...]
    """Tasks that its own solution is to solve."""
    task: str
    other: str
    """A task that is played between the turns of `task`."""
    bad: tuple[Any, ...]
    """Values of the argument that are refused."""
    states_length: bool = True
    """Whether its tasks say how many calls their solutions take."""

    def make(self, **options: Any) -> ExternalEnv:
        """The environment."""
        env = gym.make(self.env_id, **options).unwrapped
        assert isinstance(env, ExternalEnv)
        return env

    def act(self, value: Any) -> Any:
        """The action with this argument."""
        return {"tool": "act", "arguments": {self.argument: value}}


def play(env: ExternalEnv, turns: Any) -> list[Any]:
    """All that an agent is shown and paid."""
    shown = list[Any]()
    for turn in turns:
        observation, reward, terminated, truncated, info = env.step(turn)
        shown.append((observation, reward, terminated, info["points"], info["end"], info["state_hash"]))
        if terminated or truncated:
            break
    return shown


def generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give the tests of a contract the tasks and bad values of its benchmark: a hook for a conftest."""
    plain: Any = metafunc  # pytest does not say of which class `cls` is
    benchmark: ActingBenchmark | None = getattr(plain.cls, "benchmark", None)
    if benchmark is None:
        return
    for name, values in (("solved", benchmark.solved), ("bad", benchmark.bad)):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, values)


class ActingContract:
    """The tests; a subclass names its benchmark."""

    benchmark: ClassVar[ActingBenchmark]

    def test_the_solution_solves(self, solved: str) -> None:
        env = self.benchmark.make(task=solved)
        env.reset(seed=0)
        gold = env.oracle()
        assert gold is not None
        assert len(gold) <= env.task.max_turns
        assert not self.benchmark.states_length or len(gold) == env.task.oracle_calls
        play(env, gold)
        score = env.score()
        assert (score.points, score.passed) == (100, True), score
        env.close()

    def test_the_same_turns_show_the_same_in_a_fresh_process(self) -> None:
        shown = list[Any]()
        for seconds in (300.0, 301.0):
            env = self.benchmark.make(task=self.benchmark.task, seconds=seconds)
            start, _ = env.reset(seed=0)
            gold = env.oracle() or ()
            shown.append((start, gold, play(env, gold)))
            worker = env._worker  # pyright: ignore[reportPrivateUsage]
            assert worker is not None
            env.close()
            worker.close()
        assert shown[0] == shown[1]

    def test_two_episodes_do_not_touch(self) -> None:
        alone = self.benchmark.make(task=self.benchmark.task)
        start, _ = alone.reset(seed=0)
        gold = list(alone.oracle() or ())
        expected = play(alone, gold)
        alone.close()
        first, second = (self.benchmark.make(task=task) for task in (self.benchmark.task, self.benchmark.other))
        assert first.reset(seed=0)[0] == start
        second.reset(seed=0)
        seen = list[Any]()
        for turn in gold[: len(expected)]:
            seen += play(first, [turn])
            second.step(second.legal_actions(1)[0])
            if second.score().passed or first.score().passed:
                break
        assert seen == expected[: len(seen)]
        assert len(seen) > 1
        first.close()
        second.close()

    def test_whoever_does_nothing_or_talks_junk_has_no_points(self) -> None:
        env = self.benchmark.make(task=self.benchmark.task)
        env.reset(seed=0)
        *_, info = env.step({"tool": "finish", "arguments": {}})
        assert (info["score"].points, info["score"].passed) == (0, False)
        env.reset(seed=0)
        for _ in range(3):
            *_, info = env.step("<junk>")
        assert (info["score"].points, info["end"]) == (0, "unparsable")
        env.close()

    def test_bad_calls_are_answered(self, bad: Any) -> None:
        env = self.benchmark.make(task=self.benchmark.task)
        env.reset(seed=0)
        _, reward, terminated, _, info = env.step(self.benchmark.act(bad))
        assert info["events"][0].error in ("invalid_arguments", "not_allowed")
        assert (reward, terminated) == (0.0, False)
        _, reward, _, _, info = env.step({"tool": "fly", "arguments": {}})
        assert (info["events"][0].error, reward) == ("unknown_tool", 0.0)
        env.close()

    def test_a_random_agent_acts_within_the_rules(self) -> None:
        env = self.benchmark.make(task=self.benchmark.task)
        env.reset(seed=0)
        for _ in range(8):
            _, _, terminated, truncated, info = env.step(env.legal_actions(1)[0])
            assert info["events"][0].error is None
            if terminated or truncated:
                break
        env.close()

"""What holds for every adapter of another framework: equal seeds and calls give equal scores and digests.

The tests of each adapter subclass `AdapterConformance` and say how their framework plays given turns.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from adapted.watched import WATCHED_ID, WatchedEnv, register_served, register_watched
from palaestra.envs import ToolEnv
from palaestra.envs.check.subject import make
from palaestra.envs.world import open_world
from palaestra.records import EndReason, ToolCall
from served.process import run_server
from worlds.registration import LIBRARY_ID

FINISH = ToolCall(tool="finish", arguments={})
SEEDS = (0, 1, 2)


@dataclass(frozen=True, kw_only=True)
class AdapterOutcome:
    """What a framework made of an episode."""

    reward: float | None
    """`None` where the framework holds that the episode does not count."""
    read: str
    """All that the policy could read."""


@dataclass(frozen=True, kw_only=True)
class ReferenceOutcome:
    """The same episode in process."""

    points: int
    digest: str


def play_in_process(inner: str, seed: int, turns: Sequence[Sequence[ToolCall]]) -> ReferenceOutcome:
    """Play turns by `step`; an episode that still runs is judged as one whose budget is spent."""
    env: ToolEnv = make(inner)
    env.reset(seed=seed)
    for turn in turns:
        if env.end is None:
            env.step([{"tool": call.tool, "arguments": dict(call.arguments)} for call in turn])
    return ReferenceOutcome(points=env.score(EndReason.TOKEN_BUDGET).points, digest=env.digest())


def oracle(inner: str, seed: int) -> tuple[ToolCall, ...]:
    """The calls that solve the task of a seed."""
    env: ToolEnv = make(inner)
    env.reset(seed=seed)
    return env.oracle()


def secrets(inner: str, seed: int) -> set[str]:
    """What no policy may read: names of task, family, criteria and hashes."""
    env: ToolEnv = make(inner)
    env.reset(seed=seed)
    spec = env.task
    criteria = {c.text for c in env.instance.rubric.specs} | {f'"{c.id}"' for c in env.instance.rubric.specs}
    criteria -= {'"answer"'}  # an argument of `finish` too
    return {spec.id, spec.family, env.digest(), env.state_hash(), *criteria}


def crash(*_: Any, **__: Any) -> Any:
    """A tool that breaks."""
    raise ZeroDivisionError("a tool of the world broke")


class AdapterConformance(ABC):
    """The suite."""

    turns_hold_one_call = False
    """Whether the framework makes each call a turn of its own."""

    @abstractmethod
    def play(self, switches: dict[str, Any], seed: int, turns: Sequence[Sequence[ToolCall]]) -> AdapterOutcome:
        """Play turns of calls through the framework, in an environment `WATCHED_ID` with these switches."""

    @pytest.fixture(autouse=True)
    def watch(self) -> Iterator[None]:
        register_watched()
        WatchedEnv.latest.clear()
        yield
        WatchedEnv.latest.clear()

    def check(self, seed: int, turns: Sequence[Sequence[ToolCall]], **switches: Any) -> AdapterOutcome:
        """Play turns here and there, and compare reward and digest."""
        if self.turns_hold_one_call:
            turns = [[call] for turn in turns for call in turn]
        inner = switches.get("inner", LIBRARY_ID)
        expected = play_in_process(inner, seed, turns)
        outcome = self.play(switches, seed, turns)
        [played] = [env for env in WatchedEnv.latest if env.steps]
        assert played.ended[0] == expected.digest
        assert outcome.reward is not None
        assert outcome.reward * 100 == pytest.approx(expected.points, abs=1e-4)  # some frameworks hold 32 bits
        return outcome

    @pytest.mark.parametrize("seed", SEEDS)
    def test_a_solution_gets_every_point(self, seed: int) -> None:
        outcome = self.check(seed, [[call] for call in oracle(LIBRARY_ID, seed)])
        assert outcome.reward == 1.0

    def test_a_solution_in_one_turn_gets_what_it_gets_in_process(self) -> None:
        self.check(1, [oracle(LIBRARY_ID, 1)])

    @pytest.mark.parametrize("seed", SEEDS)
    def test_an_episode_that_is_left_is_judged_as_unfinished(self, seed: int) -> None:
        calls = oracle(LIBRARY_ID, seed)
        outcome = self.check(seed, [[call] for call in calls[:-1]])
        assert outcome.reward is not None
        assert outcome.reward < 1.0

    @pytest.mark.parametrize("seed", SEEDS)
    def test_refused_calls_count_as_in_process(self, seed: int) -> None:
        first = oracle(LIBRARY_ID, seed)[0]
        wrong = [
            ToolCall(tool=first.tool, arguments={}),
            ToolCall(tool=first.tool, arguments={**first.arguments, "more": 1}),
            ToolCall(tool=first.tool, arguments=dict.fromkeys(first.arguments, 5)),
        ]
        self.check(seed, [*([call] for call in wrong), [FINISH]])

    def test_calls_after_the_end_change_nothing(self) -> None:
        calls = oracle(LIBRARY_ID, 0)
        self.check(0, [[FINISH], *([call] for call in calls)])

    def test_a_world_of_the_package_is_played_as_in_process(self) -> None:
        inner = "palaestra/Storefront-v0"
        self.check(3, [[call] for call in oracle(inner, 3)], inner=inner)

    def test_a_policy_reads_no_secret(self) -> None:
        outcome = self.check(2, [[call] for call in oracle(LIBRARY_ID, 2)])
        assert "librar" in outcome.read.lower(), "the opening was read"
        assert [secret for secret in secrets(LIBRARY_ID, 2) if secret in outcome.read] == []

    def test_a_served_world_is_played_as_in_process(self, tmp_path: Path) -> None:
        """An author's key reads score and digest from the server; the loopback interface has it without one."""
        register_served()
        with run_server("--quiet", "--world", "worlds.library:LIBRARY", log=tmp_path / "log") as server:
            calls = oracle(LIBRARY_ID, 1)
            self.check(1, [[call] for call in calls], url=server.url)
            WatchedEnv.latest.clear()
            self.check(1, [[call] for call in calls[:-1]], url=server.url)

    @pytest.mark.parametrize("after", [0, 1])
    def test_a_fault_of_the_world_is_never_a_reward(self, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
        calls = oracle(LIBRARY_ID, 0)
        toolbox = open_world(LIBRARY_ID).toolbox
        name = "get_member"
        monkeypatch.setitem(toolbox._tools, name, replace(toolbox[name], function=crash))
        broken = ToolCall(tool=name, arguments={"member_id": "MEM-1"})
        good = [call for call in calls if call.tool != name][:after]
        outcome = self.play({}, 0, [*([call] for call in good), [broken], [FINISH]])
        assert outcome.reward is None
        [played] = [env for env in WatchedEnv.latest if env.steps]
        assert played.steps == len(good) + 1, "the broken tool was called, and nothing behind it"
        assert "ZeroDivisionError" not in outcome.read


__all__ = ["FINISH", "WATCHED_ID", "AdapterConformance", "AdapterOutcome", "oracle", "play_in_process"]

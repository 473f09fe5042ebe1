"""The seam's face: what an agent and a trainer see of a benchmark, held on the toy and on BabyAI."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import pytest

from outside import TOY_ID
from outside.conformance import conform, gold_solves
from palaestra.benchmarks.external import ExternalEnv
from palaestra.benchmarks.external.offer import ENDS
from palaestra.benchmarks.external.worker import BenchmarkProcesses
from palaestra.envs import ToolEnv
from palaestra.errors import ConfigError, EpisodeOverError, UnknownNameError
from palaestra.records import EndReason
from palaestra.steps import StepRecord
from worlds.registration import LIBRARY_ID

pytestmark = pytest.mark.usefixtures("toy")
TWO, FOUR = "toy/count/two", "toy/count/four"


def made(**switches: Any) -> ExternalEnv:
    env: Any = gym.make(TOY_ID, **switches).unwrapped
    assert isinstance(env, ExternalEnv)
    return env


def count(by: int = 1) -> dict[str, Any]:
    return {"tool": "count", "arguments": {"by": by}}


FINISH: dict[str, Any] = {"tool": "finish", "arguments": {}}
GIVE_UP: dict[str, Any] = {"tool": "give_up", "arguments": {"reason": "It cannot be done."}}


def library() -> ToolEnv:
    return ToolEnv(LIBRARY_ID)


def spoil(how: str) -> dict[str, Any]:
    return {"tool": "spoil", "arguments": {"how": how}}


def test_the_toy_conforms() -> None:
    conform(TOY_ID, [TWO, FOUR, "toy/drill/two"])


def test_its_own_solution_gets_every_point() -> None:
    gold_solves(made(), "toy/count/six")


def test_splits_and_categories_choose_tasks() -> None:
    env = made()
    assert env.ids() == (TWO, FOUR, "toy/count/six")
    assert env.ids("train") == ("toy/drill/two",)
    assert env.ids("all", "drill") == ("toy/drill/two",)
    assert made(split="train").reset(seed=1)[1]["task"].id == "toy/drill/two"
    drawn = {made().reset(seed=seed)[1]["task"].id for seed in range(12)}
    assert drawn == set(env.ids())


def test_a_trainable_split_is_told_from_others() -> None:
    env = made()
    assert env.reset(options={"task": TWO})[1]["task"].unseen
    assert not env.reset(options={"task": "toy/drill/two"})[1]["task"].unseen


@pytest.mark.parametrize(
    ("switches", "named"),
    [
        ({"split": "tests"}, "did you mean 'test'"),
        ({"category": "cuont"}, "did you mean 'count'"),
        ({"task": "toy/count/tow"}, "toy/count/two"),
        ({"slowstart": 1}, "did you mean 'slow_start'"),
        ({"render_mode": "human"}, "ansi"),
    ],
)
def test_an_unknown_name_is_told_with_near_ones(switches: dict[str, Any], named: str) -> None:
    with pytest.raises(UnknownNameError, match=named):
        ExternalEnv(TOY_ID, **switches)


def test_an_option_that_json_cannot_hold_is_a_users_mistake() -> None:
    with pytest.raises(ConfigError, match="nothing that JSON holds"):
        made(slow_start=object())


def test_rewards_are_changes_of_the_score() -> None:
    env = made()
    env.reset(options={"task": FOUR})
    rewards = [env.step(count())[1] for _ in range(3)]
    *_, info = env.step(count())
    assert rewards == [25, 25, 25]
    assert (info["end"], info["met"], info["score"].points) == (EndReason.FINISHED, ("counted",), 100)


def test_a_call_that_fits_no_schema_is_answered_and_marked() -> None:
    env = made()
    env.reset(options={"task": TWO})
    observation, _, _, _, info = env.step([count(9), {"tool": "cuont", "arguments": {}}, count()])
    assert [message["content"] for message in observation] == ["count takes by, 1 to 3"] * 2 + ["1"]
    assert [(event.schema_ok, event.error) for event in info["events"]] == [
        (False, "invalid_arguments"),
        (False, "invalid_arguments"),
        (True, None),
    ]


def test_the_same_call_again_is_marked() -> None:
    env = made()
    env.reset(options={"task": FOUR})
    *_, info = env.step([count(), count(2), count()])
    assert [event.duplicate_of for event in info["events"]] == [None, None, "call-1"]


def test_tools_that_change_are_told_once() -> None:
    env = made()
    env.reset(options={"task": TWO})
    before = env.action_space
    *_, info = env.step(spoil("tools"))
    assert [tool["function"]["name"] for tool in info["tools"]] == ["count", "spoil", "rest", "finish"]
    assert env.action_space != before
    *_, info = env.step(count(9))
    assert "tools" not in info


def test_calls_before_the_end_of_their_turn_run() -> None:
    env = made()
    env.reset(options={"task": FOUR})
    _, reward, terminated, _, info = env.step([count(2), FINISH, count(2)])
    assert (reward, terminated, info["end"]) == (50, True, EndReason.FINISHED)


def test_calls_behind_the_end_of_a_benchmark_do_not_run() -> None:
    env = made()
    env.reset(options={"task": TWO})
    observation, reward, *_, info = env.step([count(2), count(2), FINISH])
    assert ([message["content"] for message in observation], reward) == (["2"], 100)
    assert (len(info["events"]), info["end"]) == (1, EndReason.FINISHED)


@pytest.mark.parametrize("ending", [FINISH, GIVE_UP])
@pytest.mark.parametrize("make", [made, library])
def test_both_environments_stop_at_the_call_that_ends_the_episode(
    make: Callable[[], Any], ending: dict[str, Any]
) -> None:
    env = make()
    env.reset(seed=1)
    drawn: Any = env.legal_actions(1)[0]
    calls: list[Any] = [drawn] if isinstance(drawn, dict) else [*drawn]

    def turn(*turn: object) -> StepRecord:
        env.reset(seed=1)
        record: StepRecord = env.step(list(turn))[4]["record"]
        return record

    alone, followed = turn(*calls, ending), turn(*calls, ending, *calls, ending)
    assert followed.end == alone.end == ENDS[ending["tool"]]
    assert len(followed.calls) == 2 * len(alone.calls)
    assert (followed.messages, followed.events) == (alone.messages, alone.events)
    assert (followed.state_hash, followed.score) == (alone.state_hash, alone.score)
    assert {event.tool for event in turn(ending, *calls).events} <= {ending["tool"]}


def test_three_turns_that_cannot_be_read_end_an_episode() -> None:
    env = made()
    env.reset(options={"task": TWO})
    ends = [env.step(text)[4]["end"] for text in ("hello", "<tool_call>{", "")]
    assert ends == [None, None, EndReason.UNPARSABLE]


def test_a_budget_of_turns_truncates() -> None:
    env = made(max_turns=1)
    env.reset(options={"task": TWO})
    _, _, terminated, truncated, info = env.step(count(9))
    assert (terminated, truncated, info["end"]) == (False, True, EndReason.MAX_TURNS)


def test_words_for_nobody_are_answered_as_an_unknown_tool() -> None:
    env = made()
    env.reset(options={"task": TWO})
    observation, *_, info = env.step({"tool": "reply", "arguments": {"message": "hello"}})
    assert (observation[0]["content"], info["events"][0].schema_ok) == ("count takes by, 1 to 3", False)


def test_no_episode_no_step() -> None:
    env = made()
    with pytest.raises(EpisodeOverError, match="before reset"):
        env.step(count())
    with pytest.raises(EpisodeOverError, match="no episode"):
        env.score()


def test_what_no_file_can_hold_does_not_come_through() -> None:
    env = made()
    env.reset(options={"task": TWO})
    observation, *_ = env.step(spoil("surrogate"))
    assert observation[0]["content"] == "a?b"


def test_rendering_shows_the_observation(toy: BenchmarkProcesses) -> None:
    env = made(render_mode="ansi")
    env.reset(seed=8, options={"task": TWO})
    assert env.render() == "[user] Count to 2. Your number is 1."
    assert sum(worker.episodes for worker in next(iter(toy._workers.values()))) == 1
    env.close()

"""tau2-bench, as it is installed from a checkout: gold, floors, bad calls, and that episodes are their own."""

import os
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import pytest

from outside.conformance import conform
from palaestra.benchmarks.external.env import ExternalEnv
from palaestra.benchmarks.external.tau2.facts import TAU2
from palaestra.errors import InfrastructureError
from palaestra.records import EndReason

pytestmark = [
    pytest.mark.xdist_group("bench-tau2"),
    pytest.mark.skipif(
        "PALAESTRA_TAU2" not in os.environ,
        reason="PALAESTRA_TAU2 is not set: it names the folder of a checkout of tau2-bench from which the benchmark "
        "was installed (`palaestra suites install tau2 --from $PALAESTRA_TAU2`), and no package index holds one",
    ),
]

RETAIL = "tau2/retail-scripted-user"
BANKING = "tau2/banking_knowledge-scripted-user"


def made(**options: Any) -> ExternalEnv:
    """The environment, without Gymnasium's wrappers. Any: options of `gymnasium.make`."""
    env = gym.make(TAU2.env_id, disable_env_checker=True, **options).unwrapped
    assert isinstance(env, ExternalEnv)
    return env


@pytest.fixture(scope="module")
def env() -> Iterator[ExternalEnv]:
    env = made()
    yield env
    env.close()


def played(env: ExternalEnv, task: str, actions: Any) -> tuple[dict[str, Any], list[Any]]:
    """The last `info`, and everything that was seen. Any: as Gymnasium has it."""
    observation, info = env.reset(seed=1, options={"task": task})
    seen: list[Any] = [observation]
    for action in actions:
        observation, _, terminated, truncated, info = env.step(action)
        seen.append(observation)
        if terminated or truncated:
            break
    return info, seen


def gold(env: ExternalEnv, task: str) -> Any:
    env.reset(seed=1, options={"task": task})
    return env.oracle()


def telecom(env: ExternalEnv, number: int) -> str:
    return env.ids("all", "telecom-solo")[number]


def test_it_conforms() -> None:
    conform(TAU2.env_id, ["tau2/telecom-solo/mms_issue-000", f"{BANKING}/task_001"])


def test_the_official_splits_are_whole(env: ExternalEnv) -> None:
    sizes = {
        category: (len(env.ids("train", category)), len(env.ids("test", category)))
        for category in ("telecom-solo", "airline-scripted-user", "retail-scripted-user", "mock-scripted-user")
    }
    assert sizes == {
        "telecom-solo": (74, 40),
        "airline-scripted-user": (30, 20),
        "retail-scripted-user": (74, 40),
        "mock-scripted-user": (0, 10),
    }
    assert len(env.ids("all", "banking_knowledge-scripted-user")) == 97


def test_solo_mode_has_the_users_phone_and_no_user(env: ExternalEnv) -> None:
    observation, info = env.reset(options={"task": telecom(env, 0)})
    names = {tool["function"]["name"] for tool in info["tools"]}
    assert len(names - {"done", "finish"}) == 43
    assert {"toggle_airplane_mode", "enable_roaming", "transfer_to_human_agents"} <= names
    assert [message["role"] for message in observation] == ["system", "user"]


@pytest.mark.parametrize("number", [0, 57, 113])
def test_telecoms_solutions_solve(env: ExternalEnv, number: int) -> None:
    task = telecom(env, number)
    info, _ = played(env, task, gold(env, task))
    assert info["end"] == "finished"
    assert info["score"].points == 100
    assert "ENV_ASSERTION" in info["met"]


@pytest.mark.parametrize("task", [f"{RETAIL}/0", f"{RETAIL}/3", f"{BANKING}/task_001", f"{BANKING}/task_041"])
def test_solutions_with_a_scripted_user_solve(env: ExternalEnv, task: str) -> None:
    info, _ = played(env, task, gold(env, task))
    assert info["end"] == "user_left"
    assert info["score"].passed
    assert "DB" in info["met"]


def test_every_mock_task_that_has_a_solution_is_solved_by_it_but_the_one_known_to_be_broken(env: ExternalEnv) -> None:
    solutions = {task: gold(env, task) for task in env.ids("all", "mock-scripted-user")}
    unsolved = {task for task, turns in solutions.items() if turns and not played(env, task, turns)[0]["score"].passed}
    assert unsolved == set(TAU2.known_bad)
    assert [task for task, turns in solutions.items() if turns is None] == [
        "tau2/mock-scripted-user/update_task_with_history_and_env_assertions"
    ]


def test_doing_nothing_solves_no_telecom_task_and_some_of_retail(env: ExternalEnv) -> None:
    nothing: Any = [{"tool": "finish", "arguments": {}}]
    tasks = [telecom(env, 0), telecom(env, 113), f"{RETAIL}/0", f"{RETAIL}/10", f"{BANKING}/task_001"]
    assert [task for task in tasks if played(env, task, nothing)[0]["score"].passed] == [f"{RETAIL}/10"]


def test_an_assertion_about_what_was_never_made_is_not_met(env: ExternalEnv) -> None:
    info, _ = played(env, "tau2/mock-scripted-user/create_task_1_with_env_assertions", ["No.", "No."])
    assert info["end"] == "user_left"
    assert not info["score"].passed
    assert "Task task_2 not found" in info["score"].verdicts["ENV_ASSERTION"].reason


def test_what_needs_a_model_is_left_out_and_said_so(env: ExternalEnv) -> None:
    _, info = env.reset(options={"task": f"{RETAIL}/3"})
    assert [(one.id, one.points) for one in info["rubric"]] == [("DB", 100)]
    assert "NL_ASSERTION needs a model and was left out (it asserts something)" in info["rubric"][0].text


def test_running_out_of_turns_scores_nothing_though_all_is_done() -> None:
    short = made(max_turns=1, task=f"{RETAIL}/0")
    try:
        nothing_to_do = played(short, f"{RETAIL}/0", [{"tool": "get_user_details", "arguments": {"user_id": "x"}}])[0]
        assert nothing_to_do["end"] == EndReason.MAX_TURNS
        assert nothing_to_do["score"].points == 0
        assert "max_turns" in nothing_to_do["score"].verdicts["DB"].reason
    finally:
        short.close()


@pytest.mark.parametrize(
    "call",
    [
        {"tool": "rob_customer", "arguments": {}},
        {"tool": "get_user_details", "arguments": {"user_id": ["x"]}},
        {"tool": "get_user_details", "arguments": {"requestor": "user", "tool_name": 1}},
        {"tool": "calculate", "arguments": {"expression": "9**9**9**9"}},
        {"tool": "calculate", "arguments": {"expression": "(" * 5000}},
        {"tool": "exchange_delivered_order_items", "arguments": {"order_id": None}},
    ],
)
def test_whatever_is_called_is_answered(env: ExternalEnv, call: Any) -> None:
    info, seen = played(env, f"{RETAIL}/0", [call])
    assert info["events"][0].error == "failed"
    assert seen[-1][0]["content"].startswith("Error: ")
    assert info["end"] is None


def test_ten_failed_calls_end_it_with_nothing(env: ExternalEnv) -> None:
    info, seen = played(env, f"{RETAIL}/0", [{"tool": "rob_customer", "arguments": {}}] * 12)
    assert info["end"] == "deadline"
    assert len(seen) == 11
    assert not info["score"].passed


def test_the_user_says_that_it_is_scripted_and_answers_from_its_notes(env: ExternalEnv) -> None:
    _, seen = played(env, f"{RETAIL}/0", ["What is your zip code?"])
    assert "This user is scripted" in seen[0][1]["content"]
    assert "19122" in seen[1][0]["content"]


def test_the_user_acts_once_told_what_it_takes(env: ExternalEnv) -> None:
    info, seen = played(env, f"{BANKING}/task_001", ["Hello.", "Take the Gold Rewards Card."])
    assert "I did this" not in str(seen[1])
    assert "I did this: apply_for_credit_card" in seen[2][0]["content"]
    assert info["end"] is None


def test_searches_do_not_tell_the_time(env: ExternalEnv) -> None:
    search = [{"tool": "KB_search", "arguments": {"query": "close an account"}}]
    first, second = (played(env, f"{BANKING}/task_001", search) for _ in range(2))
    assert first == second
    assert "retrieval=0ms" in first[1][1][0]["content"]


def test_the_same_solution_is_seen_the_same_twice(env: ExternalEnv) -> None:
    task = next(t for t in env.ids("all", "telecom-solo") if "refuel_data" in str(gold(env, t)))
    actions = gold(env, task)
    first, second = (played(env, task, actions) for _ in range(2))
    assert first == second


def test_two_episodes_do_not_touch(env: ExternalEnv) -> None:
    other = made(task=f"{RETAIL}/0")
    try:
        other.reset(seed=1)
        untouched = other.state_hash()
        for action in gold(env, f"{RETAIL}/0")[:-1]:
            env.step(action)
            assert other.state_hash() == untouched
        assert env.state_hash() != untouched
        other.step({"tool": "finish", "arguments": {}})
        assert not other.score().passed
        assert env.step("This is done.")[4]["score"].passed
    finally:
        other.close()


def test_what_one_episode_unlocked_another_has_not(env: ExternalEnv) -> None:
    name = "get_user_dispute_history_7291"
    unlock = {"tool": "unlock_discoverable_agent_tool", "arguments": {"agent_tool_name": name}}
    call = {"tool": "call_discoverable_agent_tool", "arguments": {"agent_tool_name": name, "arguments": "{}"}}
    _, opened = played(env, f"{BANKING}/task_001", [unlock, call])
    _, closed = played(env, f"{BANKING}/task_001", [call])
    assert "has not been unlocked" not in str(opened[2])
    assert "has not been unlocked" in str(closed[1])


def test_a_way_of_finding_documents_that_needs_a_service_is_refused() -> None:
    with pytest.raises(InfrastructureError, match="choose one of bm25_grep"):
        made(retrieval="alltools")

"""BFCL as it is installed: its own solutions, its floors, and what it says to calls that are no good."""

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from jsonschema import Draft202012Validator

import palaestra
from outside.conformance import conform, gold_solves
from palaestra.agents import ScriptedAgent, no_op, rollout
from palaestra.benchmarks.external import BENCHMARKS, ExternalEnv
from palaestra.benchmarks.external.installation import require_installed
from palaestra.records import EndReason, Score

pytestmark = pytest.mark.xdist_group("bench-bfcl")
BFCL = "palaestra/BFCL-v0"
MULTI_TURN = ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")
WORDS = {"tool": "reply", "arguments": {"message": "Done."}}
COUNTS = {
    "simple_python": 400, "simple_java": 100, "simple_javascript": 50, "multiple": 200, "parallel": 200,
    "parallel_multiple": 200, "irrelevance": 240, "live_simple": 258, "live_multiple": 1053, "live_parallel": 16,
    "live_parallel_multiple": 24, "live_irrelevance": 884, "live_relevance": 16, **dict.fromkeys(MULTI_TURN, 200),
}  # fmt: skip


@pytest.fixture(scope="module")
def env() -> Iterator[ExternalEnv]:
    made: Any = gym.make(BFCL).unwrapped
    assert isinstance(made, ExternalEnv)
    yield made
    made.close()


def begun(env: ExternalEnv, task: str) -> tuple[list[str], list[dict[str, Any]]]:
    """What is said at first, and the tools."""
    observation, info = env.reset(seed=0, options={"task": f"bfcl/{task}"})
    return [str(message["content"]) for message in observation], list(info["tools"])


def played(env: ExternalEnv, task: str, actions: Sequence[Any]) -> Score:
    """The score of a task that is played so."""
    return rollout(env, ScriptedAgent(lambda: actions), name="scripted", seed=0, task=f"bfcl/{task}").score


def solution(env: ExternalEnv, task: str) -> list[Any]:
    """The benchmark's own, to be changed at will."""
    begun(env, task)
    turns = env.oracle()
    assert turns is not None
    return [json.loads(json.dumps(turn)) for turn in turns]


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def names(tools: Sequence[dict[str, Any]]) -> list[str]:
    return [tool["function"]["name"] for tool in tools]


def test_all_tasks_of_the_categories_that_are_played_are_listed(env: ExternalEnv) -> None:
    assert {category: len(env.ids(category=category)) for category in COUNTS} == COUNTS
    assert len(env.tasks) == sum(COUNTS.values())
    assert env.installed_version() == env.benchmark.version
    assert {task["split"] for task in env.tasks.values()} == {"test"} == set(env.benchmark.splits)
    assert env.benchmark.trainable == ()


def test_what_is_known_to_be_broken_is_listed_by_the_ids_that_tasks_have(env: ExternalEnv) -> None:
    assert env.benchmark.known_bad.keys() <= env.tasks.keys()


@pytest.mark.parametrize(
    "task",
    ["simple_python/0", "simple_java/1", "live_irrelevance/120-9-0", "multi_turn_miss_func/4", "multi_turn_base/7"],
)
def test_it_conforms(task: str) -> None:
    conform(BFCL, [f"bfcl/{task}"])


def test_two_episodes_of_one_process_do_not_touch_each_other() -> None:
    conform(BFCL, ["bfcl/multi_turn_base/0", "bfcl/multi_turn_base/1"])


@pytest.mark.parametrize("category", [name for name in COUNTS if name != "live_relevance"])
def test_its_own_solutions_get_every_point(env: ExternalEnv, category: str) -> None:
    for id in env.ids(category=category)[3::67]:
        gold_solves(env, id)


def test_nobody_says_which_call_is_wanted_where_any_will_do(env: ExternalEnv) -> None:
    begun(env, "live_relevance/0-0-0")
    assert env.oracle() is None
    assert env.step(env.legal_actions(1)[0])[-1]["score"].passed


@pytest.mark.parametrize("category", COUNTS)
def test_an_agent_without_calls_passes_where_none_is_wanted_and_nowhere_else(env: ExternalEnv, category: str) -> None:
    for id in env.ids(category=category)[5::97]:
        score = rollout(env, no_op(), name="no-op", seed=0, task=id).score
        assert score.passed == (category in ("irrelevance", "live_irrelevance")), id


def test_functions_are_offered_under_names_and_schemas_that_models_servers_take(env: ExternalEnv) -> None:
    for id in [id for category in COUNTS for id in env.ids(category=category)[1::97]]:
        _, tools = begun(env, id.removeprefix("bfcl/"))
        assert len(set(names(tools))) == len(tools), f"{id}: two tools of one name"
        for tool in tools:
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool["function"]["name"]), id
            Draft202012Validator.check_schema(tool["function"]["parameters"])


# One turn


def test_calls_in_parallel_are_taken_in_any_order_and_all_are_needed(env: ExternalEnv) -> None:
    calls = solution(env, "parallel/0")[0]
    assert len(calls) == 2
    assert played(env, "parallel/0", [calls[::-1]]).passed
    assert not played(env, "parallel/0", [calls[:1]]).passed
    assert not played(env, "parallel/0", [[*calls, calls[0]]]).passed


@pytest.mark.parametrize(
    ("arguments", "passed", "why"),
    [
        ({"base": 10, "height": 5}, True, "as accepted"),
        ({"base": 10, "height": 5, "unit": "units"}, True, "as accepted"),
        ({"base": 10, "height": 6}, False, "value_error:others"),
        ({"base": 10}, False, "simple_function_checker:missing_required"),
        ({"base": "10", "height": 5}, False, "type_error:simple"),
        ({"base": 10, "height": 5, "width": 1}, False, "simple_function_checker:unexpected_param"),
    ],
)
def test_arguments_are_judged_one_by_one(env: ExternalEnv, arguments: Any, passed: bool, why: str) -> None:
    score = played(env, "simple_python/0", [call("calculate_triangle_area", **arguments)])
    assert (score.passed, score.points) == (passed, 100 * passed)
    assert score.verdicts["solved"].reason.startswith(why)


def test_names_with_dots_are_offered_and_taken_with_underscores(env: ExternalEnv) -> None:
    _, tools = begun(env, "simple_python/1")
    assert names(tools) == ["math_factorial"]
    assert played(env, "simple_python/1", [call("math_factorial", number=5)]).passed
    assert not played(env, "simple_python/1", [call("math.factorial", number=5)]).passed


def test_a_function_called_as_an_end_of_episodes_is_offered_under_another_name(env: ExternalEnv) -> None:
    _, tools = begun(env, "live_multiple/183-78-0")
    assert "finish_" in names(tools)
    gold_solves(env, "bfcl/live_multiple/183-78-0")
    assert not played(env, "live_multiple/183-78-0", [call("finish")]).passed


def test_java_and_javascript_take_arguments_as_source_text(env: ExternalEnv) -> None:
    for task in ("simple_java/1", "simple_javascript/0"):
        said, tools = begun(env, task)
        assert said
        parameters = tools[0]["function"]["parameters"]["properties"]
        assert {schema["type"] for schema in parameters.values()} == {"string"}
    gold = solution(env, "simple_java/1")[0][0]
    text = {name: value for name, value in gold["arguments"].items() if value in ("true", "false")}
    assert text, "the task has a truth value"
    assert played(env, "simple_java/1", [gold]).passed
    plain = {**gold["arguments"], **{name: value == "true" for name, value in text.items()}}
    score = played(env, "simple_java/1", [call(gold["tool"], **plain)])
    assert not score.passed
    assert score.verdicts["solved"].reason.startswith("type_error:java")


def test_a_call_where_none_is_wanted_fails_whichever_it_is(env: ExternalEnv) -> None:
    assert not played(env, "irrelevance/0", [call("no_such_function")]).passed
    assert played(env, "irrelevance/0", ["No function fits."]).passed


def test_one_turn_is_all_there_is(env: ExternalEnv) -> None:
    begun(env, "simple_python/0")
    *_, terminated, _, info = env.step("<tool_call>{")
    assert info["end"] is EndReason.MAX_TURNS
    assert not terminated
    begun(env, "simple_python/0")
    assert env.step(WORDS)[-1]["end"] is EndReason.FINISHED


# Several turns


def test_words_bring_what_the_user_says_next(env: ExternalEnv) -> None:
    said, _ = begun(env, "multi_turn_base/0")
    assert len(said) == 1
    more, *_ = env.step("Anything else?")
    assert [message["role"] for message in more] == ["user"]
    assert more[0]["content"] not in said


def test_calls_are_executed_and_answered_with_what_the_api_says(env: ExternalEnv) -> None:
    begun(env, "multi_turn_base/0")
    messages, *_, info = env.step([call("ls"), call("cd", folder="nowhere"), call("cd"), call("rmtree", path="/")])
    assert "document" in str(messages[0]["content"])
    assert [event.error for event in info["events"]] == [None, "failed", "invalid_arguments", "unknown_tool"]
    assert str(messages[3]["content"]) == "Error during execution: name 'rmtree' is not defined"


@pytest.mark.parametrize("hidden", ["_load_scenario", "__init__", "__class__", "get_method_called"])
def test_only_documented_methods_can_be_called(env: ExternalEnv, hidden: str) -> None:
    begun(env, "multi_turn_base/0")
    *_, info = env.step(call(hidden))
    assert [event.error for event in info["events"]] == ["unknown_tool"]


def test_text_in_arguments_is_never_evaluated(env: ExternalEnv, tmp_path: Path) -> None:
    begun(env, "multi_turn_base/0")
    text = f"__import__('pathlib').Path({str(tmp_path / 'made')!r}).touch()"
    env.step([call("touch", file_name=text), call("echo", content=text), call(f"ls() or {text}")])
    assert list(tmp_path.iterdir()) == []


def test_a_function_held_back_is_revealed_at_its_turn(env: ExternalEnv) -> None:
    actions = solution(env, "multi_turn_miss_func/0")
    _, before = begun(env, "multi_turn_miss_func/0")
    revealed: list[tuple[list[str], str]] = []
    passed = False
    for action in actions:
        messages, *_, info = env.step(action)
        if "tools" in info:
            revealed.append((names(info["tools"]), str(messages[-1]["content"])))
        passed = info["score"] is not None and info["score"].passed
    assert passed
    ((after, said),) = revealed
    assert set(after) > set(names(before))
    assert said.startswith("I have updated some more functions")


def test_each_turn_is_a_sub_score_and_all_are_needed(env: ExternalEnv) -> None:
    actions = solution(env, "multi_turn_base/0")
    turns = [at for at, action in enumerate(actions) if isinstance(action, list)]
    skipped = [action for at, action in enumerate(actions) if at != turns[-1]]
    score = played(env, "multi_turn_base/0", skipped)
    met = {name: verdict.met for name, verdict in score.verdicts.items()}
    assert met == {"turn-0": True, "turn-1": True, "turn-2": True, "turn-3": False}
    assert (score.passed, score.points, score.verdicts["turn-3"].reason) == (False, 0, "nothing was called")


def test_the_solution_is_the_same_before_and_after_it_was_played(env: ExternalEnv) -> None:
    task = "multi_turn_base/147"  # an API changes a list there that a call of an earlier turn gave it
    before = solution(env, task)
    for action in before:
        env.step(action)
    after = env.oracle()
    assert after is not None
    assert list(after) == before
    assert played(env, task, before).passed


def test_a_wrong_change_fails_the_turn_and_names_what_differs(env: ExternalEnv) -> None:
    actions = solution(env, "multi_turn_base/0")
    actions[0].append(call("touch", file_name="not_asked_for.txt"))
    score = played(env, "multi_turn_base/0", actions)
    assert not score.verdicts["turn-0"].met
    assert score.verdicts["turn-0"].reason.endswith("Attributes: root")
    assert not score.passed


def test_an_answer_that_was_not_read_fails_the_turn(env: ExternalEnv) -> None:
    actions = solution(env, "multi_turn_base/0")
    read = next(at for at, action in enumerate(actions) if isinstance(action, list) and action[-1]["tool"] == "grep")
    actions[read] = [*actions[read][:-1], call("pwd")]
    score = played(env, "multi_turn_base/0", actions)
    failed = [verdict.reason for verdict in score.verdicts.values() if not verdict.met]
    assert failed
    assert "does not contain all the ground truth" in failed[0]


def test_calls_where_the_package_calls_nothing_are_told_and_not_counted(env: ExternalEnv) -> None:
    actions = solution(env, "multi_turn_miss_param/0")
    silent = next(at for at, action in enumerate(actions[1:], 1) if action == actions[at - 1])
    assert played(env, "multi_turn_miss_param/0", actions).verdicts["abstained"].met
    score = played(env, "multi_turn_miss_param/0", [*actions[:silent], call("pwd"), *actions[silent:]])
    assert score.passed
    assert not score.verdicts["abstained"].met


def test_more_than_twenty_turns_of_calls_end_it(env: ExternalEnv) -> None:
    begun(env, "multi_turn_base/0")
    ends = [env.step(call("pwd"))[-1]["end"] for _ in range(20)]
    assert set(ends) == {None}
    *_, terminated, truncated, info = env.step(call("pwd"))
    assert (info["end"], terminated, truncated) == (EndReason.DEADLINE, True, False)
    assert not info["score"].passed


def test_sums_that_take_for_ever_are_refused(env: ExternalEnv) -> None:
    task = next(id for id in env.ids(category="multi_turn_base") if "logarithm" in _offered(env, id))
    begun(env, task.removeprefix("bfcl/"))
    endless = [
        call("power", base=10, exponent=10**9),
        call("logarithm", value=2.0, base=3.0, precision=10**9),
        call("square_root", number=2.0, precision=10**9),
    ]
    assert [event.error for event in env.step(endless)[-1]["events"]] == ["invalid_arguments"] * 3
    precise, *_ = env.step([call("square_root", number=2.0, precision=30), call("power", base=2, exponent=64)])
    assert "1.41421356237309504880168872421" in str(precise[0]["content"])
    assert json.loads(str(precise[1]["content"])) == {"result": 2**64}


def test_a_travellers_age_does_not_depend_on_the_clock(env: ExternalEnv) -> None:
    task = next(id for id in env.ids(category="multi_turn_base") if "verify_traveler_information" in _offered(env, id))

    def asked(first: str, last: str, born: str) -> str:
        verify = call("verify_traveler_information", first_name=first, last_name=last, date_of_birth=born)
        begun(env, task.removeprefix("bfcl/"))
        messages, *_ = env.step(call(verify["tool"], **verify["arguments"], passport_number="US1"))
        return str(messages[0]["content"])

    found = re.search(r"Expected (\S+) (\S+), got", asked("Nobody", "Else", "1990-01-01"))
    assert found is not None
    assert "at least 18" in asked(found[1], found[2], "2008-03-24")
    assert json.loads(asked(found[1], found[2], "2008-03-23")) == {"verification_status": True}


def _offered(env: ExternalEnv, id: str) -> list[str]:
    return names(begun(env, id.removeprefix("bfcl/"))[1])


def test_the_packages_own_checker_says_the_same_of_solutions_right_and_wrong() -> None:
    python = require_installed("bfcl", BENCHMARKS.get("bfcl").installation).python
    source = Path(palaestra.__file__).parents[1]
    command = [str(python), str(Path(__file__).with_name("bfcl_second.py")), str(source), "50"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["differences"] == []
    said = found["said"]
    assert said["gold: True"] == said["nothing: False"] == 16
    assert min(said["another value: False"], said["dropped: False"], said["twice: True"]) > 16

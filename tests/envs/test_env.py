import json
import multiprocessing
import pickle
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from palaestra.envs import Snapshot, ToolEnv
from palaestra.envs.check.subject import as_action, make
from palaestra.envs.episode import UNPARSABLE_LIMIT
from palaestra.errors import (
    ActionError,
    CapabilityError,
    EpisodeOverError,
    InfrastructureError,
    TaskError,
    UnknownNameError,
)
from palaestra.protocols import Action
from palaestra.records import EndReason, ToolCall
from palaestra.rubrics import HARM
from palaestra.tools import ToolContext
from worlds.library import Book, Loan
from worlds.registration import LIBRARY_ID

RENEW = "library/renew-loan/0000"
LEND = "library/lend-book/0001"


def begun(task: str = RENEW, **kwargs: Any) -> ToolEnv:
    env = make(LIBRARY_ID, task=task, **kwargs)
    env.reset(seed=0)
    return env


def play(env: ToolEnv, calls: tuple[ToolCall, ...]) -> list[tuple[float, bool, bool, dict[str, Any]]]:
    return [env.step(as_action(call))[1:] for call in calls]


def content(env: ToolEnv, action: Any) -> Any:
    (message,) = env.step(action)[0]
    return json.loads(message["content"])


# reset


def test_the_opening_is_the_briefing_and_the_prompt() -> None:
    observation, info = make(LIBRARY_ID, task=RENEW).reset(seed=0)
    assert [m["role"] for m in observation] == ["system", "user"]
    assert "renew" in observation[1]["content"]
    assert info["task"].id == RENEW
    assert [t["function"]["name"] for t in info["tools"]][:2] == ["get_member", "search_members"]


def test_a_tool_closed_to_the_role_is_not_offered_and_refused() -> None:
    env = begun()
    _, info = env.reset(seed=0)
    assert "waive_fines" not in {t["function"]["name"] for t in info["tools"]}
    answer = content(env, {"tool": "waive_fines", "arguments": {"loan_ids": ["LN-1"], "reason": "x"}})
    assert answer["error"] == {"code": "forbidden", "message": "waive_fines is open to chief; you act as librarian"}


def test_the_seed_alone_draws_the_instance_and_several_seeds_draw_several() -> None:
    env = make(LIBRARY_ID)
    drawn = [env.reset(seed=seed)[1]["task"].id for seed in range(20)]
    assert drawn == [env.reset(seed=seed)[1]["task"].id for seed in range(20)]
    assert len(set(drawn)) > 3


def test_a_reset_without_a_seed_follows_from_the_one_before() -> None:
    env = make(LIBRARY_ID)
    env.reset(seed=3)
    followed = env.reset()[1]
    env.reset(seed=3)
    assert env.reset()[1]["seed"] == followed["seed"]


def test_an_option_names_the_task_and_an_unknown_option_is_refused() -> None:
    env = make(LIBRARY_ID)
    assert env.reset(seed=0, options={"task": LEND})[1]["task"].id == LEND
    with pytest.raises(UnknownNameError, match="unknown reset option 'tsak'; did you mean 'task'"):
        env.reset(options={"tsak": LEND})


@pytest.mark.parametrize(
    ("kwargs", "says"),
    [
        ({"split": "trane"}, "unknown split 'trane'; did you mean 'train'"),
        ({"task": "library/renew-lone/0000"}, "did you mean 'library/renew-loan/0000'"),
        ({"reward": "dense"}, "unknown reward 'dense'"),
        ({"action_format": "hermos"}, "did you mean 'hermes'"),
        ({"render_mode": "human"}, "unknown render mode 'human'"),
    ],
)
def test_a_wrong_choice_is_refused_when_the_environment_is_made(kwargs: dict[str, str], says: str) -> None:
    with pytest.raises(UnknownNameError, match=says):
        ToolEnv(LIBRARY_ID, **kwargs)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [3, 0, True, ["library/renew-loan/0000"], b"train"])
@pytest.mark.parametrize("argument", ["split", "task", "surface", "reward", "action_format", "wording", "temper"])
def test_a_name_of_another_type_is_refused_when_the_environment_is_made(argument: str, value: object) -> None:
    says = f"{argument}={value!r}: a name is text; give one name in quotes, or leave it out"
    with pytest.raises(TypeError, match=re.escape(says)):
        make(LIBRARY_ID, **{argument: value})


def test_a_task_of_another_type_is_refused_when_an_episode_begins() -> None:
    env = make(LIBRARY_ID)
    with pytest.raises(TypeError, match="task=3: a name is text; give one"):
        env.reset(seed=0, options={"task": 3})
    assert env.reset(seed=0, options={"task": None})[1]["task"] == env.reset(seed=0)[1]["task"]


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ("surface", "surface '': the world 'library' does not declare it; its surfaces: conventional, generic"),
        ("split", "unknown split ''; there are: dev, "),
        ("task", "unknown task ''"),
    ],
)
def test_an_empty_name_is_not_the_default(argument: str, says: str) -> None:
    with pytest.raises((CapabilityError, UnknownNameError), match=says):
        make(LIBRARY_ID, **{argument: ""})


def test_a_budget_is_at_least_one_turn() -> None:
    with pytest.raises(ValueError, match="max_turns=0: a budget is at least 1"):
        make(LIBRARY_ID, max_turns=0)


def test_an_index_belongs_to_the_split_of_its_range() -> None:
    with pytest.raises(TaskError, match="belongs to split 'dev', in which library/lend-book does not occur"):
        make(LIBRARY_ID, task="library/lend-book/5000")


# steps and rewards


@pytest.mark.parametrize("task", [RENEW, LEND])
def test_the_oracle_wins_every_point_step_by_step(task: str) -> None:
    env = begun(task)
    stepped = play(env, env.oracle())
    assert sum(reward for reward, *_ in stepped) == 100
    assert all(reward > 0 for reward, *_ in stepped[:2])
    assert stepped[-1][1:3] == (True, False)
    assert stepped[-1][3]["score"].passed
    assert env.score().passed


def test_an_alternative_route_is_worth_as_much() -> None:
    env = begun(RENEW)
    for route in env.instance.alternatives:
        env.reset(seed=0)
        play(env, route)
        assert env.score().passed


def test_outcome_pays_at_the_end_what_checklist_pays_on_the_way() -> None:
    env = begun(reward="outcome")
    rewards = [reward for reward, *_ in play(env, env.oracle())]
    assert rewards == [0.0, 0.0, 100.0]


def test_a_turn_of_several_calls_is_rewarded_at_once_and_nobody_acts_on_what_is_not_yet_read() -> None:
    env = begun()
    observation, reward, terminated, _, info = env.step([as_action(call) for call in env.oracle()])
    assert [m.get("name") for m in observation] == ["get_loan", "renew_loan", "finish"]
    assert terminated
    assert info["score"].points == reward
    assert info["met"] == (f"saw-{env.oracle()[0].arguments['loan_id']}", "answer")


def test_what_a_turn_asks_for_after_finishing_is_not_done() -> None:
    env = begun()
    observation, *_ = env.step([{"tool": "give_up", "arguments": {"reason": "no"}}, as_action(env.oracle()[1])])
    assert len(observation) == 1
    assert env.journal == ()
    assert env.score().points == 0


def test_harm_is_taken_from_the_score_and_can_push_it_below_zero() -> None:
    env = begun()
    loan = env.oracle()[0].arguments["loan_id"]
    _, reward, *_, info = env.step({"tool": "cancel_loan", "arguments": {"loan_id": loan}})
    assert reward == info["points"] == -10 - HARM
    assert info["violated"] == ("never-cancel_loan", "collateral", "slip")
    assert info["components"]["params"] == -10


def test_undoing_harm_wins_back_what_a_state_took_and_not_what_an_event_took() -> None:
    env = begun()
    free = next(b.id for b in env.state.find(Book) if b.copies)
    lent = content(env, {"tool": "lend_book", "arguments": {"book_id": free, "member_id": "MEM-1"}})
    assert env.score().points == -2 * HARM, "unseen ids, and a change that nobody asked for"
    env.step({"tool": "cancel_loan", "arguments": {"loan_id": lent["id"]}})
    assert env.score().points == -2 * HARM - 10, "the book's copies are not as they were"


def test_a_refused_call_leaves_rows_alone_though_the_tool_had_begun_to_write() -> None:
    env = begun()
    blocked = content(env, {"tool": "list_loans", "arguments": {"member_id": "MEM-4"}})
    refused = [r for r in blocked if not r["returned"]]
    rows, elapsed = env.state_hash(), env.snapshot().elapsed
    for loan in refused:
        answer = content(env, {"tool": "renew_loan", "arguments": {"loan_id": loan["id"]}})
        assert answer["error"]["message"] == "MEM-4 is blocked"
    assert refused
    assert env.state_hash() == rows
    assert env.snapshot().elapsed == elapsed + 5 * len(refused)


@pytest.mark.parametrize(
    ("action", "code", "says"),
    [
        ({"tool": "get_lone", "arguments": {}}, "unknown_tool", "did you mean 'get_loan'"),
        ({"tool": "get_loan", "arguments": {}}, "invalid_arguments", "loan_id: Field required"),
        ({"tool": "get_loan"}, "invalid_arguments", "loan_id: Field required"),
        ({"tool": "get_loan", "arguments": {"loan_id": 7}}, "invalid_arguments", "(got 7)"),
        ({"tool": "get_loan", "arguments": {"loan_id": "LN-404"}}, "not_found", "there is no loan 'LN-404'"),
    ],
)
def test_a_refusal_says_what_is_wrong(action: Any, code: str, says: str) -> None:
    error = content(begun(), action)["error"]
    assert error["code"] == code
    assert says in error["message"]


@pytest.mark.parametrize(
    "action", [7, None, b"bytes", ["get_loan"], {"name": "get_loan"}, {"tool": "x", "arguments": 1}]
)
def test_what_is_no_action_raises_and_is_no_turn(action: Any) -> None:
    env = begun()
    digest = env.digest()
    with pytest.raises(ActionError):
        env.step(action)
    assert env.digest() == digest
    assert action not in env.action_space


def test_a_tool_that_crashes_is_a_fault_of_the_world_and_no_reward() -> None:
    env = begun()

    def crash(*_: object, **__: object) -> object:
        raise ZeroDivisionError

    tool = env.world.toolbox["get_loan"]
    function = tool.function
    object.__setattr__(tool, "function", crash)
    try:
        with pytest.raises(InfrastructureError, match=r"tool get_loan crashed on .*LN-1.*: ZeroDivision"):
            env.step({"tool": "get_loan", "arguments": {"loan_id": "LN-1"}})
    finally:
        object.__setattr__(tool, "function", function)


# text


def test_text_is_read_by_the_action_format() -> None:
    env = begun()
    text = '<tool_call>{"name": "get_member", "arguments": {"member_id": "MEM-1"}}</tool_call>'
    assert text in env.action_space
    assert content(env, text)["name"] == "Ada Byron"
    as_json = begun(action_format="json")
    assert content(as_json, '{"tool": "get_member", "arguments": {"member_id": "MEM-1"}}')["name"] == "Ada Byron"


def test_prose_without_a_call_is_said_to_the_user() -> None:
    env = begun()
    info = env.step("Good morning!")[-1]
    (event,) = info["events"]
    assert (event.tool, event.arguments) == ("reply", {"message": "Good morning!"})


def test_prose_means_nothing_in_a_world_without_a_prose_tool() -> None:
    toolbox = begun().world.toolbox
    toolbox.prose_tool = None
    try:
        assert "calls only" in content(begun(), "hello")["error"]["message"]
    finally:
        toolbox.prose_tool = "reply"


def test_unreadable_turns_are_counted_in_a_row_and_end_the_episode() -> None:
    env = begun()
    turns: list[Action] = ["<tool_call>{", [], "One moment.", "<tool_call>{", "", "<think>"]
    *_, last = [env.step(action) for action in turns]
    *_, terminated, truncated, info = last
    assert (terminated, truncated, info["end"]) == (False, True, EndReason.UNPARSABLE)
    assert len(env.snapshot().events) == 1
    assert UNPARSABLE_LIMIT == 3


def test_the_turn_budget_truncates() -> None:
    env = begun(max_turns=2)
    assert env.step("Hello.")[2:4] == (False, False)
    *_, terminated, truncated, info = env.step("Hello.")
    assert (terminated, truncated, info["end"]) == (False, True, EndReason.MAX_TURNS)
    assert not info["score"].passed


def test_finishing_in_the_last_turn_terminates_and_does_not_truncate() -> None:
    env = begun(max_turns=1)
    assert env.step({"tool": "finish", "arguments": {}})[2:4] == (True, False)


def test_giving_up_terminates_without_passing() -> None:
    info = begun().step({"tool": "give_up", "arguments": {"reason": "too hard"}})[-1]
    assert info["end"] is EndReason.GAVE_UP
    assert not info["score"].passed


def test_what_happened_so_far_can_be_asked_for() -> None:
    env = begun()
    play(env, env.oracle())
    assert [event.tool for event in env.events] == ["get_loan", "renew_loan", "finish"]
    assert [change.table for change in env.changes] == ["loans"]
    assert env.end is EndReason.FINISHED
    assert len(env.counting) == 3


# edges


def test_step_outside_of_an_episode_raises() -> None:
    env = make(LIBRARY_ID)
    with pytest.raises(EpisodeOverError, match=r"step before reset; call env\.reset"):
        env.step([])
    env.reset(seed=0)
    env.step({"tool": "finish", "arguments": {}})
    with pytest.raises(EpisodeOverError, match=r"step after the end \(finished\)"):
        env.step([])


def test_what_asks_about_an_episode_needs_one() -> None:
    env = make(LIBRARY_ID, render_mode="ansi")
    asked: list[Any] = [
        env.render, env.snapshot, env.fork, env.state_hash, env.digest, env.anchor, env.legal_actions, env.oracle,
        env.score, lambda: env.task, lambda: env.journal, lambda: env.state, lambda: env.instance,
    ]  # fmt: skip
    for ask in asked:
        with pytest.raises(EpisodeOverError, match="no episode"):
            ask()


def test_rendering_is_the_observation_as_text() -> None:
    env = begun(render_mode="ansi")
    assert env.render().startswith("[system] You are the librarian")
    env.step({"tool": "finish", "arguments": {}})
    assert env.render() == '[finish] {"finished":true}'


def test_legal_actions_depend_on_where_the_episode_stands_and_move_nothing() -> None:
    env = begun()
    digest, legal = env.digest(), env.legal_actions(5)
    assert legal == env.legal_actions(5)
    assert env.digest() == digest
    assert all(action in env.action_space for action in legal)
    env.step("Hello.")
    assert env.legal_actions(5) != legal


def test_a_call_with_a_key_of_another_name_is_no_action() -> None:
    env = begun()
    with pytest.raises(ActionError, match="no 'args'"):
        env.step({"tool": "finish", "args": {}})


def test_after_a_fault_of_the_world_the_episode_is_void(monkeypatch: pytest.MonkeyPatch) -> None:
    env = begun()
    before = env.state_hash()

    def write_and_crash(context: ToolContext, loan_id: str) -> object:
        context.state.delete(context.state.get(Loan, loan_id))
        raise ZeroDivisionError

    cancel = replace(env.world.toolbox["cancel_loan"], function=write_and_crash)
    monkeypatch.setitem(env.world.toolbox._tools, "cancel_loan", cancel)
    with pytest.raises(InfrastructureError):
        env.step({"tool": "cancel_loan", "arguments": {"loan_id": "LN-1"}})
    assert env.state_hash() == before
    with pytest.raises(EpisodeOverError, match="after a fault of the world"):
        env.step({"tool": "finish", "arguments": {}})


# snapshots


def test_a_snapshot_of_another_world_does_not_fit() -> None:
    env = begun()
    snapshot = env.snapshot()
    with pytest.raises(TaskError, match=r"a snapshot of other does not fit library"):
        env.restore(replace(snapshot, world="other"))


def test_a_snapshot_of_another_surface_does_not_fit() -> None:
    snapshot = begun().snapshot()
    generic = gym.make(LIBRARY_ID, surface="generic").unwrapped
    assert isinstance(generic, ToolEnv)
    for env, other in ((generic, snapshot), (begun(), replace(snapshot, surface="generic"))):
        with pytest.raises(TaskError, match=r"surface='.*' does not fit .* surface='.*'; make .* the same surface"):
            env.restore(other)


def test_what_is_no_snapshot_is_not_restored() -> None:
    with pytest.raises(TypeError, match=r"a bytes is no snapshot; give what `snapshot\(\)` gave, unpickled"):
        begun().restore(pickle.dumps(begun().snapshot()))  # type: ignore[arg-type]


def test_a_task_of_another_split_is_refused() -> None:
    with pytest.raises(TaskError, match=r"task='.*/7000' is of the split 'heldout', and split='train' was asked for"):
        gym.make("palaestra/Storefront-v0", split="train", task="storefront/cancel-order/7000")
    for split in ("heldout", "heldout-world", "heldout-surface"):
        env = gym.make("palaestra/Storefront-v0", split=split, task="storefront/cancel-order/7000")
        assert env.reset(seed=0)[1]["task"].id == "storefront/cancel-order/7000"


def test_a_snapshot_of_the_end_restores_the_end_and_one_from_before_goes_on() -> None:
    env = begun()
    before = env.snapshot()
    play(env, env.oracle())
    after, wanted = env.snapshot(), env.score()
    other = make(LIBRARY_ID)
    other.restore(after)
    assert other.score() == wanted
    with pytest.raises(EpisodeOverError):
        other.step([])
    other.restore(before)
    assert other.score().points == 0
    play(other, other.oracle())
    assert other.digest() == env.digest()


def test_a_snapshot_restores_in_another_process() -> None:
    env = begun()
    play(env, env.oracle()[:2])
    code = (
        "import pickle, sys; import worlds; from palaestra.envs.check.subject import as_action, make\n"
        f"env = make({LIBRARY_ID!r}); env.restore(pickle.loads(sys.stdin.buffer.read()))\n"
        "env.step(as_action(env.oracle()[2])); print(env.digest(), env.score().points)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=pickle.dumps(env.snapshot()),
        capture_output=True,
        check=True,
        env={"PYTHONPATH": ":".join(filter(None, sys.path)), "PYTHONHASHSEED": "3"},
    )
    play(env, env.oracle()[2:])
    assert done.stdout.decode().split() == [env.digest(), "100"]


def test_the_digest_of_a_snapshot_is_the_snapshot_s_after_pickling() -> None:
    env = begun()
    play(env, env.oracle()[:2])
    other = make(LIBRARY_ID)
    snapshot: Snapshot = pickle.loads(pickle.dumps(env.snapshot()))
    other.restore(snapshot)
    assert other.digest() == env.digest()
    assert other.legal_actions() == env.legal_actions()


def test_anchors_forget_the_way_and_digests_do_not() -> None:
    first, second = begun(), begun()
    look = {"tool": "get_member", "arguments": {"member_id": "MEM-1"}}
    first.step(look)
    second.step("Hello.")
    second.step(look)
    assert first.anchor() == second.anchor()
    assert first.digest() != second.digest()
    assert first.state_hash() == second.state_hash()


def test_a_fork_resets_and_samples_on_its_own() -> None:
    env = make(LIBRARY_ID)
    env.reset(seed=4)
    env.action_space.seed(4)
    wanted = (env.reset()[1]["seed"], env.action_space.sample())
    env.reset(seed=4)
    env.action_space.seed(4)
    fork = env.fork()
    fork.reset()
    fork.action_space.sample()
    assert (env.reset()[1]["seed"], env.action_space.sample()) == wanted


def test_a_fork_is_of_the_class_of_its_origin() -> None:
    class Special(ToolEnv):
        pass

    env = Special(LIBRARY_ID)
    env.reset(seed=0)
    assert type(env.fork()) is Special


def test_closing_ends_the_episode() -> None:
    env = begun()
    env.close()
    env.close()
    with pytest.raises(EpisodeOverError):
        env.step([])


# spaces


def test_spaces_name_themselves_and_know_their_equals() -> None:
    one, two = begun(), begun(LEND)
    assert one.action_space == two.action_space
    assert hash(one.action_space) == hash(two.action_space)
    assert repr(one.action_space) == "CallSpace(11 tools)"
    assert one.observation_space == two.observation_space != one.action_space
    assert hash(one.observation_space) == hash(two.observation_space)
    assert repr(one.observation_space) == "MessageSpace()"
    assert not one.action_space.is_np_flattenable
    assert not one.observation_space.is_np_flattenable


def test_the_observation_space_contains_what_it_samples_and_no_other_thing() -> None:
    space = begun().observation_space
    assert space.sample() in space
    for wrong in (
        "text",
        [1],
        [{"role": "robot", "content": ""}],
        [{"role": "user"}],
        [{"role": "user", "content": "", "name": 1}],
    ):
        assert wrong not in space


def test_the_action_space_refuses_what_a_schema_refuses() -> None:
    space = begun().action_space
    assert "<tool_call>{" not in space
    assert {"tool": "no_such_tool", "arguments": {}} not in space
    assert {"tool": "get_loan", "arguments": {"loan_id": 1}} not in space
    assert [{"tool": "get_loan", "arguments": {"loan_id": "LN-1"}}] in space


# task sets


def test_a_folder_of_task_files_takes_the_place_of_the_bundled_ones(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from palaestra.envs import Task, call, family\n"
        "from palaestra.rubrics import expect_call\n"
        "@family('library/look', level=1)\n"
        "def look(draft):\n"
        "    return Task(prompt='Look at MEM-1.', rubric=[expect_call('get_member')],\n"
        "                oracle=[call('get_member', member_id='MEM-1'), call('finish')])\n"
    )
    env = make(LIBRARY_ID, tasks=tmp_path)
    env.reset(seed=0)
    assert env.task.family == "library/look"
    play(env, env.oracle())
    assert env.score().passed


def test_worlds_play_alike_in_a_spawned_process() -> None:
    env = begun()
    play(env, env.oracle())
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_digest_of_oracle) == env.digest()


def _digest_of_oracle() -> str:
    env = begun()
    play(env, env.oracle())
    return env.digest()


def test_a_turn_holds_a_bounded_number_of_calls() -> None:
    env = begun()
    rows = env.state_hash()
    _, _, _, _, info = env.step([{"tool": "reply", "arguments": {"message": "hello"}}] * 65)
    assert info["unreadable"] == "the turn holds 65 calls; 64 are taken at most"
    assert info["events"] == ()
    assert env.state_hash() == rows

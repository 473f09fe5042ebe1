"""What a player may not see: task, family, criteria, points, hashes, solution, and rewards that nobody allowed."""

from typing import Any

import orjson
import pytest

from palaestra.envs import ToolEnv
from palaestra.envs.check.subject import as_action, make
from palaestra.serving.access import Caller, KeyScope
from served import AUTHOR, PLAYER, CoreUnderTest, caller
from worlds.registration import LIBRARY_ID

LOOK = {"tool": "get_member", "arguments": {"member_id": "MEM-1"}}


@pytest.fixture
def core() -> CoreUnderTest:
    return CoreUnderTest()


def secrets(env: ToolEnv) -> set[str]:
    """What is written in the author's view of an episode and must not be in a player's."""
    task = env.task
    hashes = {env.state_hash(), env.digest(), env.anchor()}
    criteria = {part for c in env.instance.rubric.specs for part in (f'"{c.id}"', c.text)}
    criteria -= {'"answer"'}  # an argument of `finish` too
    return {task.id, task.family, *hashes, *criteria, "oracle", "components", "violated", "world_seed", "state_hash"}


def played(core: CoreUnderTest, who: Caller, session: str, seed: int) -> tuple[bytes, set[str]]:
    """All that somebody reads of an episode that is solved, and the secrets that it has along the way."""
    env = make(LIBRARY_ID)
    env.reset(seed=seed)
    read = core.send(who, "reset", {"session": session, "seed": seed})
    known = secrets(env)
    for call in env.oracle():
        read += core.send(who, "step", {"session": session, "action": as_action(call)})
        env.step(as_action(call))
        known |= secrets(env)
    assert env.end is not None
    for name in ("snapshot", "fork", "heartbeat", "observe"):
        read += core.send(who, name, {"session": session})
    return read + core.send(who, "step", {"session": session, "action": LOOK}), known


@pytest.mark.parametrize("seed", range(4))
def test_no_secret_is_in_what_a_player_reads(core: CoreUnderTest, seed: int) -> None:
    session = core.ask(PLAYER, "create", world="library")["session"]
    read, known = played(core, PLAYER, session, seed)
    assert [secret for secret in known if secret.encode() in read] == []
    assert b'"reward"' not in read


def test_the_same_secrets_are_in_what_an_author_reads(core: CoreUnderTest) -> None:
    session = core.ask(AUTHOR, "create", world="library")["session"]
    read, known = played(core, AUTHOR, session, 0)
    read += core.send(AUTHOR, "inspect", {"session": session, "parts": ["oracle", "digest", "anchor"]})
    missing = {secret for secret in known if secret.encode() not in read}
    assert len(missing) < len(known) / 3  # digests along the way were not asked for


def test_equal_seeds_give_a_player_the_observations_and_rewards_of_the_environment(core: CoreUnderTest) -> None:
    env = make(LIBRARY_ID)
    session = core.ask(PLAYER, "create", world="paid")["session"]
    for seed in range(4):
        messages, info = env.reset(seed=seed)
        shown = core.ask(PLAYER, "reset", session=session, seed=seed)
        assert shown["messages"] == list(messages)
        assert shown["tools"] == list(info["tools"])
        for call in env.oracle():
            messages, reward, *_, info = env.step(as_action(call))
            shown = core.ask(PLAYER, "step", session=session, action=as_action(call))
            assert (shown["messages"], shown["reward"], shown["end"]) == (list(messages), reward, info["end"])


def test_what_is_observed_is_how_the_episode_began_and_where_it_stands(core: CoreUnderTest) -> None:
    session = core.ask(AUTHOR, "create", world="library", player="player")["session"]
    assert core.refusal(PLAYER, "observe", session=session)[0] == "episode_over"
    begun = core.ask(AUTHOR, "reset", session=session, seed=0)["record"]
    told = {"opening": begun["messages"], "messages": begun["messages"], "turn": 0, "end": None}
    assert core.ask(PLAYER, "observe", session=session) == told
    assert core.ask(PLAYER, "observe", session=session, tools=True) == {**told, "tools": begun["tools"]}
    shown = core.ask(PLAYER, "step", session=session, action=LOOK)
    taken = core.ask(PLAYER, "snapshot", session=session)["snapshot"]
    now = {"opening": begun["messages"], "messages": shown["messages"], "turn": 1, "end": None}
    assert core.ask(PLAYER, "observe", session=session) == now
    assert core.ask(PLAYER, "observe", session=core.ask(PLAYER, "fork", session=session)["session"]) == now
    core.ask(AUTHOR, "reset", session=session, seed=1)
    assert core.ask(PLAYER, "observe", session=session)["opening"] != begun["messages"]
    core.ask(PLAYER, "restore", session=session, snapshot=taken)
    assert core.ask(PLAYER, "observe", session=session) == now


def test_a_player_cannot_inspect_or_switch_or_ask_for_more(core: CoreUnderTest) -> None:
    session = core.begin(PLAYER)
    parts = ["digest", "oracle", "score", "task", "events"]
    assert core.refusal(PLAYER, "inspect", session=session, parts=parts)[0] == "scope"
    for field in ({"switches": {"split": "dev"}}, {"view": "author"}, {"reward": True}, {"player": "player"}):
        assert core.refusal(PLAYER, "create", world="library", **field)[0] == "scope"
    assert core.refusal(PLAYER, "tasks", world="library", split="dev")[0] == "scope"


@pytest.mark.parametrize("reward", [True, False])
def test_a_player_is_shown_rewards_where_the_creator_allows_it(core: CoreUnderTest, reward: bool) -> None:
    session = core.begin(AUTHOR, player="player", reward=reward)
    assert ("reward" in core.ask(PLAYER, "step", session=session, action=LOOK)) is reward
    assert "record" in core.ask(AUTHOR, "step", session=session, action=LOOK)


def test_a_lesser_key_of_the_author_sees_as_a_player(core: CoreUnderTest) -> None:
    session = core.begin(AUTHOR)
    lesser = caller("author", KeyScope.PLAY)
    assert set(core.ask(lesser, "step", session=session, action=LOOK)) == {"messages", "turn", "end", "unreadable"}
    assert core.refusal(lesser, "inspect", session=session, parts=["digest"])[0] == "scope"


def test_handles_name_the_tasks_of_the_split_and_tell_nothing(core: CoreUnderTest) -> None:
    env = make(LIBRARY_ID)
    shown = core.ask(AUTHOR, "tasks", world="library")["tasks"]
    assert [one["id"] for one in shown] == list(env.task_set.ids(env.task_set.splits[0]))
    handles = core.ask(PLAYER, "tasks", world="library")["tasks"]
    assert sorted(one["handle"] for one in shown) == [one["handle"] for one in handles]
    session = core.ask(PLAYER, "create", world="library")["session"]
    for one in shown[:3]:
        assert core.ask(PLAYER, "reset", session=session, seed=0, task=one["handle"])["task"] == one["handle"]
        assert core.core.sessions.peek(session).env.task.id == one["id"]  # type: ignore[union-attr]
    assert orjson.dumps(handles).find(b"library") == -1


def test_another_secret_gives_other_handles(core: CoreUnderTest) -> None:
    from palaestra.serving.core import TaskHandles

    assert core.core.worlds.task_handles.handle("a/b/1") != TaskHandles(b"x" * 32).handle("a/b/1")


@pytest.mark.parametrize("name", ["tasks", "place", "user", "render_mode", "task"])
def test_files_and_code_of_the_server_cannot_be_switched_on(core: CoreUnderTest, name: str) -> None:
    switches: dict[str, Any] = {name: "/etc"}
    code, message = core.refusal(AUTHOR, "create", world="library", switches=switches)
    assert code == "request"
    assert message.startswith(f"switch '{name}'")


def test_a_switch_without_such_a_value_is_refused(core: CoreUnderTest) -> None:
    for switches in (
        {"split": "no-such"},
        {"max_turns": 0},
        {"max_turns": "5"},
        {"handbook": 1},
        {"action_format": "x"},
    ):
        assert core.refusal(AUTHOR, "create", world="library", switches=switches)[0] in ("request", "capability")
    assert len(core.core.sessions) == 0

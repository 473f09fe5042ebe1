"""A served world is the world in process: equal seeds and calls give equal returns, scores and digests."""

import pickle
import warnings
from collections.abc import Iterator
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any, cast

import gymnasium as gym
import orjson
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check_env

import palaestra
from palaestra.agents import as_action
from palaestra.envs import ToolEnv
from palaestra.envs.check import CHECKS, Subject
from palaestra.envs.check.subject import OperationResult, fingerprint, make
from palaestra.errors import (
    AccessError,
    ActionError,
    CapabilityError,
    ConfigError,
    EpisodeOverError,
    KeyScopeError,
    RequestError,
    ServerError,
    SessionError,
    SessionLostError,
    UnknownNameError,
)
from palaestra.records import EndReason, ToolCall
from palaestra.serving.client import ServedEnv
from palaestra.tools import Schemas
from served.live import open_live_door
from served.process import ServerProcess, run_server
from worlds.registration import LIBRARY_ID, register

LIBRARY = "worlds.library:LIBRARY"
FINISH: dict[str, Any] = {"tool": "finish", "arguments": {}}
SWITCHES: dict[str, dict[str, Any]] = {
    "plain": {},
    "outcome": {"reward": "outcome", "max_turns": 9},
    "generic surface": {"surface": "generic"},
    "noise": {"noise": {"failures": 20, "distractors": 3}},
    "other format": {"action_format": "json", "split": "dev"},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    register()
    log = tmp_path_factory.mktemp("served") / "log"
    arguments = ("--world", LIBRARY, "--world", "storefront", "--show-reward")
    with run_server(*arguments, log=log) as server:
        yield server


@pytest.fixture
def env(server: ServerProcess) -> Iterator[ServedEnv]:
    env = ServedEnv(url=server.url, world="storefront")
    yield env
    env.close()


def do_not_wait(seconds: float) -> None:
    del seconds


def outcome(env: ToolEnv, operation: Any) -> OperationResult:
    """What came of an operation, with schemas as plain JSON."""
    returned: Any = env.reset(seed=operation) if isinstance(operation, int) else env.step(operation)
    info: dict[str, Any] = {
        name: list(value) if isinstance(value, Schemas) else value for name, value in returned[-1].items()
    }
    record = info.pop("record")
    info["record"] = replace(record, tools=None if record.tools is None else list(record.tools))
    ended = not isinstance(operation, int) and bool(returned[2] or returned[3])
    return OperationResult(digest=env.digest(), outcome=fingerprint((*returned[:-1], info)), ended=ended)


@pytest.mark.parametrize("name", SWITCHES)
def test_an_author_is_given_what_the_environment_gives_to_the_bit(server: ServerProcess, name: str) -> None:
    switches = SWITCHES[name]
    here = cast("ToolEnv", gym.make("palaestra/Storefront-v0", **switches).unwrapped)
    subject = Subject.of(here, steps=15, seeds=(0, 1, 2))
    there = ServedEnv(url=server.url, world="storefront", **switches)
    for walk in subject.walks:
        for operation in walk.operations:
            assert outcome(cast("ToolEnv", there), operation) == outcome(here, operation)
            assert there.oracle() == here.oracle()
            assert there.score() == here.score()
    there.close()


def test_a_player_is_given_its_observations_rewards_and_ends(server: ServerProcess) -> None:
    here = cast("ToolEnv", gym.make("palaestra/Storefront-v0").unwrapped)
    there = palaestra.connect(server.url, "storefront", view="play")
    [walk] = Subject.of(here, steps=25, seeds=(0,)).walks
    for operation in walk.operations:
        if isinstance(operation, int):
            messages, info = there.reset(seed=operation)
            assert messages == here.reset(seed=operation)[0]
            assert set(info) == {"tools", "task", "seed"}
            continue
        assert there.step(operation)[:4] == here.step(operation)[:4]
    with pytest.raises(CapabilityError, match="view of a player"):
        _ = cast("ServedEnv", there).instance
    there.close()


@pytest.mark.parametrize("view", ["author", "play"])
def test_gymnasiums_own_checker_passes_without_a_warning(server: ServerProcess, view: str) -> None:
    env = palaestra.connect(server.url, "storefront", view=view)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gymnasium_check_env(env, skip_close_check=True)
    env.close()


@pytest.mark.usefixtures("light_collections")
def test_it_holds_the_contract_of_environments(server: ServerProcess) -> None:
    if "palaestra/Library-v0" not in gym.registry:
        palaestra.register_world("worlds.library:LIBRARY")  # authors need the pack here too
    made = cast("ToolEnv", palaestra.connect(server.url, "library"))
    subject = Subject.of(made, steps=6, seeds=(0,))
    held: set[str] = set()
    for name, check in CHECKS.items():
        if name != "purity":  # a client has a network and a clock; the world's purity is checked where it runs
            check(subject)  # it raises what it finds
            held.add(name)
    made.close()
    assert held == {*CHECKS} - {"purity"}
    assert len(held) >= 5


def test_a_client_without_the_reward_is_given_no_number(tmp_path: Path) -> None:
    with run_server("--quiet", "--world", LIBRARY, log=tmp_path / "log") as server:
        env = palaestra.connect(server.url, view="play")
        env.reset(seed=0)
        reward = env.step([])[1]
        assert reward != reward  # noqa: PLR0124  NaN
        env.close()


@pytest.mark.parametrize("view", ["author", "play"])
def test_an_episode_is_ended_from_outside_as_in_process(server: ServerProcess, view: str) -> None:
    here = cast("ToolEnv", gym.make("palaestra/Storefront-v0").unwrapped)
    there = ServedEnv(url=server.url, world="storefront", view=view)
    here.reset(seed=5)
    there.reset(seed=5)
    for call in here.oracle()[:-1]:
        here.step(as_action(call))
        there.step(as_action(call))
    judged = here.score(EndReason.TOKEN_BUDGET)
    assert there.end_episode() == judged.points
    if view == "author":
        assert there.score() == judged
    with pytest.raises(EpisodeOverError):
        there.step(FINISH)
    there.reset(seed=5)
    there.close()


def test_a_server_that_was_restarted_has_lost_the_episode_and_the_next_one_begins_anew(tmp_path: Path) -> None:
    with run_server("--quiet", "--world", LIBRARY, log=tmp_path / "log") as first:
        env = ServedEnv(url=first.url, view="play")
        env.reset(seed=0)
        port = first.url.rpartition(":")[2]
        first.kill()
        with run_server("--quiet", "--world", LIBRARY, "--port", port, log=tmp_path / "log"):
            with pytest.raises(SessionLostError, match="episode is void"):
                env.step(FINISH)
            env.reset(seed=0)
            assert env.step(FINISH)[2]
            env.close()


def test_a_server_that_stops_ends_cleanly(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with run_server("--world", LIBRARY, log=log) as server:
        env = ServedEnv(url=server.url, view="play")
        env.reset(seed=0)
        assert server.stop() == 0
    assert '"event":"stopped"' in log.read_text()
    env.connection._tries, env.connection._sleep = 2, do_not_wait
    with pytest.raises(ServerError, match=r"in 2 tries .*is the server running"):
        env.step(FINISH)
    env.connection.close()


WIDE: list[Any] = [
    2**64,
    -(2**70),
    "\ud83d half",
    float("inf"),
    float("-inf"),
    float("nan"),
    [2**64, "\udc00", None],
    None,
]


@pytest.mark.parametrize("view", ["author", "play"])
def test_what_a_model_writes_and_json_cannot_hold_is_answered_as_in_process(server: ServerProcess, view: str) -> None:
    here, served = make(LIBRARY_ID), ServedEnv(url=server.url, world="library", view=view)
    for value in WIDE:
        here.reset(seed=0)
        served.reset(seed=0)
        for action in (
            {"tool": "get_member", "arguments": {"member_id": value}},
            [{"tool": "get_member", "arguments": {"member_id": {"deep": [value]}}}] * 2,
            ToolCall(tool="get_member", arguments={"member_id": value}),
        ):
            assert served.step(action)[0] == here.step(action)[0]
        assert served.digest() == here.digest()
    assert served.step("half of a character: \ud83d")[0] == here.step("half of a character: \ud83d")[0]
    assert served.digest() == here.digest()
    served.close()


@pytest.mark.parametrize("value", [b"ab", {2, 3}, object(), [2**64, {2}]])
def test_what_no_model_writes_is_refused_and_no_turn(server: ServerProcess, value: object) -> None:
    env = ServedEnv(url=server.url, world="library")
    env.reset(seed=0)
    with pytest.raises(RequestError, match="is no JSON"):
        env.step({"tool": "get_member", "arguments": {"member_id": value}})
    assert env.inspect("episode")["episode"]["turn"] == 0
    env.close()


@pytest.mark.parametrize("action", [5, None, b"ab", {"tool": 3}, [{"tool": "get_member", "arguments": 5}]])
def test_what_is_no_action_is_refused_in_the_same_words_as_in_process(server: ServerProcess, action: Any) -> None:
    messages: list[str] = []
    for env in (make(LIBRARY_ID), ServedEnv(url=server.url, world="library")):
        env.reset(seed=0)
        with pytest.raises(ActionError) as raised:
            env.step(action)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


def test_seeds_that_no_server_takes_are_refused_with_the_range(server: ServerProcess) -> None:
    here, served = make(LIBRARY_ID), ServedEnv(url=server.url, world="library")
    for env in (here, served):
        with pytest.raises(ValueError, match=r"^seed=-1: seeds are 0 or above$"):
            env.reset(seed=-1)
    with pytest.raises(RequestError, match=f"^seed={2**70}: a server takes seeds up to {2**63 - 1}$"):
        served.reset(seed=2**70)
    served.reset(seed=2**63 - 1)
    served.close()


def test_a_player_joins_the_session_that_an_author_made_and_the_author_reads_the_score() -> None:
    with open_live_door() as door:
        author = ServedEnv(
            url=door.url, world="library", key=door.tokens["author"], player="play", show_reward=True, split="dev"
        )
        joined = ServedEnv(url=door.url, key=door.tokens["play"], session=author.session_id)
        joined.reset(seed=3)
        messages, reward, *_ = joined.step(FINISH)
        assert not isnan(reward), "the author shows rewards"
        assert author.inspect("score")["score"] is not None
        assert messages == tuple(joined._observation)
        with pytest.raises(SessionError, match="no session 'w1' for this key; its author names the player"):
            ServedEnv(url=door.url, key=door.tokens["play"], session="w1")
        with pytest.raises(SessionError, match="for this key"):
            ServedEnv(url=door.url, key=door.tokens["other"], session=author.session_id)
        author.close()
        with pytest.raises(SessionLostError, match="ask its author for another one"):
            joined.reset(seed=4)


def test_an_author_joins_a_session_of_their_own_and_sees_what_it_shows_them() -> None:
    with open_live_door() as door:
        for view in ("author", "play"):
            author = ServedEnv(url=door.url, world="library", key=door.tokens["author"], view=view)
            joined = ServedEnv(url=door.url, key=door.tokens["author"], session=author.session_id)
            info = joined.reset(seed=3)[1]
            assert (joined.view, "rubric" in info) == (view, view == "author")
            assert joined.step(FINISH)[0] == joined._observation
            author.close()


@pytest.mark.parametrize(
    "setting",
    [{"view": "author"}, {"player": "other"}, {"lease": 5.0}, {"show_reward": True}, {"world": "paid"}, {"noise": 1}],
)
def test_who_joins_a_session_cannot_set_what_its_creator_chose(setting: dict[str, Any]) -> None:
    with open_live_door() as door:
        author = ServedEnv(url=door.url, world="library", key=door.tokens["author"], player="play")
        with pytest.raises(ConfigError, match=rf"^{next(iter(setting))}=: session .* its creator chose; leave it out$"):
            ServedEnv(url=door.url, key=door.tokens["play"], session=author.session_id, **setting)
        author.close()


def test_rewards_are_shown_to_players_where_the_author_says_so() -> None:
    with open_live_door() as door:
        rewards: list[float] = []
        for show_reward in (True, False):
            env = ServedEnv(
                url=door.url, world="library", key=door.tokens["author"], view="play", show_reward=show_reward
            )
            env.reset(seed=0)
            rewards.append(env.step(FINISH)[1])
            env.close()
        assert [isnan(reward) for reward in rewards] == [False, True]


def test_a_key_that_gymnasium_was_given_is_not_in_the_spec_and_the_spec_still_makes_the_environment() -> None:
    with open_live_door() as door:
        key = door.tokens["author"]
        settings: dict[str, Any] = {"url": door.url, "world": "library", "key": key}
        env = gym.make("palaestra/Served-v0", **settings)
        envs = gym.make_vec("palaestra/Served-v0", num_envs=2, **settings)
        for made in (env, env.unwrapped, envs):
            assert made.spec is not None
            assert made.spec.kwargs["key"] == key
            assert key[4:] not in repr(made.spec)
        assert env.spec is not None
        again = gym.make(env.spec)
        again.reset(seed=0)
        for made in (env, again, envs):
            made.close()


def test_keys_are_taken_from_the_environment_and_shown_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from palaestra.cli.keys import add
    from palaestra.serving.access import KeyScope

    keys, log = tmp_path / "keys.json", tmp_path / "log"
    add(keys, "trainer", [KeyScope.PLAY])
    token = capsys.readouterr().out.strip()
    with run_server("--keys", str(keys), "--world", LIBRARY, log=log) as server:
        with pytest.raises(AccessError, match="no key"):
            palaestra.connect(server.url)
        monkeypatch.setenv("PALAESTRA_KEY", token)
        env = palaestra.connect(server.url)
        env.reset(seed=0)
        assert cast("ServedEnv", env).view == "play"
        with pytest.raises(KeyScopeError, match=r"^split='dev' needs a key of the scope 'author'; leave it out"):
            palaestra.connect(server.url, split="dev")
        with pytest.raises(KeyScopeError):
            cast("ServedEnv", env).digest()
        named = cast("ServedEnv", palaestra.connect(server.url, key=token))
        assert token not in repr(named.spec) + repr(named.connection) + repr(vars(named))
        env.close()
        named.close()
    assert token.split("_", 2)[2] not in log.read_text()


def test_mistakes_are_errors_of_their_own(server: ServerProcess, env: ServedEnv) -> None:
    with pytest.raises(EpisodeOverError, match="before reset"):
        env.step(FINISH)
    env.reset(seed=0)
    with pytest.raises(ActionError):
        env.step(cast("Any", 5))
    with pytest.raises(UnknownNameError, match="reset option"):
        env.reset(options={"level": 1})
    with pytest.raises(RequestError):
        env.reset(options={"task": "storefront/no-such/0001"})
    assert env.step(FINISH)[2]
    with pytest.raises(EpisodeOverError):
        env.step(FINISH)
    with pytest.raises(ConfigError, match="give world="):
        palaestra.connect(server.url)
    with pytest.raises(UnknownNameError, match="served world"):
        palaestra.connect(server.url, "storefrond")
    with pytest.raises(ConfigError, match="address of a server"):
        palaestra.connect("localhost:8765")
    with pytest.raises(RequestError, match="split"):
        palaestra.connect(server.url, "storefront", split="no-such")
    env.close()
    with pytest.raises(EpisodeOverError):
        env.snapshot()


def test_the_connection_is_open_while_the_environment_or_a_fork_has_a_session(env: ServedEnv) -> None:
    env.reset(seed=0)
    fork = env.fork()
    env.close()
    assert env.connection._client is not None
    assert fork.step(FINISH)[2]
    fork.close()
    assert env.connection._client is None
    env.reset(seed=0)
    assert env.step(FINISH)[2]
    env.close()
    assert env.connection._client is None


def test_actions_may_have_every_form_that_they_have_in_process(env: ServedEnv) -> None:
    """One call each as `ToolCall`, in OpenAI's form with its id, and in Anthropic's: the same answer and digest."""
    env.reset(seed=4)
    (call, *_), taken = env.oracle(), env.snapshot()
    arguments = orjson.dumps(dict(call.arguments)).decode()
    of_openai = {"id": "call_7", "type": "function", "function": {"name": call.tool, "arguments": arguments}}
    of_anthropic = {"type": "tool_use", "id": "toolu_7", "name": call.tool, "input": dict(call.arguments)}
    plain = env.step(as_action(call))[0]
    digest = env.digest()
    for action, id in ((call, None), ([of_openai], "call_7"), ([of_anthropic], "toolu_7")):
        env.restore(taken)
        (answer,) = env.step(action)[0]
        assert answer["content"] == plain[0]["content"]
        assert id is None or answer.get("tool_call_id") == id
        assert env.action_space.contains(action)
        assert env.digest() == digest


def test_forks_and_snapshots_go_on_alike_and_a_snapshot_pickles(env: ServedEnv) -> None:
    env.reset(seed=4)
    env.step(as_action(env.oracle()[0]))
    taken = pickle.loads(pickle.dumps(env.snapshot()))
    fork = env.fork()
    place = env.digest()
    env.step(FINISH)
    assert fork.digest() == place
    fork.restore(taken)
    assert fork.digest() == place
    assert fork.step(FINISH)[1:4] == (0.0, True, False) or fork.score() == env.score()
    env.drop(taken)
    with pytest.raises(SessionError):
        env.restore(taken)
    fork.close()
    assert env.heartbeat() == 600.0

"""A served vector environment is a vector of environments in process, and sends one message a turn."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import palaestra
from palaestra.agents import as_action
from palaestra.envs.check.subject import make
from palaestra.errors import ActionError, LimitError, RequestError, SessionLostError
from palaestra.serving.client import ServedVectorEnv, ServerConnection
from served.process import ServerProcess, run_server
from worlds.registration import LIBRARY_ID, register

LIBRARY = "worlds.library:LIBRARY"
FINISH: dict[str, Any] = {"tool": "finish", "arguments": {}}
COUNT = 3


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    register()
    if "palaestra/Library-v0" not in gym.registry:
        palaestra.register_world(LIBRARY)  # authors need the pack here too
    with run_server(
        "--quiet", "--world", LIBRARY, "--show-reward", log=tmp_path_factory.mktemp("served") / "log"
    ) as made:
        yield made


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operations of every message that is sent."""
    sent: list[str] = []
    ask = ServerConnection._ask

    def note(self: ServerConnection, method: str, name: str, body: bytes | None) -> dict[str, Any]:
        sent.append(name)
        return ask(self, method, name, body)

    monkeypatch.setattr(ServerConnection, "_ask", note)
    return sent


def in_process(mode: AutoresetMode = AutoresetMode.NEXT_STEP) -> SyncVectorEnv:
    return SyncVectorEnv([lambda: make(LIBRARY_ID)] * COUNT, autoreset_mode=mode)


def turns(seed: int) -> list[list[dict[str, Any]]]:
    """Turns of all: the first solves its task and goes on into the next, the second looks, the third finishes."""
    env = make(LIBRARY_ID)
    env.reset(seed=seed)
    solution = [as_action(call) for call in env.oracle()]
    look = {"tool": "get_member", "arguments": {"member_id": "MEM-1"}}
    return [cast("list[dict[str, Any]]", [action, look, FINISH]) for action in (*solution, FINISH, *solution, look)]


def assert_equal(here: Any, there: Any) -> None:
    """Compare what `reset` or `step` gave, and of the infos what the record is made of."""
    for mine, theirs in zip(here[:-1], there[:-1], strict=True):
        assert list(mine) == list(theirs)
    mine, theirs = here[-1], there[-1]
    assert set(mine) == set(theirs)
    for name in ("state_hash", "anchor", "points", "end", "_end", "_points"):
        assert list(mine.get(name, ())) == list(theirs.get(name, ())), name


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_it_is_a_vector_in_process_to_the_bit(server: ServerProcess, mode: AutoresetMode) -> None:
    here, there = in_process(mode), ServedVectorEnv(COUNT, url=server.url, autoreset_mode=mode)
    assert_equal(here.reset(seed=5), there.reset(seed=5))
    for actions in turns(5):
        assert_equal(here.step(actions), there.step(actions))
    assert here.call("digest") == there.call("digest")
    there.close()


def test_a_turn_of_all_is_one_message(server: ServerProcess, messages: list[str]) -> None:
    env = palaestra.connect_vec(server.url, COUNT)
    assert messages == ["worlds", "create", "create"]
    env.reset(seed=0)
    env.step([FINISH] * COUNT)
    env.step([FINISH, *[{"tool": "get_member", "arguments": {"member_id": "MEM-1"}}] * (COUNT - 1)])
    assert messages[3:] == ["reset", "step", "reset"]
    env.close()


def test_a_mask_resets_the_chosen_alone(server: ServerProcess) -> None:
    here, there = (
        in_process(AutoresetMode.DISABLED),
        ServedVectorEnv(COUNT, url=server.url, autoreset_mode=AutoresetMode.DISABLED),
    )
    assert_equal(here.reset(seed=1), there.reset(seed=1))
    look = {"tool": "get_member", "arguments": {"member_id": "MEM-1"}}
    assert_equal(here.step([look, FINISH, look]), there.step([look, FINISH, look]))
    mask = np.array([False, True, False])
    assert_equal(
        here.reset(seed=[None, 9, None], options={"reset_mask": mask}),
        there.reset(seed=[None, 9, None], options={"reset_mask": mask}),
    )
    assert_equal(here.step([look] * COUNT), there.step([look] * COUNT))
    there.close()


def test_a_lost_session_is_a_fault_and_the_next_reset_begins_anew(tmp_path: Path) -> None:
    with run_server("--quiet", "--world", LIBRARY, log=tmp_path / "log") as first:
        env = palaestra.connect_vec(first.url, COUNT, view="play")
        before = env.reset(seed=4)[0]
        port = first.url.rpartition(":")[2]
        first.kill()
        with run_server("--quiet", "--world", LIBRARY, "--port", port, log=tmp_path / "log"):
            with pytest.raises(SessionLostError, match="episode is void"):
                env.step([FINISH] * COUNT)
            assert env.reset(seed=4)[0] == before
            assert list(env.step([FINISH] * COUNT)[2]) == [True] * COUNT
            env.close()


def test_more_sessions_than_the_server_holds_are_refused(tmp_path: Path) -> None:
    with (
        run_server("--quiet", "--world", LIBRARY, "--sessions", "2", log=tmp_path / "log") as server,
        pytest.raises(LimitError),
    ):
        palaestra.connect_vec(server.url, COUNT)


def test_a_wrong_number_of_actions_is_refused_before_any_is_sent(server: ServerProcess, messages: list[str]) -> None:
    envs = palaestra.connect_vec(server.url, COUNT)
    envs.reset(seed=0)
    messages.clear()
    with pytest.raises(ActionError, match=rf"^2 actions for {COUNT} environments; give one for each$"):
        envs.step([FINISH] * 2)
    assert messages == []
    envs.step([FINISH] * COUNT)
    envs.close()


@pytest.mark.parametrize(
    ("bad", "kind"), [(5, ActionError), ({"tool": "finish", "arguments": {"x": b"y"}}, RequestError)]
)
def test_one_action_that_is_none_is_refused_before_any_is_sent(
    server: ServerProcess, messages: list[str], bad: Any, kind: type[Exception]
) -> None:
    envs = palaestra.connect_vec(server.url, COUNT)
    envs.reset(seed=0)
    messages.clear()
    with pytest.raises(kind, match=rf"^action 1 of 0 to {COUNT - 1}: "):
        envs.step([FINISH, bad, *[FINISH] * (COUNT - 2)])
    assert messages == []
    assert list(envs.step([FINISH] * COUNT)[2]) == [True] * COUNT
    envs.close()

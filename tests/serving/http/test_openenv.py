"""OpenEnv's protocol as messages: what its client sends, and what a hostile one may. `make interop` runs its client."""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection

from palaestra.envs.check.subject import make
from palaestra.serving.core import LedgerOutcome
from served import LIBRARY, PAID
from served.live import LiveDoor, open_live_door
from served.waiting import wait_until
from worlds.registration import LIBRARY_ID

LOOK: dict[str, Any] = {"tool": "get_member", "arguments": {"member_id": "MEM-1"}}
PATH = f"/v1/openenv/{LIBRARY.name}/ws"


@pytest.fixture(scope="module")
def door() -> Iterator[LiveDoor]:
    with open_live_door() as door:
        yield door


@pytest.fixture
def socket(door: LiveDoor) -> Iterator[ClientConnection]:
    with door.socket("play", path=PATH) as socket:
        yield socket


def ask(socket: ClientConnection, kind: str, data: Any = None) -> dict[str, Any]:
    """The answer to a message."""
    message = {"type": kind} if data is None else {"type": kind, "data": data}
    socket.send(orjson.dumps(message).decode())
    answer: dict[str, Any] = orjson.loads(socket.recv(timeout=60))
    return answer


def error_of(answer: dict[str, Any]) -> tuple[str, str]:
    """OpenEnv's code of an error, and the one of the HTTP interface."""
    assert answer["type"] == "error", answer
    return answer["data"]["code"], answer["data"]["palaestra_code"]


@pytest.mark.parametrize(
    ("who", "origin", "status"), [(None, "", 401), ("expired", "", 401), ("play", "http://x", 403)]
)
def test_without_a_good_key_or_from_a_page_no_connection_opens(
    door: LiveDoor, who: str | None, origin: str, status: int
) -> None:
    with pytest.raises(InvalidStatus) as caught:
        door.socket(who, path=PATH, headers={"Origin": origin} if origin else {})
    assert caught.value.response.status_code == status


def test_a_key_that_may_not_play_is_refused(door: LiveDoor) -> None:
    with door.socket("read", path=PATH) as socket:
        assert error_of(ask(socket, "reset", {})) == ("EXECUTION_ERROR", "scope")


@pytest.mark.parametrize(
    ("message", "codes"),
    [
        ("{", ("INVALID_JSON", "request")),
        ("[]", ("INVALID_JSON", "request")),
        ("{}", ("UNKNOWN_TYPE", "request")),
        ('{"type": "mcp", "data": {}}', ("UNKNOWN_TYPE", "request")),
        ('{"type": ["step"]}', ("UNKNOWN_TYPE", "request")),
        ('{"type": "step", "data": []}', ("VALIDATION_ERROR", "request")),
        ('{"type": "step", "data": {"tool": "finish"}}', ("EXECUTION_ERROR", "episode_over")),
        ('{"type": "reset", "data": {"seed": "1"}}', ("VALIDATION_ERROR", "request")),
        ('{"type": "reset", "data": {"seed": -1}}', ("VALIDATION_ERROR", "request")),
        ('{"type": "reset", "data": {"seed": 1, "task": "no-such"}}', ("VALIDATION_ERROR", "request")),
    ],
)
def test_a_wrong_message_is_an_error_with_both_codes(
    socket: ClientConnection, message: str, codes: tuple[str, str]
) -> None:
    socket.send(message)
    assert error_of(orjson.loads(socket.recv(timeout=60))) == codes
    assert ask(socket, "reset", {"seed": 0})["type"] == "observation"


@pytest.mark.parametrize("data", [{}, {"tool": 5}, {"type": "call_tool"}, {"action": 5}, {"x": 1}])
def test_a_step_that_is_no_action_is_an_error_and_no_turn(socket: ClientConnection, data: dict[str, Any]) -> None:
    ask(socket, "reset", {"seed": 0})
    assert error_of(ask(socket, "step", data)) == ("VALIDATION_ERROR", "action")
    assert ask(socket, "state")["data"]["step_count"] == 0


def test_a_world_that_is_not_served_is_an_error(door: LiveDoor) -> None:
    with door.socket("play", path="/v1/openenv/no-such/ws") as socket:
        assert error_of(ask(socket, "reset", {})) == ("EXECUTION_ERROR", "no_session")


@pytest.mark.parametrize("is_paid", [False, True])
def test_an_episode_is_the_one_in_process(door: LiveDoor, is_paid: bool) -> None:
    env = make(LIBRARY_ID)
    with door.socket("author", path=f"/v1/openenv/{(PAID if is_paid else LIBRARY).name}/ws") as socket:
        for seed in range(3):
            messages, info = env.reset(seed=seed)
            begun = ask(socket, "reset", {"seed": seed, "episode_id": "mine"} if seed else {"seed": 0})["data"]
            assert (begun["observation"]["metadata"]["messages"], begun["reward"]) == (list(messages), None)
            listed = ask(socket, "step", {"type": "list_tools"})["data"]["observation"]["tools"]
            assert [tool["name"] for tool in listed] == [tool["function"]["name"] for tool in info["tools"]]
            for call in env.oracle():
                messages, reward, is_over, *_ = env.step({"tool": call.tool, "arguments": dict(call.arguments)})
                step = {"type": "call_tool", "tool_name": call.tool, "arguments": dict(call.arguments)}
                shown = ask(socket, "step", step)["data"]
                assert shown["observation"]["metadata"]["messages"] == list(messages)
                assert shown["observation"]["result"] == messages[0]["content"]
                assert (shown["reward"], shown["done"]) == (reward if is_paid else None, is_over)
            state = ask(socket, "state")["data"]
            assert state["step_count"] == env.episode.turn
            [read] = door.post("author", "inspect", {"session": state["episode_id"], "parts": ["digest"]}).json()[
                "results"
            ]
            assert read["ok"]["digest"] == env.digest()


def test_no_secret_is_in_what_a_client_reads(door: LiveDoor) -> None:
    with door.socket("author", path=PATH) as socket:
        read = str(ask(socket, "reset", {"seed": 0})) + str(ask(socket, "step", {"type": "list_tools"}))
        read += str(ask(socket, "step", {**LOOK, "metadata": {"note": 1}})) + str(ask(socket, "step", {"action": "hi"}))
        session = door.core.sessions.peek(ask(socket, "state")["data"]["episode_id"])
        assert session is not None
        env = session.env
        secrets = {
            env.task.id,
            env.task.family,
            env.digest(),
            env.state_hash(),
            *(c.text for c in env.instance.rubric.specs),
        }
        assert [secret for secret in secrets if secret in read] == []
        assert env.episode.turn == 2


@pytest.mark.parametrize("is_polite", [True, False])
def test_a_connection_that_ends_closes_its_session_and_the_episode_is_void(is_polite: bool) -> None:
    with open_live_door() as door:
        with door.socket("play", path=PATH) as socket:
            ask(socket, "reset", {"seed": 0})
            assert len(door.core.sessions) == 1
            if is_polite:
                socket.send('{"type": "close"}')
                with pytest.raises(ConnectionClosed):
                    socket.recv(timeout=60)
            else:
                socket.socket.close()
        wait_until(lambda: len(door.core.sessions) == 0)
        assert door.core.ledger.outcomes[LedgerOutcome.LEFT] == 1


def test_a_session_whose_lease_ran_out_is_lost_in_an_episode_and_the_next_reset_begins_anew() -> None:
    with open_live_door() as door, door.socket("play", path=PATH) as socket:
        ask(socket, "reset", {"seed": 0})
        door.clock.now += 601
        assert error_of(ask(socket, "step", LOOK)) == ("EXECUTION_ERROR", "lost")
        assert ask(socket, "reset", {"seed": 0})["type"] == "observation"
        assert ask(socket, "step", LOOK)["data"]["done"] is False


def test_an_error_of_our_own_tells_nothing(socket: ClientConnection, door: LiveDoor) -> None:
    def fail(*_: object) -> object:
        raise ZeroDivisionError("a secret")

    ask(socket, "reset", {"seed": 0})
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(door.thread.operations, "run_item", fail)
        answer = ask(socket, "step", LOOK)
    assert error_of(answer) == ("EXECUTION_ERROR", "fault")
    assert "secret" not in str(answer)

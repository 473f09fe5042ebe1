"""Hostile WebSocket clients: each is bounded, cut off or left waiting, and the others are served."""

from contextlib import ExitStack, suppress
from pathlib import Path

import orjson
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.sync.client import connect

from palaestra.serving.access import RateLimits
from palaestra.serving.core import LedgerOutcome
from palaestra.serving.http import HttpLimits
from palaestra.serving.http.socket_protocol import BoundedWebSocketProtocol
from served.live import LiveDoor, Talk, open_live_door
from served.process import run_server
from served.waiting import wait_until

LOOK = {"tool": "get_member", "arguments": {"member_id": "MEM-1"}}
SMALL = HttpLimits(body_bytes=20_000, key_sockets=3, sockets=4, socket_seconds=0.3)


def close_code(talk: Talk) -> int:
    """The code with which the server ends a connection."""
    for _ in range(10_000):
        try:
            talk.receive()
        except ConnectionClosed as closed:
            return 1006 if closed.rcvd is None else closed.rcvd.code
    raise AssertionError("the connection stays open")


def refused(door: LiveDoor, who: str) -> Response:
    """The answer to a connection that is not accepted."""
    with pytest.raises(InvalidStatus) as caught:
        door.socket(who)
    return caught.value.response


def send_frames(talk: Talk, *frames: Frame) -> None:
    """Send frames as they are, as no library would."""
    data = b"".join(frame.serialize(mask=True) for frame in frames)
    talk.socket.socket.sendall(data)


def is_served(door: LiveDoor, who: str = "other") -> bool:
    """Whether another client is served."""
    with door.socket(who) as socket:
        view: str = Talk(socket).ask("create", world="library")["view"]
        return view == "play"


@pytest.mark.parametrize("is_in_parts", [False, True])
def test_a_giant_message_ends_the_connection_and_nothing_else(is_in_parts: bool) -> None:
    with open_live_door(http=SMALL) as door, door.socket("play") as socket:
        talk = Talk(socket)
        text = orjson.dumps({"id": 1, "operation": "step", "items": ["x" * 30_000]}).decode()
        with suppress(ConnectionClosed):  # the server may have ended the connection before the last part is sent
            socket.send([text[start : start + 1_000] for start in range(0, len(text), 1_000)] if is_in_parts else text)
        assert close_code(talk) == 1009
        assert is_served(door)
        wait_until(lambda: len(door.server.sockets) == 0)


def test_a_message_of_endless_empty_frames_is_cut_off() -> None:
    with open_live_door() as door, door.socket("play") as socket:
        talk = Talk(socket)
        send_frames(talk, Frame(Opcode.TEXT, b"", fin=False))
        empty = Frame(Opcode.CONT, b"", fin=False)
        send_frames(talk, *[empty] * 1_000)
        talk.socket.ping().wait(60)
        send_frames(talk, *[empty] * 100)
        assert close_code(talk) == 1009
        assert is_served(door)


def test_a_flood_of_tiny_messages_in_one_packet_is_cut_off() -> None:
    with open_live_door() as door, door.socket("play") as socket:
        talk = Talk(socket)
        send_frames(talk, *[Frame(Opcode.TEXT, b"")] * 5_000)
        assert close_code(talk) == 1008
        assert is_served(door)


def test_a_text_that_is_no_unicode_ends_the_connection() -> None:
    with open_live_door() as door, door.socket("play") as socket:
        talk = Talk(socket)
        send_frames(talk, Frame(Opcode.TEXT, b"\xff\xfe"))
        assert close_code(talk) == 1007
        assert is_served(door)


def test_a_key_has_so_many_connections_and_the_server_has_so_many() -> None:
    with open_live_door(http=SMALL) as door:
        with ExitStack() as stack:
            for _ in range(3):
                stack.enter_context(door.socket("play"))
            assert refused(door, "play").status_code == 429
            stack.enter_context(door.socket("other"))
            assert refused(door, "author").headers["Retry-After"] == "10"
        wait_until(lambda: len(door.server.sockets) == 0)
        assert is_served(door)


def test_a_client_that_does_not_read_is_dropped_with_what_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoundedWebSocketProtocol, "drop_seconds", 0.2)
    with open_live_door(http=SMALL) as door, door.socket("play", max_queue=1) as connection:
        talk = Talk(connection)
        items = [{"session": talk.begin(), "tools": True}] * 200
        # The library reads ahead as far as its queue goes. From then on nothing is read, and the server has to wait.
        for _ in range(40):
            talk.send("observe", *items)
        wait_until(lambda: len(door.server.sockets) == 0 and not door.uvicorn.server_state.connections)
        assert is_served(door)


def test_a_client_that_sends_too_fast_is_read_later_and_others_are_not_kept_waiting() -> None:
    with open_live_door(rates=RateLimits(requests=5, burst=2)) as door, door.socket("play") as connection:
        talk = Talk(connection)
        sent = [talk.send("create", {"world": "library"}) for _ in range(12)]
        assert [talk.receive()["id"] for _ in range(10)] == sent[:10]
        assert is_served(door)
        with pytest.raises(TimeoutError):
            connection.recv(timeout=0.3)
        door.clock.now += 0.4
        assert [talk.receive()["id"] for _ in range(2)] == sent[10:]


def test_bytes_are_limited_over_all_connections_of_a_key() -> None:
    item = {"session": "s", "action": "x" * 900}
    with (
        open_live_door(rates=RateLimits(bytes=1_000, burst=1)) as door,
        door.socket("play") as one,
        door.socket("play") as two,
    ):
        first, second = Talk(one), Talk(two)
        assert first.send_all("step", item)[0]["error"]["code"] == "no_session"
        second.send("step", item)
        with pytest.raises(TimeoutError):
            two.recv(timeout=0.3)
        door.clock.now += 2
        assert second.receive()["results"][0]["error"]["code"] == "no_session"


def test_a_key_that_is_revoked_ends_its_connections_at_their_next_message() -> None:
    with open_live_door() as door, door.socket("play") as connection:
        talk = Talk(connection)
        session = talk.begin()
        assert door.server.keys is not None
        door.server.keys.replace([])
        talk.send("step", {"session": session, "action": LOOK})
        answer = talk.receive()
        assert (answer["id"], answer["error"]["code"]) == (None, "key")
        assert close_code(talk) == 1008
        assert [one.turn for one in door.core.sessions] == [0]


def test_a_server_with_no_room_says_so_and_the_connection_goes_on() -> None:
    with open_live_door(http=HttpLimits(pending=0)) as door, door.socket("play") as connection:
        talk = Talk(connection)
        talk.send("create", {"world": "library"})
        assert talk.receive()["error"] == {
            "code": "limit",
            "message": "0 requests wait already; send fewer at once, in larger batches",
            "retry_after": 0.5,
        }
        talk.send("create", {"world": "library"}, stream=True)
        assert talk.receive()["error"]["code"] == "limit"


def test_an_error_of_our_own_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> object:
        raise ZeroDivisionError("a secret")

    with open_live_door() as door, door.socket("play") as connection:
        monkeypatch.setattr(door.server.reader, "read_items", fail)
        talk = Talk(connection)
        id_ = talk.send("create", {"world": "library"})
        answer = talk.receive()
        assert (answer["id"], answer["error"]["code"]) == (id_, "fault")
        assert "secret" not in str(answer)


def test_a_server_that_stops_ends_its_connections_and_their_episodes_are_void() -> None:
    with ExitStack() as stack:
        with open_live_door() as door:
            talks = [Talk(stack.enter_context(door.socket("play"))) for _ in range(3)]
            talks[0].begin()
        assert [close_code(talk) for talk in talks] == [1012] * 3
        assert door.core.ledger.outcomes[LedgerOutcome.STOPPED] == 1
        assert len(door.server.sockets) == 0


def test_a_process_that_is_told_to_stop_ends_cleanly_with_connections_open(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with (
        run_server("--world", "worlds.library:LIBRARY", log=log) as server,
        connect(f"ws{server.url.removeprefix('http')}/v1/socket", proxy=None) as connection,
    ):
        talk = Talk(connection)
        talk.begin()
        assert server.stop() == 0
        assert close_code(talk) == 1012
    text = log.read_text()
    assert '"event":"stopped"' in text
    assert "Traceback" not in text
    assert "127.0.0.1" not in text

"""The operations over one WebSocket connection: as over HTTP, in order, once each, and within bounds."""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from palaestra.envs.check.subject import as_action, make
from served.live import LiveDoor, Talk, open_live_door
from worlds.registration import LIBRARY_ID

LOOK = {"tool": "get_member", "arguments": {"member_id": "MEM-1"}}
FINISH: dict[str, Any] = {"tool": "finish", "arguments": {}}


@pytest.fixture(scope="module")
def door() -> Iterator[LiveDoor]:
    with open_live_door() as door:
        yield door


@pytest.fixture
def talk(door: LiveDoor) -> Iterator[Talk]:
    with door.socket("play") as socket:
        yield Talk(socket)


def refusal(door: LiveDoor, who: str | None, **headers: str) -> tuple[int, str]:
    """Status and code of a connection that is not accepted."""
    with pytest.raises(InvalidStatus) as caught:
        door.socket(who, headers=headers)
    return caught.value.response.status_code, orjson.loads(caught.value.response.body)["error"]["code"]


@pytest.mark.parametrize("who", [None, "", "nonsense", "expired", "pal_000000000000_" + "x" * 43])
def test_without_a_good_key_no_connection_opens(door: LiveDoor, who: str | None) -> None:
    assert refusal(door, who) == (401, "key")
    assert len(door.server.sockets) == 0


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://[", "file://", "http://127.0.0.1:1"])
def test_a_page_of_another_site_opens_no_connection_even_with_a_key(door: LiveDoor, origin: str) -> None:
    assert refusal(door, "play", Origin=origin) == (403, "key")


def test_a_page_of_the_servers_own_address_needs_a_key_as_all_others(door: LiveDoor) -> None:
    assert refusal(door, None, Origin=door.url) == (401, "key")
    with door.socket("play", headers={"Origin": door.url}) as socket:
        assert Talk(socket).ask("create", world="library")["view"] == "play"


def test_without_keys_programs_of_this_machine_connect_and_pages_of_a_browser_do_not() -> None:
    with open_live_door(keys=False) as door:
        assert refusal(door, None, Origin="http://evil.example") == (403, "key")
        assert refusal(door, None, Origin=door.url) == (401, "key")
        with door.socket(None) as socket:
            assert Talk(socket).ask("create", world="library")["view"] == "author"


def test_another_path_opens_no_connection(door: LiveDoor) -> None:
    with pytest.raises(InvalidStatus):
        connect(f"ws://{door.host}/v1/step", proxy=None)


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        pytest.param("[" * 5_000, "no JSON", id="deep"),
        (b"\xff\xfe", "no JSON"),
        ("[]", "whole number"),
        ('{"operation": "create", "items": []}', "whole number"),
        ('{"id": true, "operation": "create", "items": []}', "whole number"),
        ('{"id": -1, "operation": "create", "items": []}', "whole number"),
        ('{"id": 1.0, "operation": "create", "items": []}', "whole number"),
        ('{"id": 9007199254740992, "operation": "create", "items": []}', "whole number"),
        ('{"id": "1", "operation": "create", "items": []}', "whole number"),
    ],
)
def test_a_message_without_an_id_is_refused_and_the_connection_goes_on(talk: Talk, message: Any, says: str) -> None:
    talk.socket.send(message)
    answer = talk.receive()
    assert (answer["id"], answer["error"]["code"]) == (None, "request")
    assert says in answer["error"]["message"]
    assert talk.ask("create", world="library")["view"] == "play"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"operation": "no-such"}, "operation='no-such': one of create"),
        ({"operation": ["step"]}, "one of create"),
        ({}, "one of create"),
        ({"operation": "step", "sneaky": 1}, "unknown: ['sneaky']"),
        ({"operation": "step", "stream": 1}, "`stream` is true or false"),
        ({"operation": "step", "items": 5}, "items: Input should be a valid list"),
        ({"operation": "step", "items": [{"session": "s"}]}, "items.0.action"),
        ({"operation": "create", "items": [{"world": "library", "view": "all"}]}, "items.0.view"),
        ({"operation": "heartbeat", "items": [{"session": "s"}] * 1_025}, "1025 items"),
    ],
)
def test_a_malformed_message_is_refused_with_its_place(talk: Talk, fields: dict[str, Any], says: str) -> None:
    talk.socket.send(orjson.dumps({"id": 7, "items": [], **fields}).decode())
    answer = talk.receive()
    assert (answer["id"], answer["error"]["code"]) == (7, "request")
    assert says in answer["error"]["message"]


def test_a_key_without_the_scope_is_refused_and_an_administrator_closes(door: LiveDoor, talk: Talk) -> None:
    session = talk.begin()
    with door.socket("admin") as socket:
        admin = Talk(socket)
        admin.send("step", {"session": session, "action": LOOK})
        assert admin.receive()["error"]["code"] == "scope"
        assert admin.ask("close", session=session) == {}
    assert talk.send_all("step", {"session": session, "action": LOOK})[0]["error"]["code"] == "lost"
    talk.send("inspect", {"session": session, "parts": ["digest"]})
    assert talk.receive()["error"]["code"] == "scope"


def test_another_owners_session_reads_as_one_that_is_not_there(door: LiveDoor, talk: Talk) -> None:
    session = talk.begin()
    with door.socket("other") as socket:
        [result] = Talk(socket).send_all("step", {"session": session, "action": LOOK})
    assert result["error"]["code"] == "no_session"
    assert talk.ask("step", session=session, action=LOOK)["turn"] == 1


def test_an_episode_is_the_one_in_process_and_scores_alike(door: LiveDoor, talk: Talk) -> None:
    here = make(LIBRARY_ID)
    with door.socket("author") as socket:
        author = Talk(socket)
        for seed in range(4):
            session = author.begin(seed=seed, player="play")
            here.reset(seed=seed)
            for turn, call in enumerate(here.oracle(), 1):
                shown = talk.ask("step", session=session, action=as_action(call), turn=turn - 1)
                assert shown["messages"] == list(here.step(as_action(call))[0])
                assert "reward" not in shown
            read = author.ask("inspect", session=session, parts=["digest", "score"])
            assert read["digest"] == here.digest()
            assert (read["score"]["points"], read["score"]["passed"]) == (here.score().points, True)


def test_fork_snapshot_and_restore_go_over_the_same_connection(talk: Talk) -> None:
    session = talk.begin()
    taken = talk.ask("snapshot", session=session)["snapshot"]
    fork = talk.ask("fork", session=session)["session"]
    assert talk.ask("step", session=session, action=FINISH)["end"] == "finished"
    assert talk.ask("restore", session=session, snapshot=taken)["end"] is None
    assert talk.ask("step", session=fork, action=LOOK)["turn"] == 1
    opening = [talk.ask("observe", session=one)["opening"] for one in (session, fork)]
    assert opening[0] == opening[1]
    assert talk.send_all("close", {"session": session}, {"session": fork}) == [{"ok": {}}, {"ok": {}}]


def test_a_batch_is_answered_in_order_and_an_item_that_fails_leaves_the_others_alone(talk: Talk) -> None:
    sessions = [talk.begin(seed=seed) for seed in range(3)]
    items = [{"session": one, "action": LOOK} for one in (*sessions[:2], "no-such", sessions[2])]
    results = talk.send_all("step", *items)
    assert [result.get("error", {}).get("code") for result in results] == [None, None, "no_session", None]


def test_a_stream_answers_each_item_as_it_is_run(talk: Talk) -> None:
    sessions = [talk.begin(seed=seed) for seed in range(3)]
    items = [{"session": one, "action": LOOK} for one in (*sessions, "no-such")]
    id_ = talk.send("step", *items, stream=True)
    answers = [talk.receive() for _ in range(5)]
    assert [(answer["id"], answer.get("index")) for answer in answers] == [(id_, n) for n in (0, 1, 2, 3, None)]
    assert [answer["ok"]["turn"] for answer in answers[:3]] == [1, 1, 1]
    assert answers[3]["error"]["code"] == "no_session"
    assert answers[4] == {"id": id_, "done": 4}


def test_messages_that_are_sent_ahead_are_answered_in_their_order(talk: Talk) -> None:
    session = talk.begin()
    ids = [talk.send("step", {"session": session, "action": LOOK}) for _ in range(5)]
    answers = [talk.receive() for _ in ids]
    assert [answer["id"] for answer in answers] == ids
    assert [answer["results"][0]["ok"]["turn"] for answer in answers] == [1, 2, 3, 4, 5]


def test_a_message_that_arrives_twice_is_run_once(talk: Talk) -> None:
    session = talk.begin()
    message = orjson.dumps({"id": 50, "operation": "step", "items": [{"session": session, "action": LOOK}]}).decode()
    for _ in range(2):
        talk.socket.send(message)
    assert talk.receive()["results"][0]["ok"]["turn"] == 1
    answer = talk.receive()
    assert (answer["id"], answer["error"]["code"]) == (50, "conflict")
    assert "nothing was run" in answer["error"]["message"]
    talk.send("observe", {"session": session})
    assert talk.receive()["error"]["code"] == "conflict", "the connection has used greater ids"


def test_a_client_that_vanished_before_the_answer_is_answered_again_over_another_connection(door: LiveDoor) -> None:
    item = {"action": LOOK, "request": "r1"}
    with door.socket("play") as socket:
        talk = Talk(socket)
        session = talk.begin()
        talk.send("step", {"session": session, **item})
        socket.socket.close()
    with door.socket("play") as socket:
        again = Talk(socket)
        first = again.ask("step", session=session, **item)
        assert first["turn"] == 1
        assert again.ask("step", session=session, **item) == first
        assert again.ask("step", session=session, action=LOOK)["turn"] == 2


def test_a_cut_connection_leaves_its_session_to_the_lease(door: LiveDoor) -> None:
    with door.socket("play") as socket:
        talk = Talk(socket)
        session, kept = talk.begin(lease=60), talk.begin(lease=60)
    assert talk_of(door, "heartbeat", session=kept)["lease"] == 60
    door.clock.now += 59
    talk_of(door, "heartbeat", session=kept)
    door.clock.now += 1
    assert talk_of(door, "step", session=kept, action=LOOK)["turn"] == 1
    with door.socket("play") as socket:
        [result] = Talk(socket).send_all("step", {"session": session, "action": LOOK})
    assert result["error"]["code"] == "lost"


def talk_of(door: LiveDoor, operation: str, **item: Any) -> dict[str, Any]:
    """The answer to one item over a connection of its own."""
    with door.socket("play") as socket:
        return Talk(socket).ask(operation, **item)

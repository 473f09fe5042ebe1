"""MCP over HTTP: who is answered, what a client may see, and the package's own client over a real socket."""

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import httpx2
import orjson
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from palaestra.envs.check.subject import make
from palaestra.serving.access import RateLimits
from palaestra.serving.client import ServedEnv
from palaestra.serving.core import NOT_BEGUN
from palaestra.serving.http import HttpLimits
from palaestra.serving.mcp import BRIEFING_URI, REQUEST_META
from served import Door, open_door
from served.live import LiveDoor, open_live_door
from worlds.registration import LIBRARY_ID

LOOK: tuple[str, dict[str, Any]] = ("get_member", {"member_id": "MEM-1"})
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
VERSION = {"MCP-Protocol-Version": "2025-11-25"}
MODES = ("legacy", "auto")


@pytest.fixture
def door() -> Iterator[Door]:
    with open_door() as door:
        yield door


@pytest.fixture(scope="module")
def live() -> Iterator[LiveDoor]:
    with open_live_door() as door:
        yield door


def begin(door: Door, who: str | None = "play", *, seed: int = 0, **creation: Any) -> str:
    session = str(door.ask(who, "create", **{"world": "library", **creation})["session"])
    door.ask(who, "reset", session=session, seed=seed)
    return session


def call_body(*, id_: Any = 1, tool: str = LOOK[0], arguments: Any = LOOK[1], **more: Any) -> dict[str, Any]:
    """The message of a tool call."""
    params = {"name": tool, "arguments": arguments, **more}
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}


def post(door: Door, session: str, body: Any, who: str | None = "play", **headers: str) -> httpx.Response:
    """The answer to a message as it is."""
    content = body if isinstance(body, bytes) else orjson.dumps(body)
    sent = {**HEADERS, **VERSION, **headers}
    return door.send("POST", f"mcp/{session}", who=who, content=content, headers=sent)


def turn_of(door: Door, session: str, who: str | None = "play") -> int:
    return int(door.ask(who, "observe", session=session)["turn"])


@pytest.mark.parametrize("who", [None, "", "nonsense", "expired", "pal_000000000000_" + "x" * 43])
def test_without_a_good_key_nothing_is_answered(door: Door, who: str | None) -> None:
    session = begin(door)
    response = post(door, session, call_body(), who)
    assert (response.status_code, response.json()["error"]["code"]) == (401, "key")
    assert turn_of(door, session) == 0


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://[", "http://127.0.0.1.evil.example"])
def test_a_page_of_another_site_is_refused_even_with_a_key(door: Door, origin: str) -> None:
    session = begin(door)
    response = post(door, session, call_body(), Origin=origin)
    assert response.status_code == 403
    assert turn_of(door, session) == 0
    assert post(door, session, call_body(), Origin="http://127.0.0.1").status_code == 200


def test_without_keys_a_page_is_refused_whatever_it_says_and_so_is_another_host() -> None:
    with open_door(keys=False) as door:
        session = begin(door, None)
        assert post(door, session, call_body(), None, Origin="http://evil.example").status_code == 403
        assert post(door, session, call_body(), None, Origin="http://127.0.0.1").status_code == 401
        rebound = post(door, session, call_body(), None, Host="evil.example", Origin="http://evil.example")
        assert rebound.status_code == 401
        assert turn_of(door, session, None) == 0
        assert post(door, session, call_body(), None).status_code == 200


@pytest.mark.parametrize("who", ["other", "author"])
def test_another_owners_session_reads_as_one_that_is_not_there(door: Door, who: str) -> None:
    theirs, nobodys = (post(door, session, call_body(), who).json()["error"] for session in (begin(door), "no-such"))
    assert theirs["message"].replace("id-0", "no-such") == nobodys["message"]
    assert theirs["data"] == nobodys["data"] == {"code": "no_session"}


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_only_posts_are_answered(door: Door, method: str) -> None:
    response = door.send(method, f"mcp/{begin(door)}", who="play", headers=HEADERS)
    assert (response.status_code, response.json()["error"]["code"]) == (405, "route")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[" * 5_000 + b"]" * 5_000,
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x", "arguments": {"a": NaN}}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "\\ud800", "arguments": {}}}',
        b"[]",
        b"5",
        [call_body(), call_body(id_=2)],
        {"jsonrpc": "1.0", "id": 1, "method": "tools/call", "params": {}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"arguments": {}}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x", "arguments": []}},
        {"jsonrpc": "2.0", "id": None, "method": "tools/call", "params": call_body()["params"]},
        {"jsonrpc": "2.0", "id": 1, "method": "inspect", "params": {"parts": ["oracle"]}},
        {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {}},
        {"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"level": "debug"}},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
    ],
)
@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28", "1999-01-01", ""])
def test_a_malformed_message_is_refused_and_plays_nothing(door: Door, body: Any, version: str) -> None:
    session = begin(door)
    response = post(door, session, body, **{"MCP-Protocol-Version": version})
    assert response.status_code == 202 or "error" in response.json()
    assert response.status_code < 500
    assert turn_of(door, session) == 0


def test_a_giant_body_is_refused_and_a_flood_too() -> None:
    with open_door(http=HttpLimits(body_bytes=10_000)) as door:
        session = begin(door)
        assert post(door, session, call_body(arguments={"member_id": "x" * 20_000})).status_code == 413
        assert turn_of(door, session) == 0
    with open_door(rates=RateLimits(requests=4, burst=1)) as door:
        session = begin(door)
        assert [post(door, session, call_body(id_=n)).status_code for n in range(4)] == [200, 200, 429, 429]


def test_a_server_that_stops_says_so(door: Door) -> None:
    session = begin(door)
    door.server.is_stopping = True
    assert post(door, session, call_body()).status_code == 429


def test_a_request_that_arrives_again_in_one_connection_is_answered_again_and_not_played_again(door: Door) -> None:
    session = begin(door)
    first = post(door, session, call_body(), **{"Mcp-Session-Id": "mine"})
    again = post(door, session, call_body(), **{"Mcp-Session-Id": "mine"})
    assert first.content == again.content
    assert turn_of(door, session) == 1
    other = post(door, session, call_body(tool="finish", arguments={}), **{"Mcp-Session-Id": "mine"})
    assert other.json()["error"]["data"] == {"code": "conflict"}
    assert turn_of(door, session) == 1
    for id_ in ("1", 2, -1, "x" * 5_000, 10**15):
        assert "result" in post(door, session, call_body(id_=id_), **{"Mcp-Session-Id": "mine"}).json()
    assert turn_of(door, session) == 6


def test_another_connection_may_use_the_same_ids(door: Door) -> None:
    session = begin(door)
    for number in range(3):
        post(door, session, call_body(), **{"Mcp-Session-Id": f"connection-{number}"})
    post(door, session, call_body())
    post(door, session, call_body())
    assert turn_of(door, session) == 5


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_handshake_names_the_connection_and_nothing_is_kept(door: Door, version: str) -> None:
    session = begin(door)
    params = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    names = set[str]()
    for _ in range(3):
        content = orjson.dumps(hello)
        response = door.send("POST", f"mcp/{session}", who="play", content=content, headers=HEADERS)
        names.add(response.headers["mcp-session-id"])
        assert BRIEFING_URI in response.json()["result"]["instructions"]
        assert response.json()["result"]["protocolVersion"] == version
    assert len(names) == 3
    assert turn_of(door, session) == 0


def secrets_of(door: Door, session: str) -> set[str]:
    """What an author reads of a session and no player may."""
    found = door.core.sessions.peek(session)
    assert found is not None
    env = found.env
    criteria = {part for c in env.instance.rubric.specs for part in (f'"{c.id}"', c.text)} - {'"answer"'}
    return {env.task.id, env.task.family, env.digest(), env.state_hash(), "world_seed", "rubric", "oracle", *criteria}


@pytest.mark.parametrize("who", ["play", "author"])
def test_no_client_reads_a_secret_not_even_with_an_authors_key(door: Door, who: str) -> None:
    session = begin(door, "author", player="play")
    known, read = secrets_of(door, session), b""
    env = make(LIBRARY_ID)
    env.reset(seed=0)
    for method, params in (("tools/list", {}), ("resources/list", {}), ("resources/read", {"uri": BRIEFING_URI})):
        read += post(door, session, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, who).content
    for call in env.oracle():
        body = call_body(tool=call.tool, arguments=dict(call.arguments))
        read += post(door, session, body, who).content
        known |= secrets_of(door, session)
    assert door.ask("author", "observe", session=session)["end"] == "finished"
    assert [secret for secret in known if secret.encode() in read] == []
    assert b"reward" not in read


def test_an_error_of_our_own_tells_nothing(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> object:
        raise ZeroDivisionError("a secret")

    session = begin(door)
    for place, name in ((door.core, "step"), (door.thread.operations, "run"), (door.server.reader, "read")):
        with monkeypatch.context() as patched:
            patched.setattr(place, name, fail)
            for version in ("2025-11-25", "2026-07-28"):
                response = post(door, session, call_body(), **{"MCP-Protocol-Version": version})
                assert "secret" not in response.text


def test_a_server_without_the_package_says_what_to_install(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    session = begin(door)
    with monkeypatch.context() as patched:
        for name in [name for name in sys.modules if name.startswith("palaestra.serving.mcp")]:
            patched.delitem(sys.modules, name)
        patched.setitem(sys.modules, "mcp.server.context", None)
        response = post(door, session, call_body())
    assert (response.status_code, response.json()["error"]["code"]) == (422, "capability")
    assert "mcp is not installed there; `pip install 'palaestra[serve]'`" in response.json()["error"]["message"]
    assert post(door, session, call_body()).status_code == 200


def use(door: LiveDoor, session: str, mode: str, play: Callable[[Client], Awaitable[None]], who: str = "play") -> None:
    """Let the package's client play a session over a socket."""

    async def run() -> None:
        headers = {"Authorization": f"Bearer {door.tokens[who]}"}
        async with httpx2.AsyncClient(headers=headers, trust_env=False) as http:
            transport = streamable_http_client(f"{door.url}/v1/mcp/{session}", http_client=http)
            async with Client(transport, mode=mode) as client:
                await play(client)

    asyncio.run(run())


@pytest.mark.parametrize("mode", MODES)
def test_the_packages_client_plays_what_is_played_in_process_and_an_author_reads_an_equal_score(
    live: LiveDoor, mode: str
) -> None:
    here = make(LIBRARY_ID)
    author = ServedEnv(url=live.url, world="library", key=live.tokens["author"])
    for seed in range(3):
        author.reset(seed=seed)
        here.reset(seed=seed)

        async def play(client: Client) -> None:
            await client.read_resource(BRIEFING_URI)
            offered = {tool.name for tool in (await client.list_tools()).tools}
            for call in here.oracle():
                assert call.tool in offered
                answer = await client.call_tool(call.tool, dict(call.arguments))
                shown = here.step({"tool": call.tool, "arguments": dict(call.arguments)})[0]
                assert answer.content[0].text == shown[0]["content"]  # type: ignore[union-attr]

        assert author.mcp_url.startswith(live.url)
        use(live, author.mcp_url.rpartition("/")[2], mode, play, "author")
        assert author.digest() == here.digest()
        assert author.score() == here.score()
    author.close()


@pytest.mark.parametrize("mode", MODES)
def test_errors_for_the_program_reach_the_client_with_their_code(live: LiveDoor, mode: str) -> None:
    async def play(client: Client) -> None:
        with pytest.raises(MCPError) as caught:
            await client.call_tool(*LOOK)
        assert caught.value.data == {"code": "no_session"}

    use(live, begin(live, "other"), mode, play)


@pytest.mark.parametrize("mode", MODES)
def test_before_the_first_reset_a_client_reads_who_begins_the_episode(live: LiveDoor, mode: str) -> None:
    async def play(client: Client) -> None:
        answer = await client.call_tool(*LOOK)
        assert answer.is_error
        assert answer.content[0].text == NOT_BEGUN  # type: ignore[union-attr]
        for ask in (client.list_tools, lambda: client.read_resource(BRIEFING_URI)):
            with pytest.raises(MCPError, match=NOT_BEGUN):
                await ask()

    use(live, str(live.ask("play", "create", world="library")["session"]), mode, play)


def test_a_client_that_vanishes_in_a_call_has_played_it_once(live: LiveDoor) -> None:
    session = begin(live)
    content = orjson.dumps(call_body(_meta={REQUEST_META: "once"}))
    head = (
        f"POST /v1/mcp/{session} HTTP/1.1\r\nHost: {live.host}\r\nAuthorization: Bearer {live.tokens['play']}\r\n"
        f"Content-Type: application/json\r\nAccept: application/json\r\nMCP-Protocol-Version: 2025-11-25\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    )
    for _ in range(5):
        host, port = live.host.split(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(head.encode() + content)
    answer = post(live, session, call_body(_meta={REQUEST_META: "once"}))
    assert answer.json()["result"]["_meta"]["palaestra/turn"] == 1
    assert turn_of(live, session) == 1

"""Every route without, with a wrong, an expired and a too small key; who may come from where; malformed requests."""

from collections.abc import Iterator
from typing import Any

import pytest

from palaestra.errors import AccessError, KeyScopeError
from palaestra.serving.core import OPERATIONS, STATUS
from served import Door, open_door

WRONG = "pal_000000000000_" + "x" * 43
GETS = ("worlds", "sessions", "metrics")
LOOK = {"tool": "get_member", "arguments": {"member_id": "MEM-1"}}


@pytest.fixture
def door() -> Iterator[Door]:
    with open_door() as door:
        yield door


def routes() -> list[tuple[str, str]]:
    return [*(("POST", name) for name in (*OPERATIONS, "mcp/{session}")), *(("GET", name) for name in GETS)]


def test_these_are_all_routes(door: Door) -> None:
    described = door.send("GET", "../openapi.json").json()
    paths = {(method.upper(), path) for path, methods in described["paths"].items() for method in methods}
    assert paths == {(method, f"/v1/{name}") for method, name in [*routes(), ("GET", "health")]}


@pytest.mark.parametrize(("method", "name"), routes())
@pytest.mark.parametrize("token", [None, "", "nonsense", "ключ", WRONG, "expired", "halved"])
def test_without_a_good_key_no_route_answers(door: Door, method: str, name: str, token: str | None) -> None:
    if token == "halved":  # noqa: S105
        token = door.tokens["author"][:-1] + "~"
    elif token == "ключ":  # noqa: S105
        token = "\xe9" * 60
    sent: dict[str, Any] = {"json": {"items": []}} if method == "POST" else {}
    headers = {} if token is None else {"Authorization": b"Bearer " + door.tokens.get(token, token).encode("latin-1")}
    response = door.send(method, name, headers=headers, **sent)  # type: ignore[arg-type]
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.json()["error"]["code"] == "key"


@pytest.mark.parametrize(("method", "name"), routes())
def test_a_key_without_the_scope_is_refused_before_the_body_is_read(door: Door, method: str, name: str) -> None:
    sent: dict[str, Any] = {"content": b"no JSON"} if method == "POST" else {}
    lesser = {"inspect": "play", "metrics": "author", "close": "read", "worlds": None, "sessions": None}.get(
        name, "admin"
    )
    if lesser is None:
        assert door.send(method, name, who="read").status_code == 200
        return
    response = door.send(method, name, who=lesser, **sent)
    assert (response.status_code, response.json()["error"]["code"]) == (403, "scope")


def test_a_key_is_not_taken_from_elsewhere(door: Door) -> None:
    key = door.tokens["author"]
    for headers in ({"X-Api-Key": key}, {"Authorization": f"Basic {key}"}, {"Cookie": f"key={key}"}):
        assert door.send("GET", "worlds", headers=headers).status_code == 401
    assert door.send("GET", f"worlds?key={key}").status_code == 401


def test_a_good_key_plays(door: Door) -> None:
    session = door.ask("play", "create", world="library")["session"]
    door.ask("play", "reset", session=session, seed=0)
    assert door.ask("play", "step", session=session, action=LOOK)["turn"] == 1
    assert door.send("GET", "sessions", who="read").json()["sessions"][0]["creator"] == "play"
    assert door.post("other", "step", {"session": session, "action": LOOK}).json()["results"][0]["error"]["code"] == (
        "no_session"
    )
    assert door.ask("admin", "close", session=session) == {}


@pytest.mark.parametrize("player", ["nobody", "expired", "read"])
def test_a_session_is_made_only_for_a_player_whose_key_may_play(door: Door, player: str) -> None:
    response = door.post(
        "author", "create", {"world": "library", "player": "play"}, {"world": "library", "player": player}
    )
    assert (response.status_code, response.json()["error"]["code"]) == (422, "request")
    assert response.json()["error"]["message"].startswith(f"items.1.player: no key of {player!r} may play; `palaestra")
    assert len(door.core.sessions) == 0
    assert "session" in door.ask("author", "create", world="library", player="play")


def test_who_may_not_name_a_player_does_not_learn_who_has_a_key(door: Door) -> None:
    refused = [door.post("play", "create", {"world": "library", "player": name}).json() for name in ("other", "nobody")]
    [[known], [unknown]] = [answer["results"] for answer in refused]
    assert known["error"]["code"] == "scope"
    assert known["error"]["message"].replace("other", "nobody") == unknown["error"]["message"]


def test_without_keys_nobody_else_is_a_player() -> None:
    with open_door(keys=False) as door:
        assert door.post(None, "create", {"world": "library", "player": "alice"}).status_code == 422


def test_health_needs_no_key_and_tells_when_the_server_stops(door: Door) -> None:
    assert door.send("GET", "health").json() == {"status": "ok"}
    door.server.is_stopping = True
    assert door.send("GET", "health").status_code == 503
    response = door.post("play", "create", {"world": "library"})
    assert (response.status_code, response.json()["error"]["code"]) == (429, "limit")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"[]", "an object with `items`"),
        (b'{"items": [], "more": 1}', "an object with `items`"),
        (b'{"items": 5}', "items: Input should be a valid list"),
        (b'{"items": [5]}', "items.0"),
        (b'{"items": [{"session": "s"}]}', "items.0.action: Field required"),
        (b'{"items": [{"session": "s", "action": "a", "sneaky": 1}]}', "items.0.sneaky"),
        (b'{"items": [{"session": "s", "action": "a", "turn": -1}]}', "items.0.turn"),
        (b'{"items": [{"session": "s", "action": "a", "turn": "1"}]}', "items.0.turn"),
        (b'{"items": [{"session": "", "action": "a"}]}', "items.0.session"),
        (b'{"items": [{"session": "s", "action": "a", "request": "' + b"k" * 65 + b'"}]}', "items.0.request"),
        (b'{"items": [{"session": "s", "action": NaN}]}', "no JSON"),
        (b'{"items": [' + b"[" * 5_000 + b"]" * 5_000 + b"]}", "no JSON"),
        (b'{"items": ["\xff"]}', "no JSON"),
        (b'{"items": [' + b",".join([b'{"session":"s","action":""}'] * 1_025) + b"]}", "1025 items"),
    ],
)
def test_a_malformed_request_is_refused_with_its_place(door: Door, content: bytes, says: str) -> None:
    headers = {"Content-Type": "application/json"}
    response = door.send("POST", "step", who="play", content=content, headers=headers)
    assert response.status_code == 422
    assert response.json()["error"]["code"] == "request"
    assert says in response.json()["error"]["message"]


def test_a_body_that_is_not_declared_as_json_is_refused(door: Door) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        response = door.send("POST", "step", who="play", content=b'{"items": []}', headers={"Content-Type": kind})
        assert response.status_code == 422


@pytest.mark.parametrize(("method", "path"), [("GET", "nothing"), ("GET", "step"), ("PUT", "step"), ("POST", "health")])
def test_other_routes_and_methods_are_refused_in_the_same_form(door: Door, method: str, path: str) -> None:
    response = door.send(method, path, who="play")
    assert response.status_code in (404, 405)
    assert response.json()["error"]["code"] == "route"


def test_without_keys_this_machine_is_answered_and_pages_of_a_browser_are_not() -> None:
    with open_door(keys=False) as door:
        assert door.ask(None, "create", world="library")["view"] == "author"
        for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Host": "evil.example:8765"}):
            response = door.send("POST", "create", headers=headers, json={"items": [{"world": "library"}]})
            assert (response.status_code, response.json()["error"]["code"]) == (401, "key")
        for host in ("localhost:8765", "127.0.0.1", "[::1]:8765"):
            assert door.send("GET", "worlds", headers={"Host": host}).status_code == 200
        assert len(door.core.sessions) == 1


def test_an_error_of_our_own_tells_nothing(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> object:
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(door.server.reader, "read", fail)
    response = door.post("play", "create", {"world": "library"})
    assert response.status_code == 500
    assert "a secret" not in response.text


def test_every_code_has_a_status() -> None:
    assert STATUS["key"] == 401
    assert STATUS["scope"] == 403
    assert issubclass(KeyScopeError, AccessError)

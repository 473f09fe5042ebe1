"""Every fault of a server is told for what it is, tried again where that may help, and the key leaks nowhere."""

import asyncio
import gc
import logging
import pickle
import socket
import traceback
import warnings
from collections.abc import Callable
from threading import Barrier
from typing import Any

import pytest

from chatserver import Answer, Asked, ChatServer, Cut, Hang, Reset, chat_server, said
from palaestra.agents.remote import Endpoint, EndpointConfig
from palaestra.errors import ConfigError, PalaestraError, ReplyError, ServerError, WaitError

KEY = "sk-canary-0123456789"
BUSY = said({"error": {"message": "slow down", "type": "rate_limit"}}, status=429)


class Waits:
    """Waits that are over at once, and how long they would have been."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.fixture
def waits() -> Waits:
    return Waits()


def ask(server: ChatServer | str, waits: Waits, **settings: Any) -> dict[str, Any]:
    """What the server answers to `{"n": 1}`."""
    url = server if isinstance(server, str) else server.url
    endpoint = Endpoint(EndpointConfig(base_url=url, **settings), sleep=waits)

    async def asked() -> dict[str, Any]:
        try:
            return await endpoint.post("chat/completions", {"n": 1})
        finally:
            await endpoint.close()

    return asyncio.run(asked())


def test_an_answer_is_given_as_it_is(waits: Waits) -> None:
    with chat_server(said({"choices": [1, "two"]})) as server:
        assert ask(server, waits) == {"choices": [1, "two"]}
    assert [(asked.path, asked.body) for asked in server.asked] == [("/v1/chat/completions", {"n": 1})]
    assert "authorization" not in server.asked[0].headers
    assert waits.seconds == []


@pytest.mark.parametrize(
    "fault",
    [
        BUSY,
        *(Answer(status=status, body=b"oops") for status in (408, 409, 425, 500, 502, 503, 529)),
        Reset(half=False),
        Reset(half=True),
        Cut(),
    ],
    ids=str,
)
def test_what_may_pass_is_tried_again(fault: Any, waits: Waits) -> None:
    with chat_server(fault, fault, said({"fine": True})) as server:
        assert ask(server, waits) == {"fine": True}
    assert len(server.asked) == 3
    assert len(waits.seconds) == 2


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 405, 413, 422, 451])
def test_a_refusal_is_told_at_once(status: int, waits: Waits) -> None:
    refusal = said({"error": {"message": "no such model: x"}}, status=status, headers={"Location": "/elsewhere"})
    with chat_server(refusal) as server, pytest.raises(ReplyError) as told:
        ask(server, waits)
    url = f"{server.url}/chat/completions"
    assert f"{url} refused the request with status {status}: no such model: x" in str(told.value)
    assert isinstance(told.value, ValueError)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("body", "quoted"),
    [
        (b'{"error": "words"}', "words"),
        (b'{"message": "words"}', "words"),
        (b'{"detail": [1]}', '{"detail": [1]}'),
        (b"[]", "[]"),
        (b"<html>words</html>", "<html>words</html>"),
        (b"", "nothing"),
        (b"\xff" + b"x" * 999, "\ufffd" + "x" * 299 + "..."),
    ],
)
def test_a_refusal_is_quoted_in_whatever_form_it_comes(body: bytes, quoted: str, waits: Waits) -> None:
    with chat_server(Answer(status=400, body=body)) as server, pytest.raises(ReplyError) as told:
        ask(server, waits)
    assert f"with status 400: {quoted}; the server's limits" in str(told.value)


@pytest.mark.parametrize("body", [b"", b"{", b"null", b"[1]", b"<html>", b'{"a": NaN}', b"\xff\xfe"])
def test_an_answer_that_is_no_json_object_is_told_at_once(body: bytes, waits: Waits) -> None:
    with chat_server(Answer(body=body)) as server, pytest.raises(ReplyError, match="answered with no JSON object"):
        ask(server, waits)
    assert len(server.asked) == 1


def test_a_server_that_stays_away_is_given_up_after_so_many_tries(waits: Waits) -> None:
    with chat_server(Answer(status=503, body=b"loading")) as server, pytest.raises(ServerError) as told:
        ask(server, waits, tries=4)
    assert "status 503: loading; tried 4 times in 0 s; see whether the server is well" in str(told.value)
    assert isinstance(told.value, ConnectionError)
    assert len(server.asked) == 4


def test_waits_double_and_end_at_half_a_minute_give_or_take_a_half(waits: Waits) -> None:
    with chat_server(BUSY) as server, pytest.raises(ServerError):
        ask(server, waits, tries=10)
    for number, seconds in enumerate(waits.seconds):
        whole = min(30.0, 0.5 * 2**number)
        assert whole / 2 <= seconds < whole
    assert len(waits.seconds) == 9


def test_no_wait_is_shorter_than_the_server_asks_for(waits: Waits) -> None:
    date = {"Date": "Wed, 21 Oct 2015 07:28:00 GMT"}
    asking = ["17", "3.5", "Wed, 21 Oct 2015 07:28:40 GMT", "Wed, 21 Oct 2015 07:20:00 GMT", "soon", "-5"]
    script = [Answer(status=429, headers={"Retry-After": text, **date}) for text in asking]
    with chat_server(*script, said({})) as server:
        ask(server, waits, tries=7)
    assert waits.seconds[:3] == [17.0, 3.5, 40.0]
    assert all(seconds <= 30 for seconds in waits.seconds[3:])


def test_a_server_that_asks_for_more_patience_than_there_is_is_not_waited_for(waits: Waits) -> None:
    busy = Answer(status=429, headers={"Retry-After": "600"})
    with chat_server(busy) as server, pytest.raises(ServerError, match=r"asks to wait 600 s, of 300 s of patience"):
        ask(server, waits)
    assert len(server.asked) == 1
    assert waits.seconds == []


@pytest.mark.parametrize("drip", [False, True], ids=["silent", "a byte at a time"])
def test_a_server_that_takes_too_long_is_told_as_a_time_out(drip: bool, waits: Waits) -> None:
    with chat_server(Hang(drip=drip)) as server, pytest.raises(WaitError, match=r"no answer within 0\.1 s; tried 2"):
        ask(server, waits, timeout=0.1, tries=2)
    assert len(server.asked) == 2


def test_a_time_out_may_pass_too(waits: Waits) -> None:
    with chat_server(Hang(), said({"fine": True})) as server:
        assert ask(server, waits, timeout=0.2) == {"fine": True}


def test_a_server_that_is_not_there_is_told(waits: Waits) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(ServerError, match=rf"127.0.0.1:{port}/v1/chat/completions: the connection failed \(ConnectE"):
        ask(f"http://127.0.0.1:{port}/v1", waits)


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://host/v1", "http://", "http://host:port/v1", "v1"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="is no address; give one such as"):
        Endpoint(EndpointConfig(base_url=url))


@pytest.mark.parametrize("url", [f"http://me:{KEY}@host/v1", f"http://host/v1?key={KEY}", f"http://{KEY}@host/v1"])
def test_an_address_with_a_secret_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ConfigError, match="of host holds a user, a password or a query") as told:
        Endpoint(EndpointConfig(base_url=url))
    assert KEY not in str(told.value)


def test_the_key_is_sent_from_the_environment_as_it_is_at_the_time(
    waits: Waits, monkeypatch: pytest.MonkeyPatch
) -> None:
    with chat_server(said({})) as server:
        for key in (KEY, "sk-another\n"):
            monkeypatch.setenv("SOME_KEY", key)
            ask(server, waits, key_variable="SOME_KEY")
    assert [asked.headers["authorization"] for asked in server.asked] == [f"Bearer {KEY}", "Bearer sk-another"]


@pytest.mark.parametrize(
    ("value", "says"),
    [(None, "is not set"), ("", "is not set"), ("a b", "holds no key"), (f"{KEY}\r\nX: y", "holds no")],
)
def test_a_key_that_is_none_is_refused_before_anything_is_sent(
    value: str | None, says: str, waits: Waits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("SOME_KEY", value)
    with chat_server(said({})) as server, pytest.raises(ConfigError, match=f"SOME_KEY {says}") as told:
        ask(server, waits, key_variable="SOME_KEY")
    assert KEY not in str(told.value)
    assert server.asked == []


@pytest.mark.parametrize(
    "fault",
    [
        said({"error": {"message": f"Incorrect API key provided: {KEY}"}}, status=401),
        said({"error": f"bad {KEY}"}, status=500),
        Answer(body=f"<html>{KEY}</html>".encode()),
        Answer(status=400, body=b"x" * 290 + KEY.encode()),
        Reset(),
        Hang(),
    ],
    ids=lambda fault: f"{type(fault).__name__} {getattr(fault, 'status', '')}",
)
def test_the_key_is_in_no_error_log_repr_or_pickle(
    fault: Any, waits: Waits, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("SOME_KEY", KEY)
    config = EndpointConfig(base_url="http://host/v1", key_variable="SOME_KEY")
    with chat_server(fault) as server, pytest.raises(PalaestraError) as told:
        ask(server, waits, key_variable="SOME_KEY", timeout=0.1, tries=2)
    error = told.value
    seen = [str(error), repr(error), "".join(traceback.format_exception(error)), caplog.text, repr(Endpoint(config))]
    assert not [text for text in seen if KEY in text or KEY[:10] in text]
    assert KEY.encode() not in pickle.dumps(error) + pickle.dumps(Endpoint(config))
    assert error.__cause__ is error.__context__ is None, "httpx's own errors hold the request, and with it the key"


def test_a_pickled_endpoint_asks_the_same_server() -> None:
    with chat_server(said({"fine": True})) as server:
        endpoint = pickle.loads(pickle.dumps(Endpoint(EndpointConfig(base_url=server.url))))
        assert asyncio.run(_asked_and_closed(endpoint)) == {"fine": True}


async def _asked_and_closed(endpoint: Endpoint) -> object:
    try:
        return await endpoint.post("x", {})
    finally:
        await endpoint.close()
        await endpoint.close()


def test_an_endpoint_outlives_its_event_loops() -> None:
    with chat_server(said({"fine": True})) as server:
        endpoint = Endpoint(EndpointConfig(base_url=server.url))
        for _ in range(3):
            assert asyncio.run(_asked_and_closed(endpoint)) == {"fine": True}


def test_an_endpoint_forgets_event_loops_that_have_ended() -> None:
    with chat_server(said({"fine": True}, headers={"Connection": "close"})) as server:
        endpoint = Endpoint(EndpointConfig(base_url=server.url))
        for _ in range(3):
            assert asyncio.run(endpoint.post("x", {})) == {"fine": True}
        assert len(endpoint._sessions) == 1


def test_no_more_requests_are_under_way_than_there_are_places(waits: Waits) -> None:
    places = 3
    barrier = Barrier(places, timeout=30)

    def together(asked: Asked) -> Answer:
        barrier.wait()
        return said({"n": asked.body["n"]})

    async def crowd(endpoint: Endpoint) -> list[Any]:
        try:
            return await asyncio.gather(*(endpoint.post("x", {"n": n}) for n in range(12)))
        finally:
            await endpoint.close()

    with chat_server(behaviour=together) as server:
        endpoint = Endpoint(EndpointConfig(base_url=server.url, concurrency=places), sleep=waits)
        answers = asyncio.run(crowd(endpoint))
    assert answers == [{"n": n} for n in range(12)]
    assert server.peak == places


@pytest.mark.parametrize("trusting", [False, True])
def test_the_environment_s_proxy_counts_where_it_is_trusted(
    trusting: bool, waits: Waits, monkeypatch: pytest.MonkeyPatch
) -> None:
    with chat_server(said({"by": "proxy"})) as proxy, chat_server(said({"by": "server"})) as server:
        for name in ("NO_PROXY", "no_proxy", "HTTPS_PROXY", "ALL_PROXY", "https_proxy", "all_proxy", "HTTP_PROXY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
        answer = ask(server, waits, trust_env=trusting)
    assert answer == {"by": "proxy" if trusting else "server"}


def test_a_request_that_is_given_up_frees_its_place(waits: Waits) -> None:
    async def story(endpoint: Endpoint, hangs: Callable[[], bool]) -> object:
        first = asyncio.create_task(endpoint.post("x", {}))
        while not hangs():
            await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        try:
            return await endpoint.post("x", {})
        finally:
            await endpoint.close()

    with chat_server(Hang(), said({"fine": True})) as server:
        endpoint = Endpoint(EndpointConfig(base_url=server.url, concurrency=1), sleep=waits)
        answer = asyncio.run(story(endpoint, lambda: len(server.asked) == 1))
    assert answer == {"fine": True}


@pytest.mark.parametrize(
    "options", [{"timeout": 0.0}, {"timeout": float("nan")}, {"patience": -1.0}, {"tries": 0}, {"concurrency": 0}]
)
def test_patience_that_is_none_is_refused(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(ConfigError, match=f"{name}="):
        EndpointConfig(base_url="http://127.0.0.1:1/v1", **options)


@pytest.mark.parametrize("turns", [1, 2, 3, 5, 8, 13, 21, 34, 55])
def test_closing_ends_what_is_under_way_and_leaves_no_connection_open(turns: int) -> None:
    with chat_server(said({"fine": True})) as server:
        answers = asyncio.run(_closed_early(EndpointConfig(base_url=server.url, concurrency=3), turns))
        with warnings.catch_warnings(record=True) as left_open:
            warnings.simplefilter("always", ResourceWarning)
            gc.collect()
    assert [str(warning.message) for warning in left_open] == []
    assert all(answer == {"fine": True} or "were closed" in str(answer) for answer in answers)


async def _closed_early(config: EndpointConfig, turns: int) -> list[dict[str, Any] | BaseException]:
    """The answers to four requests; the endpoint is closed some turns of the event loop after they began."""
    endpoint = Endpoint(config)
    asked = [asyncio.create_task(endpoint.post("chat/completions", {"n": n})) for n in range(4)]
    for _ in range(turns):
        await asyncio.sleep(0)
    await endpoint.close()
    return await asyncio.gather(*asked, return_exceptions=True)

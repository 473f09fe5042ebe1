"""Floods, giant bodies, slow bodies and crowds: each is refused, bounded, and leaves the others alone."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from palaestra.errors import LimitError
from palaestra.serving.access import RateLimits
from palaestra.serving.core import OPERATIONS
from palaestra.serving.http import HttpLimits
from palaestra.serving.workers import CoreThread
from served import PLAYER, CoreUnderTest, Door, open_door

JSON = {"Content-Type": "application/json"}
CREATE = {"world": "library"}


def test_a_flood_of_requests_is_refused_until_time_has_passed() -> None:
    with open_door(rates=RateLimits(requests=5, burst=2)) as door:
        statuses = [door.post("play", "create", CREATE).status_code for _ in range(12)]
        assert statuses == [200] * 10 + [429] * 2
        refused = door.post("play", "create", CREATE)
        assert refused.headers["retry-after"] == "1"
        assert refused.json()["error"]["retry_after"] == pytest.approx(0.2)
        assert door.post("other", "create", CREATE).status_code == 200
        assert door.send("GET", "health").status_code == 200
        door.clock.now += 0.2
        assert [door.post("play", "create", CREATE).status_code for _ in range(2)] == [200, 429]


def test_bytes_are_limited_too() -> None:
    with open_door(rates=RateLimits(bytes=1_000, burst=1)) as door:
        large = {"session": "s", "action": "x" * 900}
        assert [door.post("play", "step", large).status_code for _ in range(2)] == [200, 429]
        door.clock.now += 1
        assert door.post("play", "step", large).status_code == 200


@pytest.mark.parametrize("is_declared", [True, False])
def test_a_giant_body_is_refused_and_not_read(is_declared: bool) -> None:
    sent = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(1_000):
            sent += 1_000
            yield b"x" * 1_000

    with open_door(http=HttpLimits(body_bytes=10_000)) as door:
        headers = {**JSON, "Content-Length": "1000000"} if is_declared else JSON
        response = door.send("POST", "step", who="play", content=body(), headers=headers)
        assert (response.status_code, response.json()["error"]["code"]) == (413, "request")
        assert sent <= 12_000
        assert response.headers["connection"] == "close"


def test_a_body_that_does_not_arrive_is_given_up() -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    with open_door(http=HttpLimits(body_seconds=0.01)) as door:
        response = door.send("POST", "step", who="play", content=body(), headers=JSON)
        assert response.status_code == 408


def test_as_many_requests_wait_as_may_and_the_server_goes_on() -> None:
    with open_door(http=HttpLimits(pending=3)) as door:

        async def crowd() -> list[int]:
            transport = httpx.ASGITransport(app=door.app)
            headers = {"Authorization": f"Bearer {door.tokens['play']}"}
            async with httpx.AsyncClient(transport=transport, base_url="http://x", headers=headers) as client:
                posts = (client.post("/v1/create", json={"items": [CREATE] * 20}) for _ in range(12))
                return [response.status_code for response in await asyncio.gather(*posts)]

        statuses = asyncio.run(crowd())
        assert statuses.count(200) >= 3
        assert set(statuses) == {200, 429}
        assert len(door.core.sessions) == 20 * statuses.count(200)
        assert door.thread.pending == 0


def test_the_core_thread_refuses_what_would_wait_and_runs_what_the_server_must_do() -> None:
    made = CoreUnderTest()
    thread = CoreThread(made.core, most=0)
    batch = made.reader.read_items(OPERATIONS["create"], [CREATE])
    for refused in (thread.run(PLAYER, batch), thread.list_sessions(PLAYER)):
        with pytest.raises(LimitError, match="0 requests wait already"):
            asyncio.run(refused)
    assert asyncio.run(thread.run_always(PLAYER, batch)).errors == {}
    thread.close()


def test_metrics_tell_what_happened() -> None:
    with open_door() as door:
        session = door.ask("play", "create", world="library")["session"]
        door.ask("play", "reset", session=session, seed=0)
        finish: dict[str, Any] = {"session": session, "action": {"tool": "finish", "arguments": {}}}
        door.post("play", "step", finish, finish)
        door.send("GET", "worlds")
        lines = set(door.send("GET", "metrics", who="read").text.splitlines())
        assert {
            'palaestra_requests_total{operation="step",status="200"} 1',
            'palaestra_requests_total{operation="worlds",status="401"} 1',
            'palaestra_items_total{operation="step"} 2',
            'palaestra_item_errors_total{operation="step",code="episode_over"} 1',
            "palaestra_sessions 1",
            "palaestra_episodes_begun_total 1",
            "palaestra_episodes_running 0",
            'palaestra_episodes_total{outcome="counted"} 1',
            'palaestra_episodes_total{outcome="void_fault"} 0',
            'palaestra_request_seconds_bucket{le="+Inf"} 4',
        } <= lines


def test_a_round_frees_what_nobody_uses() -> None:
    door = Door(lease=5)
    door.ask("play", "create", world="library")
    door.clock.now = 5.0
    asyncio.run(door.server.run_round())
    assert len(door.core.sessions) == 0
    door.close()

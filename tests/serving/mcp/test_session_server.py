"""A session over MCP in process, played by the package's own client: equal to the environment, and no more than it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent, TextResourceContents

from palaestra.envs import ToolEnv
from palaestra.envs.check.subject import make
from palaestra.errors import RequestError
from palaestra.records import ToolCall
from palaestra.serving.core import ServedWorld
from palaestra.serving.mcp import BRIEFING_URI, END_META, REQUEST_META, REWARD_META, TURN_META, LocalSession
from served import LIBRARY, PAID
from worlds.registration import LIBRARY_ID, register

MODES = ("legacy", "auto")
"""With a handshake, as protocol versions to 2025-11-25, and without, as from 2026-07-28 on."""
LOOK = ("get_member", {"member_id": "MEM-1"})


def begin(*, seed: int = 0, world: ServedWorld = LIBRARY) -> LocalSession:
    register()
    return LocalSession(world, seed=seed)


def use(session: LocalSession, mode: str, play: Callable[[Client], Awaitable[None]]) -> None:
    """Let a client play a session."""

    async def run() -> None:
        async with Client(session.server, mode=mode) as client:
            await play(client)

    asyncio.run(run())


async def play_calls(client: Client, env: ToolEnv, calls: tuple[ToolCall, ...]) -> None:
    """Play calls here and there, and compare what is answered."""
    for turn, call in enumerate(calls, 1):
        messages, reward, *_, info = env.step({"tool": call.tool, "arguments": dict(call.arguments)})
        answer = await client.call_tool(call.tool, dict(call.arguments))
        texts = [part.text for part in answer.content if isinstance(part, TextContent)]
        assert texts == [m["content"] if m["role"] == "tool" else f"[user] {m['content']}" for m in messages]
        meta = dict(answer.meta or {})
        assert (meta[TURN_META], meta.get(END_META), answer.is_error) == (turn, info["end"], False)
        assert meta.get(REWARD_META, reward) == reward


@pytest.mark.parametrize("mode", MODES)
def test_an_episode_is_the_one_in_process_and_scores_alike(mode: str) -> None:
    env = make(LIBRARY_ID)
    for seed in range(6):
        session = begin(seed=seed, world=PAID)
        messages, info = env.reset(seed=seed)

        async def play(client: Client, messages: Any = messages, info: Any = info) -> None:
            listed = (await client.list_tools()).tools
            offered = [schema["function"] for schema in info["tools"]]
            assert [(t.name, t.description, t.input_schema) for t in listed] == [
                (f["name"], f["description"], f["parameters"]) for f in offered
            ]
            [resource] = (await client.list_resources()).resources
            [briefing] = (await client.read_resource(resource.uri)).contents
            assert isinstance(briefing, TextResourceContents)
            assert briefing.text == "\n\n".join(f"[{m['role']}] {m['content']}" for m in messages)
            await play_calls(client, env, env.oracle())

        use(session, mode, play)
        result = session.result()
        assert (result.digest, result.task, result.end) == (env.digest(), env.task.id, env.end)
        assert (result.points, result.passed) == (env.score().points, True)


@pytest.mark.parametrize("mode", MODES)
def test_no_reward_is_shown_where_players_see_none_and_the_briefing_stays(mode: str) -> None:
    async def play(client: Client) -> None:
        before = await client.read_resource(BRIEFING_URI)
        answer = await client.call_tool(*LOOK)
        assert REWARD_META not in (answer.meta or {})
        assert (await client.read_resource(BRIEFING_URI)).contents == before.contents

    use(begin(), mode, play)


@pytest.mark.parametrize("mode", MODES)
def test_after_the_end_a_call_is_an_error_that_the_agent_reads_and_plays_nothing(mode: str) -> None:
    session = begin()

    async def play(client: Client) -> None:
        await client.call_tool("finish", {})
        answer = await client.call_tool(*LOOK)
        assert answer.is_error
        assert answer.content == [TextContent(type="text", text="The episode is over: no further call is played.")]

    use(session, mode, play)
    assert session.result().turns == 1


@pytest.mark.parametrize("mode", MODES)
def test_a_call_with_a_request_key_that_arrives_again_is_answered_again_and_not_played_again(mode: str) -> None:
    session = begin()

    async def play(client: Client) -> None:
        meta: Any = {REQUEST_META: "mine-1"}
        first = await client.call_tool(*LOOK, meta=meta)
        assert (await client.call_tool(*LOOK, meta=meta)).content == first.content
        assert (await client.call_tool(*LOOK)).meta == {**(first.meta or {}), TURN_META: 2}
        with pytest.raises(MCPError, match="run before") as caught:
            await client.call_tool(*LOOK, meta=meta)
        assert caught.value.data == {"code": "conflict"}
        wrong: Any
        for wrong in ({REQUEST_META: 5}, {REQUEST_META: ["mine"]}):
            with pytest.raises(MCPError, match="is a text"):
                await client.call_tool(*LOOK, meta=wrong)

    use(session, mode, play)
    assert session.result().turns == 2


@pytest.mark.parametrize("mode", MODES)
def test_two_equal_calls_are_two_turns(mode: str) -> None:
    session = begin()

    async def play(client: Client) -> None:
        for turn in (1, 2, 3):
            assert ((await client.call_tool(*LOOK)).meta or {})[TURN_META] == turn

    use(session, mode, play)
    assert session.result().turns == 3


@pytest.mark.parametrize("mode", MODES)
def test_a_tool_that_is_none_and_wrong_arguments_are_turns_as_in_process(mode: str) -> None:
    env, session = make(LIBRARY_ID), begin()
    env.reset(seed=0)
    calls = (
        ToolCall(tool="no_such", arguments={}),
        ToolCall(tool="get_member", arguments={}),
        ToolCall(tool="get_member", arguments={"member_id": 5, "x": [None]}),
    )
    use(session, mode, lambda client: play_calls(client, env, calls))
    assert session.result().digest == env.digest()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("uri", ["palaestra://session/task", "palaestra://session/rubric", "file:///etc/passwd", "x"])
def test_there_is_no_other_resource(mode: str, uri: str) -> None:
    async def play(client: Client) -> None:
        with pytest.raises(MCPError, match="there is no resource"):
            await client.read_resource(uri)

    use(begin(), mode, play)


@pytest.mark.parametrize("mode", MODES)
def test_what_no_body_over_http_can_hold_is_refused_and_not_played(mode: str) -> None:
    deep: Any = "x"
    for _ in range(80):
        deep = [deep]
    session = begin()

    async def play(client: Client) -> None:
        with pytest.raises(MCPError, match="no JSON"):
            await client.call_tool("get_member", {"member_id": 10**30})
        answer = await client.call_tool("get_member", {"member_id": deep})
        assert answer.is_error
        assert "nested deeper" in str(answer.content)

    use(session, mode, play)
    assert session.result().turns == 0


def test_a_session_without_such_a_task_or_switch_does_not_begin() -> None:
    register()
    with pytest.raises(RequestError):
        LocalSession(LIBRARY, seed=0, task="library/no-such/0000")
    with pytest.raises(RequestError, match="split"):
        LocalSession(ServedWorld(name="library", env_id=LIBRARY_ID, switches={"split": "none"}), seed=0)

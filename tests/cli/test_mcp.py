"""`palaestra mcp` as local clients start it: a process of its own, spoken to by the package's own client."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
from mcp import Client, StdioServerParameters
from typer.testing import CliRunner

import worlds
from palaestra.cli.app import app
from palaestra.envs.check.subject import make
from palaestra.errors import RequestError
from palaestra.serving.mcp import BRIEFING_URI, TURN_META
from worlds.registration import LIBRARY_ID, register

ROOT = Path(worlds.__file__).parents[1]


def command(*arguments: str) -> StdioServerParameters:
    """The process that a client starts."""
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "palaestra", "mcp", "--world", "worlds.library:LIBRARY", *arguments],
        env={**os.environ, "PYTHONPATH": path},
    )


def test_a_client_plays_what_is_played_in_process_and_the_result_is_equal(tmp_path: Path) -> None:
    register()
    env = make(LIBRARY_ID)
    messages, _ = env.reset(seed=3)

    async def play() -> None:
        async with Client(command("--seed", "3", "--result", str(tmp_path / "result.json"))) as client:
            briefing = await client.read_resource(BRIEFING_URI)
            assert messages[1]["content"] in briefing.contents[0].text  # type: ignore[union-attr]
            for turn, call in enumerate(env.oracle(), 1):
                shown = env.step({"tool": call.tool, "arguments": dict(call.arguments)})[0]
                answer = await client.call_tool(call.tool, dict(call.arguments))
                assert answer.content[0].text == shown[0]["content"]  # type: ignore[union-attr]
                assert (answer.meta or {})[TURN_META] == turn
                assert "palaestra/reward" not in (answer.meta or {})

    asyncio.run(play())
    result: dict[str, Any] = orjson.loads((tmp_path / "result.json").read_bytes())
    assert result == {
        "task": env.task.id,
        "seed": 3,
        "turns": env.episode.turn,
        "end": "finished",
        "points": env.score().points,
        "total": env.score().total,
        "passed": True,
        "digest": env.digest(),
    }


def test_a_line_that_is_no_message_and_an_id_that_comes_twice_play_nothing_and_who_leaves_has_no_end(
    tmp_path: Path,
) -> None:
    call = {"name": "get_member", "arguments": {"member_id": "MEM-1"}}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
    ]
    parameters = command("--result", str(tmp_path / "result.json"))
    sent = b"{\n[]\n" + b"".join(orjson.dumps(line) + b"\n" for line in lines[:3])
    with subprocess.Popen(
        [parameters.command, *parameters.args], stdin=-1, stdout=-1, stderr=-1, env=parameters.env
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(sent)
        process.stdin.flush()
        answers = [orjson.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.write(orjson.dumps(lines[3]) + b"\n")
        process.stdin.flush()
        answers.append(orjson.loads(process.stdout.readline()))
        process.stdin.close()
        assert process.wait(timeout=60) == 0
    assert [answer["id"] for answer in answers] == [0, 1, 1]
    assert answers[1] == answers[2]
    result = orjson.loads((tmp_path / "result.json").read_bytes())
    assert (result["turns"], result["end"], result["passed"]) == (1, None, False)


def test_a_task_that_is_none_is_an_error_before_anything_is_served() -> None:
    result = CliRunner().invoke(app, ["mcp", "--world", "storefront", "--task", "storefront/no-such/0000"])
    assert isinstance(result.exception, RequestError)

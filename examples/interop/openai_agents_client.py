"""Play a served world with the OpenAI Agents SDK over MCP. It needs `openai-agents` and nothing of Palaestra.

    python openai_agents_client.py < episodes.json

`episodes.json` is a list of `{"url": ..., "calls": [{"tool": ..., "arguments": {...}}]}`: the MCP address of a session
at the beginning of an episode, and the calls of a scripted model. Give `Agent` the name of a model in its place.
For each episode the script prints a line of JSON: the tools on offer, and the answers as the model read them.
"""

import asyncio
import json
import sys
from typing import Any

from agents.mcp import MCPServerStreamableHttp
from agents.testing import ScriptedModel, assistant_message, function_call

from agents import Agent, RunConfig, Runner


async def play(url: str, calls: list[dict[str, Any]]) -> dict[str, Any]:
    """Play an episode with an agent that makes these calls."""
    turns = [
        [function_call(call["tool"], call["arguments"], call_id=f"call-{number}")] for number, call in enumerate(calls)
    ]
    model = ScriptedModel([*turns, [assistant_message("Done.")]])
    async with MCPServerStreamableHttp(params={"url": url}, cache_tools_list=True) as server:
        briefing = await server.read_resource("palaestra://session/briefing")
        agent = Agent(name="agent", instructions=briefing.contents[0].text, model=model, mcp_servers=[server])
        config = RunConfig(tracing_disabled=True)
        await Runner.run(agent, "Begin.", max_turns=len(calls) + 1, run_config=config)
    last = model.last_call
    assert last is not None
    outputs = [item["output"] for item in last.input if item.get("type") == "function_call_output"]
    return {
        "briefing": last.system_instructions,
        "tools": [tool.name for tool in last.tools],
        "answers": [text for output in outputs for text in read_output(output)],
    }


def read_output(output: str | list[dict[str, Any]]) -> list[str]:
    """The texts of an answer; where there is none, what the SDK tells the model instead."""
    return [output] if isinstance(output, str) else [part["text"] for part in output]


async def main() -> None:
    """Play all episodes."""
    for episode in json.load(sys.stdin):
        sys.stdout.write(json.dumps(await play(episode["url"], episode["calls"])) + "\n")


if __name__ == "__main__":
    asyncio.run(main())

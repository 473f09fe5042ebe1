"""Play a served world with OpenEnv's own clients. It needs `openenv-core` and nothing of Palaestra.

    python openenv_client.py http://127.0.0.1:8765 storefront < episodes.json

`episodes.json` is a list of `{"seed": ..., "calls": [{"tool": ..., "arguments": {...}}]}`. For each episode and each of
the two clients the script prints a line of JSON: what was observed, the rewards, and the digest and score, which it
reads from the server as an author.
"""

import asyncio
import json
import sys
from typing import Any
from urllib.request import Request, urlopen

from openenv.core.env_server.mcp_types import CallToolAction
from openenv.core.generic_client import GenericEnvClient
from openenv.core.mcp_client import MCPToolClient


async def play_tools(url: str, episode: dict[str, Any]) -> dict[str, Any]:
    """Play an episode with the client of tool calls."""
    async with MCPToolClient(base_url=url) as env:
        begun = await env.reset(seed=episode["seed"])
        tools = await env.list_tools()
        steps = [
            await env.step(CallToolAction(tool_name=c["tool"], arguments=c["arguments"])) for c in episode["calls"]
        ]
        state = await env.state()
        shown = [step.observation.metadata["messages"] for step in (begun, *steps)]
        return describe("MCPToolClient", url, state.episode_id, shown, steps, [tool.name for tool in tools])


async def play_generic(url: str, episode: dict[str, Any]) -> dict[str, Any]:
    """Play an episode with the client of any environment."""
    async with GenericEnvClient(base_url=url) as env:
        begun = await env.reset(seed=episode["seed"])
        listed = await env.step({"type": "list_tools"})
        steps = [await env.step(call) for call in episode["calls"]]
        state = await env.state()
        shown = [step.observation["metadata"]["messages"] for step in (begun, *steps)]
        names = [tool["name"] for tool in listed.observation["tools"]]
        return describe("GenericEnvClient", url, state["episode_id"], shown, steps, names)


def describe(
    client: str, url: str, session: str | None, shown: list[Any], steps: list[Any], tools: list[str]
) -> dict[str, Any]:
    """What came of an episode."""
    server = url.partition("/v1/")[0]
    body = json.dumps({"items": [{"session": session, "parts": ["digest", "score"]}]}).encode()
    request = Request(f"{server}/v1/inspect", body, {"Content-Type": "application/json"})  # noqa: S310  the user's server
    with urlopen(request) as answer:  # noqa: S310
        read = json.load(answer)["results"][0]["ok"]
    return {
        "client": client,
        "messages": shown,
        "tools": tools,
        "rewards": [step.reward for step in steps],
        "done": [step.done for step in steps],
        "digest": read["digest"],
        "points": read["score"]["points"],
    }


async def main() -> None:
    """Play all episodes."""
    server, world = sys.argv[1:]
    url = f"{server}/v1/openenv/{world}"
    for episode in json.load(sys.stdin):
        for play in (play_tools, play_generic):
            sys.stdout.write(json.dumps(await play(url, episode)) + "\n")


if __name__ == "__main__":
    asyncio.run(main())

"""Play a served world with LangGraph over MCP. It needs `langgraph`, `langchain-mcp-adapters` and nothing of Palaestra.

    python langgraph_client.py < episodes.json

`episodes.json` is a list of `{"url": ..., "calls": [{"tool": ..., "arguments": {...}}]}`: the MCP address of a session
at the beginning of an episode, and the calls of a scripted model. Put a chat model of LangChain's in its place.
For each episode the script prints a line of JSON: the tools on offer, and the answers as the model read them.
"""

import asyncio
import json
import sys
from typing import Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition


def make_model(calls: list[dict[str, Any]]) -> GenericFakeChatModel:
    """A model that makes these calls, one a turn, and then says that it is done."""
    turns = [
        AIMessage("", tool_calls=[{"name": call["tool"], "args": call["arguments"], "id": f"call-{number}"}])
        for number, call in enumerate(calls)
    ]
    return GenericFakeChatModel(messages=iter([*turns, AIMessage("Done.")]))


async def play(url: str, calls: list[dict[str, Any]]) -> dict[str, Any]:
    """Play an episode with an agent that makes these calls."""
    model = make_model(calls)  # another model also takes the tools: model.bind_tools(tools)
    client = MultiServerMCPClient({"world": {"transport": "streamable_http", "url": url}})
    async with client.session("world") as session:
        tools = await load_mcp_tools(session)
        [briefing] = await client.get_resources("world", uris="palaestra://session/briefing")

        async def ask(state: MessagesState) -> dict[str, Any]:
            return {"messages": [await model.ainvoke(state["messages"])]}

        graph = StateGraph(MessagesState).add_node("agent", ask).add_node("tools", ToolNode(tools))
        graph.add_edge(START, "agent").add_conditional_edges("agent", tools_condition).add_edge("tools", "agent")
        opening = [SystemMessage(briefing.as_string()), HumanMessage("Begin.")]
        limit = {"recursion_limit": 2 * len(calls) + 2}
        result = await graph.compile().ainvoke({"messages": opening}, limit)
    outputs = [message.content for message in result["messages"] if isinstance(message, ToolMessage)]
    return {
        "briefing": opening[0].content,
        "tools": [tool.name for tool in tools],
        "answers": [part["text"] for output in outputs for part in output],
    }


async def main() -> None:
    """Play all episodes."""
    for episode in json.load(sys.stdin):
        sys.stdout.write(json.dumps(await play(episode["url"], episode["calls"])) + "\n")


if __name__ == "__main__":
    asyncio.run(main())

"""verifiers: a rollout of its ToolEnv, with a scripted model that answers at once.

Written for verifiers 0.1.14. The timed work is the environment's own work between two requests to the model: it parses
the calls, runs a tool that looks up a row in a dictionary, and renders the next prompt. Versions that have only
`verifiers.v1` put tools behind one server process and agents into another; they have no ToolEnv to time.
"""

import asyncio
import json
from importlib import import_module
from importlib.metadata import version
from time import perf_counter_ns
from typing import Any

from palaestra.benchmarks.speed.stopwatch import Stopwatch

NAME = "verifiers ToolEnv"

_CALLS = 8
"""Tool calls of a rollout: about as many as in the oracle's episodes."""
_ROWS = {f"ORD-{n}": {"id": f"ORD-{n}", "status": "delivered", "total_cents": 100 * n} for n in range(1_000, 1_100)}


def unfit() -> str:
    """The reason why the installed version cannot be measured; empty where it can."""
    if hasattr(import_module("verifiers"), "ToolEnv"):
        return ""
    return f"not measured: {version('verifiers')} has no ToolEnv; pip install 'verifiers==0.1.14'"


def measure(watch: Stopwatch, tasks: int) -> None:
    """Time the beginning and each tool call of `tasks` rollouts."""
    vf: Any = import_module("verifiers")
    datasets: Any = import_module("datasets")
    datasets.disable_progress_bars()
    dataset = datasets.Dataset.from_list([{"question": "What is the status of my order?"}])
    env = vf.ToolEnv(tools=[get_order], dataset=dataset, rubric=vf.Rubric(), max_turns=_CALLS + 1)
    asyncio.run(_roll_out(env, _script(watch), tasks))


async def _roll_out(env: Any, client: Any, count: int) -> None:
    row = env.get_dataset()[0]
    for _ in range(count):
        client.begin()
        await env.rollout(row, client, "script", {})


def get_order(order_id: str) -> str:
    """Show an order.

    Args:
        order_id: The order's id.
    """
    return json.dumps(_ROWS[order_id])


def _script(watch: Stopwatch) -> Any:
    """A model client that requests an order `_CALLS` times and then ends the rollout."""
    types: Any = import_module("verifiers.types")
    abstract: Any = import_module("verifiers.clients.client").Client

    async def get_response(self: Any, *_args: Any, **_kwargs: Any) -> Any:
        watch.add(f"{'step' if self.turn else 'reset'}, {NAME}", perf_counter_ns() - self.since)
        asked = types.ToolCall(id=str(self.turn), name="get_order", arguments='{"order_id": "ORD-1042"}')
        calls = [asked] if self.turn < _CALLS else None
        message = types.ResponseMessage(
            content="" if calls else "It was delivered.",
            tool_calls=calls,
            finish_reason="tool_calls" if calls else "stop",
            is_truncated=False,
        )
        self.turn += 1
        response = types.Response(id="script", created=0, model="script", message=message)
        self.since = perf_counter_ns()
        return response

    def begin(self: Any) -> None:
        self.turn = 0
        self.since = perf_counter_ns()

    # The abstract client's requests to a provider are not used: `get_response` makes the answers.
    unused = dict.fromkeys(abstract.__abstractmethods__)
    return type("Scripted", (abstract,), {**unused, "get_response": get_response, "begin": begin})(None)

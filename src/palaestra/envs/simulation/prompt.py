"""What a model reads that answers a tool in place of code, and how its answer is read."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

import orjson

from palaestra.envs.simulation.answer_rows import find_rows
from palaestra.envs.simulation.simulated_toolbox import SimulatedAnswer
from palaestra.envs.state import Overlay
from palaestra.envs.world import World
from palaestra.errors import ReplyError
from palaestra.records import Json, Message, ToolCall
from palaestra.tools import Tool

MAX_ANSWER = 40_000
"""The most characters of an answer."""
MOST_ROWS = 200
"""The most rows that the model reads again, the latest ones."""
_FENCED = re.compile(r"\A\s*```[^\n]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_SYSTEM = (
    "You are the database and the tools of an office. You get one call of a tool as JSON, with the tool's schema, the "
    "calls so far and the rows that were shown so far. Answer with the result of the call and nothing else, as JSON of "
    "the form that such results had so far: a row is an object with its `id` and its columns, a list is an object with "
    'the rows under the name of their table. Refuse as {"error": {"code": ..., "message": ...}}. Keep to the rows '
    "shown so far: what was written stays written, and what was not shown may be made up once."
)


def ask_for_answer(
    tool: Tool, call: ToolCall, *, now: datetime, calls: Sequence[ToolCall], rows: Mapping[str, Json]
) -> list[Message]:
    """The messages that ask for the answer of one call.

    Args:
        tool: The tool.
        call: The call.
        now: The time in the world.
        calls: The calls so far, those that are answered by code among them.
        rows: The rows shown so far, by id, in the order in which they were last shown.
    """
    latest = dict(list(rows.items())[-MOST_ROWS:])
    said = {
        "tool": tool.export()["function"],
        "now": now.isoformat(),
        "calls": [_plain(one) for one in calls],
        "rows": latest,
        "call": _plain(call),
    }
    return [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": orjson.dumps(said).decode()}]


def read_answer(text: str, world: World, state: Overlay) -> SimulatedAnswer:
    """The answer that a model wrote.

    Args:
        text: What it wrote.
        world: The world.
        state: The rows as they stand.

    Raises:
        ReplyError: it is too long, no JSON, refuses without code and message, or shows rows that do not fit their
            table.
    """
    if len(text) > MAX_ANSWER:
        raise ReplyError(f"the answer has {len(text)} characters, more than {MAX_ANSWER}; write a shorter one")
    fenced = _FENCED.match(text)
    try:
        value: Json = orjson.loads(fenced.group(1) if fenced else text)
    except orjson.JSONDecodeError as error:
        raise ReplyError(f"the answer is no JSON: {error}; write JSON and nothing else") from None
    _check_refusal(value)
    rows = tuple(find_rows(value, world.schema, state))
    ids = {i for row in rows if row.whole for i in world.schema.ids_in(row.make())} | {row.key for row in rows}
    return SimulatedAnswer(content=orjson.dumps(value).decode(), value=value, rows=rows, ids=frozenset(ids))


def _check_refusal(value: Json) -> None:
    if isinstance(value, dict) and "error" in value:
        error = value["error"]
        if not (isinstance(error, dict) and {"code", "message"} <= error.keys()):
            raise ReplyError('the answer refuses without code or message; write {"error": {"code": .., "message": ..}}')


def _plain(call: ToolCall) -> dict[str, Json]:
    return {"tool": call.tool, "arguments": dict(call.arguments)}

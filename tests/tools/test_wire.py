from typing import Any

import orjson
import pytest

from palaestra.records import ToolCall
from palaestra.tools.wire import MAX_NAME, glimpse, has_safe_integers, plain_call, plain_text


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "arguments", [{"a": 2**70}, {"a": "\ud800"}, {"a": object()}, {"\ud800": 1}, {"a": nested(500)}, 7, {1: 2}]
)
def test_a_plain_call_can_be_written_as_json(arguments: Any) -> None:
    call = plain_call(ToolCall(tool="\ud800" + "x" * 200, arguments=arguments))
    assert orjson.loads(orjson.dumps(call.arguments)) == call.arguments
    assert len(call.tool) == MAX_NAME
    assert plain_text(call.tool) == call.tool


def test_what_can_be_written_stays_as_it_is() -> None:
    call = ToolCall(tool="look", arguments={"id": "é", "n": [1, {"x": None}]})
    assert plain_call(call) == call


def test_a_glimpse_is_short_whatever_it_is_of() -> None:
    assert glimpse("ab") == "'ab'"
    assert glimpse("x" * 100, 10) == "'xxxxxxxxx..."
    assert glimpse(nested(100_000)) == "a list too large to show"


@pytest.mark.parametrize(
    ("value", "fits"),
    [(2**63 - 1, True), (2**63, False), (-(2**63), True), ([1, {"a": 2**64}], False), ({"a": [1]}, True), ("x", True)],
)
def test_json_carries_integers_of_64_bits(value: Any, fits: bool) -> None:
    assert has_safe_integers(value) is fits

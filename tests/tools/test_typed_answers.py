from typing import Any

import pytest

from palaestra.records import ToolCall
from palaestra.seeding import Stream
from palaestra.tools import CONTROL, TYPED_CONTROL, Toolbox, ToolContext, sample_value
from palaestra.tools.toolbox import JournaledState


def finished(context: ToolContext, answer: Any) -> tuple[str | None, dict[str, Any]]:
    state: Any = context.state
    journaled: JournaledState = state
    call = ToolCall(tool="finish", arguments={"answer": answer})
    event = Toolbox(TYPED_CONTROL).call(context, journaled, "call_0_0", call, []).event
    return event.error, context.answer


def test_an_answer_holds_floats_and_lists(context: ToolContext) -> None:
    answer = {"mean": 1.5, "n": 3, "ok": True, "ids": ["a", "b"], "values": [1.0, -2]}
    error, given = finished(context, answer)
    assert error is None
    assert given == answer
    assert [type(value) for value in given.values()] == [float, int, bool, list, list]


def test_there_is_no_minus_zero_in_an_answer(context: ToolContext) -> None:
    _, given = finished(context, {"x": -0.0, "y": [-0.0]})
    assert str(given) == "{'x': 0.0, 'y': [0.0]}"


@pytest.mark.parametrize(
    "answer", [{"x": float("nan")}, {"x": [float("inf")]}, {"x": None}, {"x": {"y": 1}}, {"x": [[1]]}, {"x": 2**64}]
)
def test_what_is_no_value_is_refused(context: ToolContext, answer: Any) -> None:
    error, given = finished(context, answer)
    assert error == "invalid_arguments"
    assert given == {}


def test_worlds_that_ask_for_words_and_whole_numbers_show_the_smaller_schema() -> None:
    plain, typed = ({t.name: t.export() for t in tools}["finish"] for tools in (CONTROL, TYPED_CONTROL))
    answer = plain["function"]["parameters"]["properties"]["answer"]["anyOf"][0]
    assert answer["additionalProperties"] == {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "boolean"}]}
    wide = typed["function"]["parameters"]["properties"]["answer"]["anyOf"][0]["additionalProperties"]["anyOf"]
    assert [option["type"] for option in wide] == ["string", "integer", "number", "boolean", "array"]


@pytest.mark.parametrize(
    ("schema", "low", "high"),
    [
        ({"type": "number", "minimum": -1, "maximum": 1.5}, -1, 1.5),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.01}, 0, 0.01),
        ({"type": "number", "maximum": -5}, -1e9, -5),
        ({"type": "number"}, 0, 1_000),
    ],
)
def test_numbers_are_drawn_within_their_bounds_and_have_fractions(
    schema: dict[str, Any], low: float, high: float
) -> None:
    drawn = [sample_value(schema, Stream.root("numbers", n)) for n in range(50)]
    values = [value for value in drawn if isinstance(value, float)]
    assert len(values) == 50
    assert all(low <= value <= high for value in values)
    assert "exclusiveMinimum" not in schema or low not in values
    assert any(not value.is_integer() for value in values)

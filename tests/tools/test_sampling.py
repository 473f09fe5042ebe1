from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from palaestra.envs.kit import Day
from palaestra.records import References
from palaestra.seeding import Stream
from palaestra.tools import CONTROL, ToolContext, legal_call, sample_call, sample_value, tool
from worlds.library import LIBRARY, TOOLS

seeds = st.integers(0, 10_000).map(lambda n: Stream.root("sampling", n))


@tool()
def everything(
    context: ToolContext,
    whole: Annotated[int, Field(ge=3, lt=6)],
    above: Annotated[int, Field(gt=10, le=12)],
    part: Annotated[float, Field(ge=0, le=5)],
    text: Annotated[str, Field(min_length=30, max_length=40)],
    flag: bool,
    choice: Literal["x", "y"],
    only: Literal["z"],
    nothing: None,
    day: Day,
    several: Annotated[list[int], Field(min_length=1, max_length=2)],
    table: dict[str, bool],
    key: Annotated[str, References("books")] | None = None,
    keys: Annotated[list[Annotated[str, References("loans")]], Field(min_length=2)] = [],  # noqa: B006
) -> object:
    """Take everything.

    Args:
        whole: A.
        above: B.
        part: C.
        text: D.
        flag: E.
        choice: F.
        only: G.
        nothing: H.
        day: M.
        several: I.
        table: J.
        key: K.
        keys: L.
    """
    return context, whole, above, part, text, flag, choice, only, nothing, day, several, table, key, keys


@given(stream=seeds)
def test_a_drawn_call_fits_its_schema(stream: Stream) -> None:
    call = sample_call([everything], stream)
    assert everything.fits(call.arguments)


@given(stream=seeds)
def test_every_tool_of_the_library_can_be_drawn(stream: Stream) -> None:
    by_name = {t.name: t for t in (*TOOLS, *CONTROL)}
    call = sample_call(list(by_name.values()), stream)
    assert by_name[call.tool].fits(call.arguments)


@given(stream=seeds)
def test_a_legal_call_names_rows_that_are_there(stream: Stream) -> None:
    ids = {"books": ["BK-1", "BK-2"], "loans": ["LN-1"]}
    arguments = legal_call([everything], ids.__getitem__, stream).arguments
    assert everything.fits(arguments)
    assert arguments.get("key") in (None, "BK-1", "BK-2")
    listed = arguments.get("keys", [])
    assert isinstance(listed, list)
    assert set(listed) <= {"LN-1"}


@given(stream=seeds)
def test_where_a_table_is_empty_the_id_is_of_nothing(stream: Stream) -> None:
    call = legal_call([LIBRARY.toolbox["get_loan"]], lambda _: (), stream)
    assert isinstance(call.arguments["loan_id"], str)


def test_the_same_stream_draws_the_same_calls() -> None:
    drawn = [sample_call(TOOLS, Stream.root("x", n)) for n in range(30)]
    assert drawn == [sample_call(TOOLS, Stream.root("x", n)) for n in range(30)]
    assert len({call.tool for call in drawn}) > 5


@pytest.mark.parametrize("day", [20260309, "9 March", "2026-02-30", None, True])
def test_what_names_no_day_does_not_fit_a_day(day: object) -> None:
    call = sample_call([everything], Stream.root("day"))
    assert not everything.fits({**call.arguments, "day": day})


@pytest.mark.parametrize("schema", [{"$ref": "#/x"}, {"type": "string", "pattern": "a"}, {"type": "tuple"}])
def test_a_keyword_that_is_not_known_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="cannot draw a value for the schema"):
        sample_value(schema, Stream.root("x"))


@pytest.mark.parametrize(
    ("schema", "possible"),
    [
        ({"const": 4}, {4}),
        ({"enum": ["a", "b"]}, {"a", "b"}),
        ({"anyOf": [{"const": 1}, {"type": "null"}]}, {1, None}),
        ({"type": "integer", "minimum": 1, "maximum": 3}, {1, 2, 3}),
        ({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 4}, {2, 3}),
        ({"type": "boolean"}, {True, False}),
    ],
)
def test_every_value_that_a_schema_allows_is_drawn_and_no_other(schema: dict[str, Any], possible: set[object]) -> None:
    drawn: list[object] = [sample_value(schema, Stream.root("x", n)) for n in range(60)]
    assert set(drawn) == possible

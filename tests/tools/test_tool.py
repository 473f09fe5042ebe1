import pickle
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from palaestra.errors import DefinitionError, ToolRefusal
from palaestra.records import ANY_TABLE, AuthoredText, Prose, References
from palaestra.tools import Reads, Tool, ToolContext, tool
from palaestra.tools.tool import MAX_TEXT


@tool(writes=True, roles=("clerk",), latency=9, cost=4)
def file(
    context: ToolContext,
    key: Annotated[str, References("books")],
    others: list[Annotated[str, References("loans")]] | None = None,
    note: Annotated[str, Prose()] = "",
    size: Annotated[int, Field(ge=1, le=9)] = 1,
    shelf: Literal["a", "b"] = "a",
    share: float = 0.5,
) -> object:
    """File a book.

    It stays where it is
    until tomorrow.

    Args:
        key: The book,
            by its id.
        others: Further loans.
        note: What to write.
        size: How big.
        shelf: Where.
        share: How much.
    """
    del context
    return [key, others, note, size, shelf, share]


def test_the_description_is_the_docstring_up_to_its_arguments() -> None:
    assert file.name == "file"
    assert file.description == "File a book. It stays where it is until tomorrow."


def test_the_schema_has_descriptions_defaults_and_bounds_and_no_titles() -> None:
    properties = file.parameters["properties"]
    assert list(properties) == ["key", "others", "note", "size", "shelf", "share"]
    assert properties["key"] == {"type": "string", "description": "The book, by its id."}
    assert properties["size"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 9,
        "default": 1,
        "description": "How big.",
    }
    assert properties["shelf"]["enum"] == ["a", "b"]
    assert file.parameters["required"] == ["key"]
    assert file.parameters["additionalProperties"] is False
    assert "title" not in str(file.parameters)


def test_marks_are_found_however_deep_they_stand() -> None:
    assert file.references == {"key": "books", "others": "loans"}
    assert file.prose == {"note"}


def test_an_argument_named_title_keeps_its_place_in_the_schema() -> None:
    @tool()
    def name(context: ToolContext, title: str) -> object:
        """Name.

        Args:
            title: The title.
        """
        del context
        return title

    assert name.parameters["properties"]["title"]["type"] == "string"


def test_the_export_is_the_function_calling_form() -> None:
    export = file.export()
    assert export["type"] == "function"
    assert set(export["function"]) == {"name", "description", "parameters"}


def test_what_the_decorator_says_is_kept() -> None:
    assert (file.writes, file.roles, file.latency, file.cost) == (True, frozenset({"clerk"}), 9, 4)


def test_validated_arguments_have_their_defaults() -> None:
    assert file.validate({"key": "BK-1"}) == {
        "key": "BK-1", "others": None, "note": "", "size": 1, "shelf": "a", "share": 0.5,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "key: Field required"),
        ({"key": 1}, "key: Input should be a valid string (got 1)"),
        ({"key": "k", "size": "1"}, "size: Input should be a valid integer (got '1')"),
        ({"key": "k", "size": True}, "size: Input should be a valid integer (got True)"),
        ({"key": "k", "size": 10}, "size: Input should be less than or equal to 9 (got 10)"),
        ({"key": "k", "share": float("nan")}, "share: Input should be a finite number (got nan)"),
        ({"key": "k", "shelf": "c"}, "shelf: Input should be 'a' or 'b' (got 'c')"),
        ({"key": "k", "colour": "red"}, "colour: Extra inputs are not permitted (got 'red')"),
        ({"key": "x" * (MAX_TEXT + 1)}, f"at most {MAX_TEXT} characters"),
        ({"key": "k", "others": ["a", 1]}, "others.1: Input should be a valid string (got 1)"),
        (7, "arguments: "),
    ],
)
def test_what_does_not_fit_is_refused_in_words(arguments: Any, says: str) -> None:
    assert not file.fits(arguments)
    with pytest.raises(ToolRefusal) as refused:
        file.validate(arguments)
    assert refused.value.code == "invalid_arguments"
    assert says in refused.value.message


def test_a_refusal_names_three_faults_and_counts_the_rest_and_cuts_what_is_long() -> None:
    with pytest.raises(ToolRefusal) as refused:
        file.validate({"key": 1, "note": 2, "size": "x" * 200, "shelf": 3, "share": "y"})
    assert refused.value.message.endswith("; and 2 more")
    assert "x" * 70 not in refused.value.message


def test_what_fits_is_not_changed_by_checking_it() -> None:
    assert file.fits({"key": "k", "others": ["a"], "size": 9})


def without_context(key: str) -> object:
    """Do."""
    return key


def without_docstring(context: ToolContext) -> object:
    return context


def without_a_line(context: ToolContext, key: str) -> object:
    """Do."""
    return context, key


def without_annotation(context: ToolContext, key) -> object:  # type: ignore[no-untyped-def]
    """Do.

    Args:
        key: A key.
    """
    return context, key  # pyright: ignore[reportUnknownVariableType]


def authored_id(context: ToolContext, key: Annotated[str, References("shelves"), AuthoredText()]) -> object:
    """Do.

    Args:
        key: A key.
    """
    return context, key


def authored_number(context: ToolContext, key: Annotated[int, AuthoredText()]) -> object:
    """Do.

    Args:
        key: A key.
    """
    return context, key


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (authored_id, "key is `AuthoredText()`, so it is a `str` and has no other mark"),
        (authored_number, "key is `AuthoredText()`, so it is a `str` and has no other mark"),
        (without_context, "the first parameter must be `context: ToolContext`"),
        (without_docstring, "write a docstring; it is what the agent reads"),
        (without_a_line, "key need(s) an annotation and a line under `Args:`"),
        (without_annotation, "key need(s) an annotation and a line under `Args:`"),  # pyright: ignore[reportUnknownArgumentType]
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused(function: Callable[..., object], says: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        tool()(function)
    assert function.__name__ in str(refused.value)
    assert says in str(refused.value)


def test_a_reference_to_any_table_says_so() -> None:
    @tool()
    def look(context: ToolContext, key: Annotated[str, References(ANY_TABLE)]) -> object:
        """Look.

        Args:
            key: Anything.
        """
        del context
        return key

    assert isinstance(look, Tool)
    assert look.references == {"key": "*"}


SHELVES = ("north", "south")


def count_of(shelf: str) -> Tool:
    """A generated tool: its function stands in no module, and its shelf comes from elsewhere."""

    def count(context: ToolContext, place: str) -> object:
        """Count what stands there.

        Args:
            place: The shelf.
        """
        del context
        return place

    reads = Reads(table="books", by={"place": "shelf"})
    return tool(hints={"place": Literal[shelf]}, origin=(count_of, (shelf,)), reads=reads)(count)


@pytest.mark.parametrize("shelf", SHELVES)
def test_a_generated_tool_has_the_annotations_given_and_pickles_as_what_gives_it_again(shelf: str) -> None:
    made = count_of(shelf)
    assert made.fits({"place": shelf})
    assert not made.fits({"place": "west"})
    copy = pickle.loads(pickle.dumps(made))
    assert (copy.export(), copy.reads) == (made.export(), made.reads)
    assert copy.fits({"place": shelf})


def test_a_tool_of_a_module_pickles_as_itself() -> None:
    from palaestra.tools import finish

    assert pickle.loads(pickle.dumps(finish)) is finish

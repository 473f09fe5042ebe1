"""Short schemas of single types, written out by hand; what they keep is held on every tool of the storefront."""

from typing import Any

import gymnasium as gym
import pytest

import palaestra  # noqa: F401  # pyright: ignore[reportUnusedImport]  it registers the worlds
from palaestra.tools import short_schema
from palaestra.tools.short_schemas import first_sentence

ADDRESS: dict[str, Any] = {
    "type": "object",
    "properties": {"street": {"type": "string"}, "zip": {"type": "integer"}},
    "required": ["street"],
}


def tool_with(properties: dict[str, Any], required: list[str] | None = None, **definitions: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": required or [], **definitions}
    return {"type": "function", "function": {"name": "ship", "description": "Ship it.", "parameters": parameters}}


def kind_of(part: dict[str, Any], **definitions: Any) -> str:
    (kind,) = short_schema(tool_with({"x": part}, ["x"], **definitions))["parameters"].values()
    return str(kind)


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ({"type": "string", "maxLength": 9}, "str"),
        ({"type": "integer", "minimum": 1}, "int"),
        ({"type": "number"}, "float"),
        ({"type": "boolean"}, "bool"),
        ({"type": "float"}, "float"),
        ({"type": "tuple"}, "tuple"),
        ({}, "any"),
        ({"type": "string", "enum": ["open", "closed"]}, "open | closed"),
        ({"enum": [1, True, None]}, "1 | true | null"),
        ({"const": "yes"}, "yes"),
        ({"type": "array", "items": {"type": "integer"}}, "list[int]"),
        ({"type": "array"}, "list"),
        ({"type": ["string", "integer", "null"]}, "str | int | null"),
        ({"anyOf": [{"type": "string"}, {"type": "string", "format": "date"}, {"type": "null"}]}, "str | null"),
        ({"oneOf": [{"type": "boolean"}, {"type": "array", "items": {"enum": ["a"]}}]}, "bool | list[a]"),
        ({"type": "object"}, "dict"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "dict"),
        (ADDRESS, "dict(street: str, zip?: int)"),
        ({"type": "dict", "properties": {"a": {"type": "integer"}}}, "dict(a?: int)"),
        ({"type": "array", "items": ADDRESS}, "list[dict(street: str, zip?: int)]"),
    ],
)
def test_a_type_is_one_word_or_line(part: dict[str, Any], kind: str) -> None:
    assert kind_of(part) == kind


def test_a_reference_stands_for_what_it_points_to() -> None:
    assert kind_of({"$ref": "#/$defs/Address"}, **{"$defs": {"Address": ADDRESS}}) == "dict(street: str, zip?: int)"
    assert kind_of({"$ref": "#/$defs/Lost"}) == "any"


def test_a_schema_that_contains_itself_ends() -> None:
    node: dict[str, Any] = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    kind = kind_of({"$ref": "#/$defs/Node"}, **{"$defs": {"Node": node}})
    assert kind.startswith("dict(next?: dict(next?: ")
    assert len(kind) < 200


def test_what_may_be_left_out_says_so_and_is_not_said_to_be_null() -> None:
    nullable = {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
    assert short_schema(tool_with({"a": nullable, "b": {"type": "integer"}}, ["b"]))["parameters"] == {
        "a": "str, optional",
        "b": "int",
    }


def test_descriptions_are_kept_whole_where_they_are_asked_for() -> None:
    tool = tool_with({"a": {"type": "string", "description": "Where to.\nAnywhere."}}, ["a"])
    tool["function"]["description"] = "Ship it. Not on Sundays."
    assert short_schema(tool) == {"name": "ship", "description": "Ship it.", "parameters": {"a": "str"}}
    assert short_schema(tool, described=True) == {
        "name": "ship",
        "description": "Ship it. Not on Sundays.",
        "parameters": {"a": {"description": "Where to.\nAnywhere.", "type": "str"}},
    }


def test_a_tool_without_parameters_has_none() -> None:
    for function in ({"name": "finish"}, {"name": "finish", "parameters": {"type": "object"}}):
        assert short_schema({"function": function}) == {"name": "finish", "description": "", "parameters": {}}


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Show an order. It lists lines.", "Show an order."),
        ("Is it there? Yes.", "Is it there?"),
        ("Show an\n  order", "Show an order"),
        ("Pay 3.50 at once. Then wait.", "Pay 3.50 at once."),
        ("Find a city, e.g. Lyon. Ten at most.", "Find a city, e.g. Lyon."),
        ("", ""),
    ],
)
def test_the_first_sentence_ends_where_a_reader_ends_it(text: str, first: str) -> None:
    assert first_sentence(text) == first


@pytest.mark.parametrize("surface", ["conventional", "generic"])
def test_every_tool_keeps_its_names_its_choices_and_what_is_required(surface: str) -> None:
    env = gym.make("palaestra/Storefront-v0", surface=surface)
    _, info = env.reset(seed=0)
    for tool in info["tools"]:
        short, schema = short_schema(tool), tool["function"]["parameters"]
        assert short["name"] == tool["function"]["name"]
        assert short["description"]
        assert list(short["parameters"]) == list(schema.get("properties", {}))
        optional = {name for name, kind in short["parameters"].items() if kind.endswith(", optional")}
        assert optional == short["parameters"].keys() - set(schema.get("required", []))
        for name, part in schema.get("properties", {}).items():
            for choice in part.get("enum", []):
                assert choice in short["parameters"][name].removesuffix(", optional").split(" | ")

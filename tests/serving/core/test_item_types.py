"""No field takes a value of another JSON type: 1 is no truth value, true is no number, and "5" is neither.

A second implementation, jsonschema over the published document, says which values fit a field.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from palaestra.errors import RequestError
from palaestra.serving.core import OPERATIONS, ItemReader

VALUES: tuple[Any, ...] = (None, True, False, 0, 1, 5, -1, 0.5, "", "5", "true", "play", [], ["a"], {}, {"a": 1})
READER = ItemReader(4)


def fields() -> Iterator[tuple[str, str]]:
    for name in OPERATIONS:
        for field in item_schema(name)["properties"]:
            yield name, field


def item_schema(name: str) -> dict[str, Any]:
    """The schema of an item, with what it refers to. Any: JSON."""
    request, definitions = READER.schema(name, reference="#/$defs/{model}")
    items: dict[str, Any] = request["properties"]["items"]["items"]
    if "$ref" in items:
        items = definitions[items["$ref"].rpartition("/")[2]]
    return {**items, "$defs": definitions}


def fitting(schema: dict[str, Any]) -> dict[str, Any]:
    """An item of the fields that are needed."""
    own = {"session": "s", "snapshot": "s", "world": "w", "seed": 3, "action": "x", "parts": ["digest"]}
    return {field: own[field] for field in schema.get("required", ())}


@pytest.mark.parametrize(("name", "field"), [*fields()])
def test_a_value_is_taken_where_the_document_says_so_and_nowhere_else(name: str, field: str) -> None:
    schema = item_schema(name)
    judge: Any = Draft202012Validator(schema)  # Any: its stubs are not complete
    verdicts: list[bool] = []
    for value in VALUES:
        item = {**fitting(schema), field: value}
        verdicts.append(judge.is_valid(item))
        try:
            READER.read_items(OPERATIONS[name], [item])
        except RequestError:
            taken = False
        else:
            taken = True
        assert taken == verdicts[-1], f"{field}={value!r}"
    assert any(verdicts) or field not in {"session", "request", "turn", "seed", "lease"}, "no value was ever taken"
    assert field == "action" or not all(verdicts), "no value was ever refused"

"""The server's OpenAPI document can be followed, and 1,000 requests generated from it are answered as it says.

A soak sends 100,000.
"""

import re
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from palaestra.serving.core import CODES, OPERATIONS
from property.budget import SOAK
from served import open_door
from served.generated import send_generated


def test_every_reference_of_the_document_leads_somewhere() -> None:
    with open_door() as door:
        document = door.app.openapi()
    found = list(references(document))
    assert len({*found}) >= len(OPERATIONS)
    for reference in found:
        at: Any = document
        for part in reference.removeprefix("#/").split("/"):
            at = at[part]
        assert at


def references(document: Any) -> Iterator[str]:
    """Every `$ref` in a JSON document. Any: JSON."""
    yield from re.findall(r'"\$ref":"([^"]*)"', orjson.dumps(document).decode())


def test_all_routes_but_health_ask_for_a_key() -> None:
    with open_door() as door:
        document = door.app.openapi()
    assert document["components"]["securitySchemes"] == {"key": {"type": "http", "scheme": "bearer"}}
    for path, methods in document["paths"].items():
        for method in methods.values():
            assert method["security"] == ([] if path == "/v1/health" else [{"key": []}])


@pytest.mark.parametrize("number", range(100 if SOAK else 1))
def test_a_thousand_generated_requests_meet_no_fault_and_are_answered_as_described(number: int) -> None:
    with open_door() as door:
        found = send_generated(door, each=36, number=number)
    assert found.sent >= 1_000
    assert {label.rpartition("/")[2] for label, _ in found.statuses} >= OPERATIONS.keys()
    assert all(status < 500 for _, status in found.statuses)
    assert found.results["ok"] > 100, "live sessions were played"
    assert {*found.results} - {"ok"} <= {*CODES} - {"fault"}

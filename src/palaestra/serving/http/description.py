"""The server as an OpenAPI document: what each route takes, what it answers, and which keys it needs.

Clients are generated from it, so every reference resolves, and it names every status that a route answers.
"""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from palaestra.serving.core import CODES, OPERATIONS, STATUS, ItemReader
from palaestra.serving.http.route_answers import JSON

REFERENCE = "#/components/schemas/{model}"
"""The path of the schemas in a document."""
_KEY = "key"
_OPEN = frozenset({"/v1/health"})
"""Paths that take no key."""
_MCP = "/v1/mcp/{session}"
_MESSAGE: dict[str, Any] = {
    "type": "object",
    "required": ["jsonrpc"],
    "properties": {"jsonrpc": {"const": "2.0"}, "method": {"type": "string"}},
    "description": "A message of JSON-RPC, as the Model Context Protocol has them.",
}
_MCP_ERROR = {"description": "An error of JSON-RPC.", "content": {JSON: {"schema": {"type": "object"}}}}
_MCP_ANSWERS: dict[str, Any] = {
    "200": {"description": "A reply of JSON-RPC.", "content": {JSON: {"schema": {"type": "object"}}}},
    "202": {"description": "A notification was taken."},
    **dict.fromkeys(("400", "404", "406"), _MCP_ERROR),
}
_REFUSALS = sorted({*(status for code, status in STATUS.items() if code != "fault"), 400, 408, 413})
"""Statuses of requests that fail as a whole. A server fault is not listed: clients should not expect it."""
_TO_ERROR = {"$ref": REFERENCE.format(model="Error")}
_ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["code", "message"],
    "properties": {
        "code": {"type": "string", "enum": [*CODES, "route"]},
        "message": {"type": "string"},
        "retry_after": {"type": "number", "description": "Seconds, where the code is limit."},
    },
}
_SCHEMAS: dict[str, Any] = {
    "Error": _ERROR,
    "Refusal": {
        "type": "object",
        "required": ["error"],
        "properties": {"error": _TO_ERROR},
    },
    "Results": {
        "type": "object",
        "required": ["results"],
        "properties": {
            "results": {
                "type": "array",
                "description": "One for each item, in the same order.",
                "items": {
                    "oneOf": [
                        {"type": "object", "required": ["ok"], "properties": {"ok": {}}, "additionalProperties": False},
                        {
                            "type": "object",
                            "required": ["error"],
                            "properties": {"error": _TO_ERROR},
                            "additionalProperties": False,
                        },
                    ]
                },
            }
        },
    },
}


def describe_app(app: FastAPI, reader: ItemReader) -> dict[str, Any]:
    """The document, as JSON. Any: JSON."""
    described = get_openapi(title=app.title, version=app.version, routes=app.routes)
    schemas = dict(_SCHEMAS)
    for path, methods in described["paths"].items():
        name = path.rpartition("/")[2]
        for method in methods.values():
            method["responses"] |= _answers(path)
            method["security"] = [] if path in _OPEN else [{_KEY: []}]
            if path == _MCP:
                schemas["Message"] = _MESSAGE
                method["requestBody"] = {"required": True, "content": {JSON: {"schema": _reference("Message")}}}
                method["responses"] |= _MCP_ANSWERS
            if name in OPERATIONS:
                schema, definitions = reader.schema(name, reference=REFERENCE)
                schemas |= definitions
                method["requestBody"] = {"required": True, "content": {JSON: {"schema": schema}}}
                method["responses"]["200"] = _answer("Results of the items.", "Results")
    described["components"] = {"schemas": schemas, "securitySchemes": {_KEY: {"type": "http", "scheme": "bearer"}}}
    return described


def _answers(path: str) -> dict[str, Any]:
    if path in _OPEN:
        return {"503": {"description": "The server stops."}}
    return {str(status): _answer("The request fails as a whole.", "Refusal") for status in _REFUSALS}


def _answer(words: str, model: str) -> dict[str, Any]:
    return {"description": words, "content": {JSON: {"schema": _reference(model)}}}


def _reference(model: str) -> dict[str, str]:
    return {"$ref": REFERENCE.format(model=model)}

"""Tools as typed functions: a stub that Python reads, for every tool of every world."""

import ast
from typing import Any

import gymnasium as gym
import pytest

from palaestra.envs import ToolEnv
from palaestra.tools import Schemas
from palaestra.tools.sandbox import describe_client, function_texts

LOOK: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "look",
        "description": 'Look at a """thing\\".\n\nSlowly.',
        "parameters": {
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "Which."},
                "kinds": {"type": "array", "items": {"enum": ["a", "b"]}},
                "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
                "extra": {"$ref": "#/$defs/Extra", "default": 1.5},
            },
            "required": ["id", "kinds"],
            "$defs": {"Extra": {"type": "object", "additionalProperties": {"type": "number"}}},
        },
    },
}


def test_a_function_has_types_defaults_and_a_docstring() -> None:
    (stub,) = ast.parse(function_texts(Schemas.of([LOOK]))["look"]).body
    assert isinstance(stub, ast.FunctionDef)
    kinds = "*, id: str, kinds: list[Literal['a', 'b']], limit: int | None=None, extra: dict[str, float]=1.5"
    assert ast.unparse(stub.args) == kinds
    assert ast.get_docstring(stub) == "Look at a '''thing\\\".\n\nSlowly.\n\nArgs:\n    id: Which."


@pytest.mark.parametrize("env_id", ["palaestra/Storefront-v0", "palaestra/Shop-v0"])
@pytest.mark.parametrize("surface", ["conventional", "generic", "pages"])
def test_the_client_of_a_world_is_python(env_id: str, surface: str) -> None:
    env = gym.make(env_id, surface=surface).unwrapped
    assert isinstance(env, ToolEnv)
    _, info = env.reset(seed=0)
    read = ast.parse(describe_client(info["tools"]))
    names = [node.name for node in read.body if isinstance(node, ast.FunctionDef)]
    assert names == [tool["function"]["name"] for tool in info["tools"]] == list(function_texts(info["tools"]))

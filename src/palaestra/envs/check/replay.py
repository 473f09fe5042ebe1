"""The other process of `check_processes`: reads walks from stdin, plays them, writes their marks to stdout."""

import sys
from importlib import import_module
from typing import Any

import orjson

import palaestra
from palaestra.envs.check.subject import OperationResult, make, replay


def answer(request: dict[str, Any]) -> list[list[OperationResult]]:
    """The marks of every walk in `request`."""
    palaestra.register_world(request["place"], env_id=request["env_id"])
    import_module(request["module"])  # what registers an id with another entry point
    return [list(replay(make(request["id"], **request["kwargs"]), walk)) for walk in request["walks"]]


if __name__ == "__main__":
    sys.stdout.buffer.write(orjson.dumps(answer(orjson.loads(sys.stdin.buffer.readline()))))

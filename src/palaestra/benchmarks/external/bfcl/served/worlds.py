"""The API classes of a multi-turn task: instances of one player, and calls of their methods.

The package itself keeps instances in its module's globals and evaluates calls as text. Here an episode has its own
instances, and a call is looked up among the documented methods and made with a copy of its arguments.
"""

import copy
import decimal
import inspect
import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from palaestra.benchmarks.external.bfcl.served.package import BACKEND, CONFIG, UTILS

_MPMATH: Any = import_module("mpmath")
_DIGITS = 10_000
"""The precision up to which the calculator calculates; a hundred thousand times as much takes for ever."""
_BITS = 1 << 16
"""Of a power; what has more could not be written as text in any case."""


class BfclInstances:
    """The instances of one player.

    Args:
        entry: A multi-turn task, as the package loads it. Any: JSON.
    """

    def __init__(self, entry: Mapping[str, Any]) -> None:
        self.instances: dict[str, Any] = {}
        self._methods: dict[str, Callable[..., Any]] = {}
        for name in entry["involved_classes"]:
            instance = getattr(import_module(BACKEND.CLASS_FILE_PATH_MAPPING[name]), name)()
            if name not in BACKEND.STATELESS_CLASSES:
                config = copy.deepcopy(entry["initial_config"].get(name, {}))
                instance._load_scenario(config, long_context="long_context" in entry["id"])
            self.instances[name] = instance
            self._methods |= {method: getattr(instance, method) for method in _read_documents(name)}

    def parameters(self, tool: str) -> list[str]:
        """The names of a method's parameters, in order."""
        return list(inspect.signature(self._methods[tool]).parameters)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, str | None]:
        """Call a method: what the package would show for it, and a short word where it was refused."""
        method = self._methods.get(tool)
        if method is None:
            return f"Error during execution: name {tool!r} is not defined", "unknown_tool"
        if (why := _endless(tool, arguments)) is not None:
            return f"Error during execution: {why}", "invalid_arguments"
        with decimal.localcontext(decimal.Context()), _MPMATH.workdps(15):  # a call may change them for all
            try:
                value = method(**copy.deepcopy(dict(arguments)))  # some keep a list that they are given, and change it
                # Within: how many digits are shown hangs on what the call has set.
                return _text(value), "failed" if isinstance(value, dict) and "error" in value else None
            except Exception as error:
                return f"Error during execution: {error}", "failed" if _fits(method, arguments) else "invalid_arguments"


@cache
def _read_documents(name: str) -> tuple[str, ...]:
    docs = UTILS.load_file(CONFIG.MULTI_TURN_FUNC_DOC_PATH / BACKEND.MULTI_TURN_FUNC_DOC_FILE_MAPPING[name])
    return tuple(doc["name"] for doc in docs)


def _fits(method: Callable[..., Any], arguments: Mapping[str, Any]) -> bool:
    try:
        inspect.signature(method).bind(**arguments)
    except TypeError:
        return False
    return True


def _endless(tool: str, arguments: Mapping[str, Any]) -> str | None:
    """Why a call of the calculator would take for ever, if it would."""
    precision = arguments.get("precision")
    if tool in ("logarithm", "square_root") and isinstance(precision, int | float) and precision > _DIGITS:
        return f"a precision of more than {_DIGITS} digits"
    base, exponent = arguments.get("base"), arguments.get("exponent")
    if tool == "power" and isinstance(base, int) and isinstance(exponent, int):
        return "the result is too large" if abs(base) > 1 and exponent * base.bit_length() > _BITS else None
    return None


def _text(value: object) -> str:
    """What the package shows for a value."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        try:
            return json.dumps(value)
        except (TypeError, ValueError, RecursionError):
            return str(value)  # pyright: ignore[reportUnknownArgumentType]
    return str(value)

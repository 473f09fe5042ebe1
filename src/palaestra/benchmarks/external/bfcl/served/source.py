"""Values as source text of Java and JavaScript.

Tasks in these languages take every argument as text, and the package's checker reads it back. The forms here are those
that its readers take: strings in a Java array stand without quotes, for example, and those in an `ArrayList` with them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast


def java(value: Any, kind: str, item: str | None = None) -> str:
    """A value of a Java type.

    Args:
        value: Any: JSON.
        kind: The type, as the task's function has it.
        item: The type of its elements.
    """
    if isinstance(value, str):
        return value  # text, or a variable's name
    element = item or "any"
    if isinstance(value, list):
        values = cast("Sequence[Any]", value)
        return _java_list(values, kind, element)
    if isinstance(value, dict):
        named = cast("Mapping[str, Any]", value)
        puts = "".join(f"put({json.dumps(name)}, {json.dumps(each)}); " for name, each in named.items())
        return f"new HashMap<String, Object>() {{{{ {puts}}}}}" if named else "new HashMap<>()"
    return _number(value) + {"long": "L", "float": "f"}.get(kind, "")


def _java_list(values: Sequence[Any], kind: str, element: str) -> str:
    if kind == "Array":
        return f"new {element}[]{{{', '.join(java(value, element) for value in values)}}}"
    quoted = ", ".join(json.dumps(value) if isinstance(value, str) else java(value, element) for value in values)
    return f"new ArrayList<>(Arrays.asList({quoted}))" if values else "new ArrayList<>()"


def javascript(value: Any, kind: str, item: str | None = None) -> str:
    """A value of a JavaScript type; arguments as for `java`."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        element = item or "any"
        values = cast("Sequence[Any]", value)
        return f"[{', '.join(json.dumps(v) if isinstance(v, str) else javascript(v, element) for v in values)}]"
    if isinstance(value, dict):
        return json.dumps(value)
    return _number(value) + ("n" if kind == "Bigint" else "")


def _number(value: float | None) -> str:
    return json.dumps(value)  # of truth values as well, and of nothing


WRITERS: Mapping[str, Callable[..., str]] = {"simple_java": java, "simple_javascript": javascript}
"""By category: how a value is written, where arguments are source text."""

"""How deep an action may be nested: what cannot be written down again must not be played."""

from typing import Any, cast

from palaestra.errors import ActionError

MAX_DEPTH = 64


def check_depth(action: Any) -> None:
    """Refuse an action that is nested too deep. Any: JSON.

    Raises:
        ActionError: it is nested deeper than `MAX_DEPTH`.
    """
    level: list[Any] = [action]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                below += cast("dict[str, Any]", value).values()
            elif isinstance(value, list):
                below += cast("list[Any]", value)
        if not below:
            return
        level = below
    raise ActionError(f"the action is nested deeper than {MAX_DEPTH}; write it flat")

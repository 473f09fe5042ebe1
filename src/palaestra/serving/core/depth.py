"""The maximum nesting of an action: an action that cannot be written again must not be played."""

from typing import cast

from palaestra.errors import ActionError

MAX_DEPTH = 64


def check_depth(action: object) -> None:
    """Refuse an action that is nested too deep.

    Raises:
        ActionError: it is nested deeper than `MAX_DEPTH`.
    """
    level: list[object] = [action]
    for _ in range(MAX_DEPTH):
        below: list[object] = []
        for value in level:
            if isinstance(value, dict):
                below += cast("dict[object, object]", value).values()
            elif isinstance(value, list):
                below += cast("list[object]", value)
        if not below:
            return
        level = below
    raise ActionError(f"the action is nested deeper than {MAX_DEPTH}; write it flat")

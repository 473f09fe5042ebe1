"""The settings of a new session that only authors may choose, and how they are refused."""

import reprlib

from palaestra.serving.access import Caller, KeyScope
from palaestra.serving.core.items import CreateItem
from palaestra.tools import FORMATS, PythonFormat


def check_author_settings(caller: Caller, item: CreateItem) -> None:
    """Check that a caller may choose the settings of a new session.

    A refusal repeats the request and reveals nothing about the world: it is the same whether the world has the setting
    or not.

    Raises:
        KeyScopeError: a setting is for authors only, and the key lacks the scope.
    """
    chosen = [f"{name[:40]}={reprlib.repr(value)}" for name, value in _list_author_settings(item)]
    if chosen:
        only_split = set(item.switches or ()) == {"split"} and len(chosen) == 1
        without = "leave it out to play the server's split" if only_split else "leave it out"
        caller.require(
            KeyScope.AUTHOR, wanted=", ".join(chosen[:3]), without=without if len(chosen) == 1 else "leave them out"
        )


def check_split_choice(caller: Caller, split: str) -> None:
    """Check that a caller may choose the split of the tasks it sees; raises as `check_author_settings` does."""
    caller.require(
        KeyScope.AUTHOR, wanted=f"split={reprlib.repr(split)}", without="leave it out to see the server's split"
    )


def _list_author_settings(item: CreateItem) -> list[tuple[str, object]]:
    view = item.view if item.view == "author" else None
    # A running program blocks all sessions of its process.
    code = item.action_format if _runs_code(item.action_format) else None
    own = {"view": view, "action_format": code, "player": item.player, "reward": item.reward}
    return [*(item.switches or {}).items(), *((name, value) for name, value in own.items() if value is not None)]


def _runs_code(action_format: str | None) -> bool:
    return action_format in FORMATS and isinstance(FORMATS.get(str(action_format)), PythonFormat)

"""Calls as calls of Python functions, such as `click('row.ORD-1')`: the action strings of BrowserGym and UI-TARS."""

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from palaestra.records import ToolCall
from palaestra.tools.formats.calls import turn_of
from palaestra.tools.formats.format import ParsedTurn
from palaestra.tools.formats.hermes import THINKING, strip_fence

BROWSERGYM: Mapping[str, tuple[str, ...]] = {
    "check": ("bid",),
    "clear": ("bid",),
    "click": ("bid", "button", "modifiers"),
    "dblclick": ("bid", "button", "modifiers"),
    "fill": ("bid", "value"),
    "find_text": ("text",),
    "finish": ("answer",),
    "focus": ("bid",),
    "go_back": (),
    "go_forward": (),
    "goto": ("url",),
    "hover": ("bid",),
    "new_tab": (),
    "noop": ("wait_ms",),
    "press": ("bid", "key_comb"),
    "reply": ("message",),
    "report_infeasible": ("reason",),
    "scroll": ("delta_x", "delta_y"),
    "select_option": ("bid", "options"),
    "send_msg_to_user": ("text",),
    "tab_close": (),
    "tab_focus": ("index",),
    "uncheck": ("bid",),
}
"""The argument names of BrowserGym's actions, in order."""
UI_TARS: Mapping[str, tuple[str, ...]] = {
    "call_user": (),
    "click": ("start_box",),
    "find": ("text",),
    "finish": ("answer",),
    "finished": ("content",),
    "hotkey": ("key",),
    "left_double": ("start_box",),
    "reply": ("message",),
    "scroll": ("start_box", "direction"),
    "type": ("content",),
    "wait": (),
}
"""The argument names of UI-TARS' actions, in order."""
_CALL = re.compile(r"^[A-Za-z_]\w*\(")
_ACTION = re.compile(r"^[ \t]*Action:[ \t]*", re.MULTILINE)
_LONGEST = 20_000


class FunctionCallFormat:
    """Calls of Python functions whose arguments are literals, one per line; a code fence around them is ignored.

    Text that does not begin as a call is prose. Text before a line that begins with `Action:` is thinking.

    Args:
        signatures: The argument names of each function, in order, for arguments without a name.
    """

    def __init__(self, signatures: Mapping[str, tuple[str, ...]]) -> None:
        self._signatures = signatures

    def parse(self, text: str) -> ParsedTurn:
        """Parse one turn."""
        text = THINKING.sub("", text)
        text = strip_fence(_ACTION.split(text)[-1].strip())
        if not _CALL.match(text):
            return turn_of((), text)
        if len(text) > _LONGEST:
            return ParsedTurn(error=f"actions have at most {_LONGEST:,} letters, these {len(text):,}")
        try:
            parsed = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return ParsedTurn(
                error=f"no action can be read in {text[:80]!r} ({error}); write one such as click('send')"
            )
        calls: list[ToolCall] = []
        for statement in parsed.body:
            try:
                calls.append(self._call(statement))
            except (ValueError, TypeError, RecursionError) as error:
                return ParsedTurn(error=f"{ast.unparse(statement)[:80]!r}: {error}")
        return ParsedTurn(calls=tuple(calls))

    def render(self, calls: Sequence[ToolCall], prose: str = "") -> str:
        """Write one turn; prose in addition to calls cannot be written in this format and is left out."""
        if not calls:
            return prose
        return "\n".join(self._render_call(call) for call in calls)

    def _call(self, statement: ast.stmt) -> ToolCall:
        if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
            raise ValueError("is no action; write one such as click('send')")
        call = statement.value
        if not isinstance(call.func, ast.Name):
            raise ValueError("an action has a plain name, such as click")
        names = self._signatures.get(call.func.id, ())
        if len(call.args) > len(names):
            raise ValueError(f"{call.func.id} takes {len(names)} arguments without a name, not {len(call.args)}")
        arguments: dict[str, Any] = {}
        for name, value in zip(names, call.args, strict=False):
            arguments[name] = _literal(value)
        for keyword in call.keywords:
            if keyword.arg is None or keyword.arg in arguments:
                raise ValueError(f"{call.func.id} is given {keyword.arg or '**'} twice or without a name")
            arguments[keyword.arg] = _literal(keyword.value)
        return ToolCall(tool=call.func.id, arguments=arguments)

    def _render_call(self, call: ToolCall) -> str:
        names = self._signatures.get(call.tool, ())
        parts: list[str] = []
        in_order = True
        for position, (name, value) in enumerate(call.arguments.items()):
            in_order = in_order and position < len(names) and names[position] == name
            parts.append(repr(value) if in_order else f"{name}={value!r}")
        return f"{call.tool}({', '.join(parts)})"


def _literal(node: ast.expr) -> Any:
    """The JSON value of a literal."""
    try:
        value: object = ast.literal_eval(node)
    except ValueError:
        raise ValueError(f"{ast.unparse(node)[:60]} is no literal; write texts in quotes") from None
    return _json(value)


def _json(value: object) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_json(part) for part in cast("Sequence[object]", value)]
    if isinstance(value, dict):
        parts = cast("Mapping[object, object]", value)
        if all(isinstance(key, str) for key in parts):
            return {str(key): _json(part) for key, part in parts.items()}
    raise ValueError(f"{value!r:.60} is no text, number, truth value, list or mapping of such")

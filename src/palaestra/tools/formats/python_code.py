"""Calls as Python code: a turn is a program whose functions are the tools."""

import re
from collections.abc import Sequence
from keyword import iskeyword

from palaestra.records import ToolCall
from palaestra.tools.formats.format import ParsedTurn
from palaestra.tools.formats.hermes import THINKING

MAX_CODE = 32_768
"""Maximum characters of code in a turn."""
_FENCE = "```"
_LANGUAGES = ("", "python", "py", "python3")
_STATEMENT = re.compile(r"^(?:[A-Za-z_]\w* = )?[A-Za-z_]\w*\([^\n]*\)[^\S\n]*$", re.MULTILINE)


class PythonFormat:
    """Code between ```` ```python ```` and ```` ``` ````, which calls tools as functions with named arguments.

    Several blocks are one program. Text outside blocks has no effect, and text without a block is prose. A block in
    another language, a block without its end and a call outside a block are unreadable. The sandbox, not the format,
    finds out whether code compiles.

    Args:
        sandbox: The name of the sandbox in which the code runs.
    """

    def __init__(self, sandbox: str) -> None:
        self.sandbox = sandbox

    def parse(self, text: str) -> ParsedTurn:
        """Parse one turn: `program` holds the code, and there are no calls before it runs."""
        text = THINKING.sub("", text)
        if "<think>" in text:
            return ParsedTurn(error="<think> is never closed by </think>")
        prose: list[str] = []
        code: list[str] = []
        blocks, inside = 0, False
        for line in text.split("\n"):
            bare = line.strip()
            if inside and bare == _FENCE:
                inside = False
            elif inside:
                code.append(line)
            elif bare.startswith(_FENCE):
                if bare.removeprefix(_FENCE).strip().lower() not in _LANGUAGES:
                    return ParsedTurn(error=f"a block that opens with {bare[:40]!r}; code opens with ```python")
                inside, blocks = True, blocks + 1
            else:
                prose.append(line)
        if inside:
            return ParsedTurn(error="a block of code is never closed by ```")
        return _turn("\n".join(code) if blocks else None, "\n".join(prose).strip())

    def render(self, calls: Sequence[ToolCall], prose: str = "") -> str:
        """Write one turn: code that makes the calls, in order, and prints their answers."""
        if not calls:
            return prose
        code = "\n".join(f"print({_write(call)})" for call in calls)
        block = f"{_FENCE}python\n{code}\n{_FENCE}"
        return f"{prose}\n{block}" if prose else block


def _turn(code: str | None, prose: str) -> ParsedTurn:
    if code is None:
        if not prose:
            return ParsedTurn(error="the turn is empty: write code, or something to say")
        if _STATEMENT.search(prose):
            return ParsedTurn(error="code stands between ```python and ```; this call stands bare")
        return ParsedTurn(prose=prose)
    if len(code) > MAX_CODE:
        return ParsedTurn(error=f"the code has {len(code)} characters; {MAX_CODE} are taken at most")
    return ParsedTurn(program=code, prose=prose)


def _write(call: ToolCall) -> str:
    arguments = dict(call.arguments)
    if all(name.isidentifier() and not iskeyword(name) for name in arguments):
        return f"{call.tool}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"
    return f"{call.tool}(**{arguments!r})"

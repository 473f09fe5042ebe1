"""Calls as a program that takes what it needs from the answers that it has read, as an agent's program does."""

import re
from collections.abc import Sequence

from palaestra.envs.code_action import read_answer
from palaestra.ids import words
from palaestra.records import Json, Message, ToolCall

_TOKEN = re.compile(r"[\w./@:+-]*\d[\w./@:+-]*")


def fenced(code: str) -> str:
    """Code as a turn of the format `python`."""
    return f"```python\n{code}\n```"


def literal(calls: Sequence[ToolCall]) -> str:
    """A program that spells out what it calls."""
    return "\n".join(f"{call.tool}(**{dict(call.arguments)!r})" for call in calls)


def derive_program(calls: Sequence[ToolCall], answers: Sequence[Sequence[Message]], opening: Sequence[Message]) -> str:
    """A program that makes these calls and spells out no id that the opening does not name.

    Args:
        calls: What it calls.
        answers: What each call is answered, as another play has shown.
        opening: The messages that the agent has read before.
    """
    known = frozenset[str]().union(*(words(message["content"]) for message in opening))
    heard: list[str] = []
    lines = ["heard = []"]
    for call, messages in zip(calls, answers, strict=True):
        arguments = ", ".join(f"{name!r}: {_expression(value, heard, known)}" for name, value in call.arguments.items())
        lines.append(f"heard.append(str({call.tool}(**{{{arguments}}})))")
        heard.append(str(read_answer(tuple(messages), plain=False)[0]))
    return "\n".join(lines)


def _expression(value: Json, heard: Sequence[str], known: frozenset[str]) -> str:
    """A value as Python, the words that nothing but answers tell cut out of them."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name!r}: {_expression(part, heard, known)}' for name, part in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(_expression(part, heard, known) for part in value)}]"
    if not isinstance(value, str):
        return repr(value)
    parts: list[str] = []
    at = 0
    for token in _TOKEN.finditer(value):
        word = token[0].strip(".:-")
        source = next((number for number, text in enumerate(heard) if word in text), None)
        if not words(word).issubset(known) and source is not None:
            start = token.start() + token[0].index(word)
            place = heard[source].index(word)
            parts += [repr(value[at:start]), f"heard[{source}][{place}:{place + len(word)}]"]
            at = start + len(word)
    return " + ".join([*parts, repr(value[at:])])

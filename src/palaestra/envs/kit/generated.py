"""Tools that are generated from a row class: their parameters, their description and what gives them again."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, TypeAlias, get_args, get_origin, get_type_hints

from palaestra.errors import UnknownNameError
from palaestra.records import References, Row
from palaestra.tools import Reads, Tool, ToolContext, tool
from palaestra.tools.tool import Closing

Cursor: TypeAlias = str | None
"""The annotation of every `cursor`."""
CURSOR_TEXT = "The next_cursor of the answer to continue."
REQUIRED = inspect.Parameter.empty
_VOWEL_SOUND = re.compile(r"(?!uni(?![mn])|use|usa|uti|eu|one)[aeiou]|hour|hono|heir")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument of a generated tool."""

    annotation: Any
    text: str
    """What the agent reads about it."""
    default: Any = REQUIRED


def generate_tool(
    function: Callable[..., object],
    *,
    name: str,
    description: str,
    parameters: Mapping[str, Parameter],
    origin: tuple[Callable[..., Tool], tuple[Any, ...]],
    writes: bool = False,
    latency: int = 2,
    reads: Reads | None = None,
    closes: Closing | None = None,
) -> Tool:
    """A tool that calls `function(context, **arguments)`.

    Args:
        function: What it does; a function of its own, since the tool's name and description are written on it.
        name: The tool's name.
        description: What the agent reads.
        parameters: Its arguments.
        origin: A function and its arguments that give the tool again in another process.
        writes: Whether it can change rows.
        latency: Seconds on the virtual clock.
        reads: The rows that the answer shows.
        closes: How a call closes the case that the first reference names.
    """
    given = [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=p.default) for key, p in parameters.items()]
    lines = [f"    {key}: {p.text}" for key, p in parameters.items()]
    typed: Any = function
    typed.__name__ = name
    typed.__doc__ = "\n".join([description, "", "Args:", *lines] if lines else [description])
    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    typed.__signature__ = inspect.Signature([context, *given])
    hints = {"context": ToolContext, **{key: p.annotation for key, p in parameters.items()}}
    # The function's own annotations are of `**arguments`; whoever reads the tool's arguments needs theirs.
    typed.__annotations__ = hints
    return tool(writes=writes, latency=latency, reads=reads, closes=closes, hints=hints, origin=origin)(function)


def column_annotation(kind: type[Row], column: str) -> Any:
    """How an argument that stands for a column is annotated: the column's type, and which table's id it is.

    Raises:
        UnknownNameError: the row class has no such column.
    """
    hints = {key: hint for key, hint in get_type_hints(kind, include_extras=True).items() if key[0] != "_"}
    if column not in hints:
        raise UnknownNameError.of("column", column, hints)
    hint, marks = hints[column], []
    if get_origin(hint) is Annotated:
        hint, *marks = get_args(hint)
    kept = tuple(mark for mark in marks if isinstance(mark, References))
    return Annotated[(hint, *kept)] if kept else hint  # type: ignore[return-value,unused-ignore]


def id_annotation(kind: type[Row]) -> Any:
    """How an argument is annotated that is the id of a row of this class."""
    return Annotated[str, References(kind.table)]


def noun_of(kind: type[Row]) -> str:
    """What one row of a class is called in tools: the class's name, with underscores."""
    return _snake_case(kind.__name__)


@cache
def _snake_case(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


def with_article(word: str) -> str:
    """A word after "a" or "an", as it is spoken: "a user", "an hour"."""
    return f"{'an' if has_initial_vowel_sound(word) else 'a'} {word}"


def has_initial_vowel_sound(word: str) -> bool:
    """Whether "an" stands before a word."""
    return bool(_VOWEL_SOUND.match(word))

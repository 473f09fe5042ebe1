"""The keys of a blueprint and its language of expressions as text, read from the code that reads documents."""

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, get_args, get_type_hints

from palaestra.envs.blueprints import Blueprint, blueprint, expressions, tool_style
from palaestra.envs.blueprints.checking.entities import MOST_EACH, MOST_ROWS
from palaestra.envs.blueprints.checking.names import MOST
from palaestra.envs.blueprints.document import MAX_BYTES, MAX_DEPTH

_TYPES = (
    (r"<class '(\w+)'>", r"\1"),
    (r"(?:\w+\.)+(\w+)", r"\1"),
    (r"\bstr\b", "text"),
    (r"\bint\b", "integer"),
    (r"\bbool\b", "true or false"),
    (r"\bMapping\[text, ", "mapping of names to ["),
    (r"\btuple\[(\w+), \.\.\.\]", r"list of \1"),
    (r"\btuple\[(\w+), \1\]", r"[\1, \1]"),
    (r"\bLiteral\[([^\]]*)\]", r"one of \1"),
    (r" \| None\b", ""),
    (r" \| ", " or "),
)


def describe_keys() -> str:
    """Every kind of part with its keys: type, default and meaning."""
    return "\n\n".join(_describe(kind) for kind in dict.fromkeys(_kinds(Blueprint)))


def describe_expressions() -> str:
    """The language of conditions and values."""
    return " ".join((expressions.__doc__ or "").split())


def describe_bounds() -> str:
    """The maximum size of a document and its world."""
    counts = ", ".join(f"{most} {part}" for part, most in MOST.items())
    return (
        f"At most {MAX_BYTES} bytes, {MAX_DEPTH} levels, {counts}; {MOST_ROWS} rows of an entity by `count`, "
        f"{MOST_EACH} for each row by `per`. No anchors, aliases or tags."
    )


def _kinds(kind: type[Any]) -> Iterator[type[Any]]:
    """A class of parts and the classes nested in it, in order."""
    yield kind
    for hint in get_type_hints(kind).values():
        for part in _parts(hint):
            if is_dataclass(part):
                yield from _kinds(part)  # type: ignore[arg-type]


def _parts(hint: Any) -> Iterator[Any]:
    yield hint
    for part in get_args(hint):
        yield from _parts(part)


def _describe(kind: type[Any]) -> str:
    documented, hints = _texts_by_class()[kind.__name__], get_type_hints(kind)
    lines = [f"{kind.__name__}: {' '.join((kind.__doc__ or '').split())}"]
    for one in fields(kind):
        meaning = documented.get(one.name, "")
        lines.append(
            f"  {one.name} ({_type_text(hints[one.name])}{_default_text(one)}){': ' if meaning else ''}{meaning}"
        )
    return "\n".join(lines)


def _type_text(hint: Any) -> str:
    text = str(hint)
    for pattern, replacement in _TYPES:
        text = re.sub(pattern, replacement, text)
    return text


def _default_text(one: "Field[Any]") -> str:
    if one.default is MISSING and one.default_factory is MISSING:
        return ", required"
    value: object = one.default if one.default_factory is MISSING else one.default_factory()
    return "" if value in (None, "", (), {}) else f", default {value}"


@cache
def _texts_by_class() -> dict[str, dict[str, str]]:
    """The text below each field in the source, by class and field; Python does not keep it at run time."""
    found: dict[str, dict[str, str]] = {}
    for module in (blueprint, tool_style):
        for node in ast.parse(inspect.getsource(module)).body:
            if isinstance(node, ast.ClassDef):
                found[node.name] = dict(_field_texts(node))
    return found


def _field_texts(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for statement, below in zip(node.body, node.body[1:], strict=False):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            text = below.value.value if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) else ""
            yield statement.target.id, " ".join(str(text).split())

"""The public interface of source files, and what a change takes from its callers.

Public are functions, classes and methods whose names do not begin with an underscore, and `__init__`. A function may
gain parameters that callers can leave out. It is read from the text, never from what runs, so code cannot deny it. A
file that is no Python says nothing here: its tests fail.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

_Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicName:
    """A public function, class or method, as its callers know it."""

    kind: str
    """What it is, with its decorators."""
    positional: tuple[tuple[str, str | None], ...] = ()
    """Its parameters that have a place, each with its default."""
    only_positional: int = 0
    """How many of them have no name for callers."""
    keywords: tuple[tuple[str, str | None], ...] = ()
    """Its parameters that callers can only name, each with its default."""
    variable: tuple[bool, bool] = (False, False)
    """Whether it takes any further arguments without and with names."""

    def takes(self, other: "PublicName") -> bool:
        """Whether whoever can call `other` can call this alike."""
        count = len(other.positional)
        keywords = dict(self.keywords)
        more = (*self.positional[count:], *self.keywords)
        added = [default for name, default in more if name not in dict(other.keywords)]
        return (
            self.kind == other.kind
            and self.positional[:count] == other.positional
            and self.only_positional <= other.only_positional
            and all(name in keywords and keywords[name] == default for name, default in other.keywords)
            and None not in added
            and all(mine or not theirs for mine, theirs in zip(self.variable, other.variable, strict=True))
        )


def lost_names(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """The public names that callers can no longer use as before, as `path: name`.

    Args:
        before: Texts of source files, by path.
        after: Their texts now; a path that is missing has lost all its names.
    """
    found: list[str] = []
    for path, text in before.items():
        names, now = public_names(text), public_names(after.get(path, ""))
        if names is None or now is None:
            continue
        found += [
            f"{path}: {name}" for name, was in sorted(names.items()) if name not in now or not now[name].takes(was)
        ]
    return found


@lru_cache(maxsize=1_024)
def public_names(text: str) -> Mapping[str, PublicName] | None:
    """The public names of a file, by their dotted names; `None` where it is no Python."""
    try:
        return dict(_names_in(ast.parse(text).body, ""))
    except (SyntaxError, ValueError):
        return None


def _names_in(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, PublicName]]:
    last: dict[str, _Definition] = {}
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            last[statement.name] = statement
        for name in _names_set(statement):
            last.pop(name, None)  # what stands under the name now is another thing
    for name, node in last.items():
        if name.startswith("_") and name != "__init__":
            continue
        yield prefix + name, _describe(node)
        if isinstance(node, ast.ClassDef):
            yield from _names_in(node.body, f"{prefix}{name}.")


def _names_set(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement binds anew or deletes."""
    match statement:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            yield from (node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case _:
            return


def _describe(node: _Definition) -> PublicName:
    kind = " ".join([type(node).__name__, *map(ast.unparse, node.decorator_list)])
    if isinstance(node, ast.ClassDef):
        return PublicName(kind=" ".join([kind, *map(ast.unparse, node.bases)]))
    parameters = node.args
    placed = [*parameters.posonlyargs, *parameters.args]
    defaults = [None] * (len(placed) - len(parameters.defaults)) + [ast.unparse(value) for value in parameters.defaults]
    return PublicName(
        kind=kind,
        positional=tuple((one.arg, default) for one, default in zip(placed, defaults, strict=True)),
        only_positional=len(parameters.posonlyargs),
        keywords=tuple(
            (one.arg, None if default is None else ast.unparse(default))
            for one, default in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
        ),
        variable=(parameters.vararg is not None, parameters.kwarg is not None),
    )

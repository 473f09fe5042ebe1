"""Which fields an expression of a blueprint reads, and of which rows."""

import ast
from dataclasses import dataclass

from palaestra.envs.blueprints.expressions import Scope


@dataclass(frozen=True, slots=True, order=True)
class FieldRead:
    """A field that is read."""

    path: str
    """How the row is reached, such as `booking.room`."""
    entity: str
    field: str


def read_fields(text: str, scope: Scope) -> frozenset[FieldRead]:
    """The fields that an expression reads, also by way of definitions; none where the text is no expression.

    Args:
        text: The expression.
        scope: What it may name.
    """
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return frozenset()  # a text with expressions in braces reads nothing that decides
    walker = _Walker(scope)
    walker.visit(body, {})
    return frozenset(walker.found)


@dataclass(frozen=True, slots=True)
class _Rows:
    """A row, or each of several."""

    entity: str
    path: str


class _Walker:
    """Goes through the parts of an expression and notes each field."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.found: set[FieldRead] = set()

    def visit(self, node: ast.AST, bound: dict[str, _Rows]) -> _Rows | None:
        """The row that a part stands for; `None` where it is a plain value."""
        match node:
            case ast.Name(id=name):
                return self._name(name, bound)
            case ast.Attribute():
                return self._attribute(node, bound)
            case ast.GeneratorExp():
                return self._loop(node, bound)
            case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp() as loop]):
                rows = self._loop(loop, bound)
                return rows if name in {"first", "one"} else None
            case ast.IfExp():
                self.visit(node.test, bound)
                yes, no = self.visit(node.body, bound), self.visit(node.orelse, bound)
                return yes or no
            case _:
                for child in ast.iter_child_nodes(node):
                    self.visit(child, bound)
        return None

    def _loop(self, node: ast.GeneratorExp, bound: dict[str, _Rows]) -> _Rows | None:
        """The rows that a function over rows gives where it gives rows."""
        loop = node.generators[0]
        rows = self.visit(loop.iter, bound)
        inner = {**bound, loop.target.id: rows} if rows and isinstance(loop.target, ast.Name) else bound
        for test in loop.ifs:
            self.visit(test, inner)
        return self.visit(node.elt, inner)

    def _name(self, name: str, bound: dict[str, _Rows]) -> _Rows | None:
        if name in bound:
            return bound[name]
        if name in self._scope.tables:
            return _Rows(self._scope.tables[name], name)
        if name in self._scope.definitions:
            return self.visit(ast.parse(self._scope.definitions[name].text.strip(), mode="eval").body, bound)
        kind = self._scope.variables.get(name)
        return _Rows(kind.entity, name) if kind is not None and kind.name == "row" else None

    def _attribute(self, node: ast.Attribute, bound: dict[str, _Rows]) -> _Rows | None:
        base = self.visit(node.value, bound)
        if base is None:
            return None
        scope, path = self._scope.entities[base.entity], f"{base.path}.{node.attr}"
        if node.attr in scope.relations:
            relation = scope.relations[node.attr]
            self.found.add(FieldRead(path, relation.entity, relation.column.removesuffix("_id")))
            return _Rows(relation.entity, path)
        if node.attr not in scope.fields:
            return None
        self.found.add(FieldRead(base.path, base.entity, node.attr))
        kind = scope.fields[node.attr]
        return _Rows(kind.entity, path) if kind.name == "row" else None

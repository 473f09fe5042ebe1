"""What an expression of a blueprint reads, in the order of its evaluation: fields of rows, and sets of rows."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from palaestra.envs.blueprints.expressions import Scope


@dataclass(frozen=True, slots=True)
class RowSet:
    """The rows of an entity whose fields have these values."""

    entity: str
    equal: tuple[tuple[str, str], ...] = ()
    """By field: how its value is written, or how the row that it names is reached."""


@dataclass(frozen=True, slots=True)
class RowPath:
    """A row, or each row of a set."""

    entity: str
    path: str
    """How it is reached, such as `booking.room`; equal paths are the same row."""
    rows: RowSet | None = None
    """The set that it is of."""


@dataclass(frozen=True, slots=True)
class FieldStep:
    """A field of a row is read."""

    row: RowPath
    field: str


@dataclass(frozen=True, slots=True)
class SetStep:
    """A set of rows is gone through."""

    rows: RowSet
    is_certain: bool
    """Whether every evaluation goes through it."""


ReadingStep: TypeAlias = FieldStep | SetStep


class ReadingOrder:
    """Follows the expressions of a scope.

    Args:
        scope: What they may name.
        asker: How the row of whoever asks is reached, such as `loan.member`; every path that equals it is `asker`.
    """

    def __init__(self, scope: Scope, asker: str) -> None:
        self._scope = scope
        self._asker = asker
        self._steps: list[ReadingStep] = []
        self._is_certain = True

    def steps(self, text: str) -> list[ReadingStep]:
        """What an expression reads, in order; nothing where the text is no expression."""
        body = _parse(text)
        self._steps = []
        if body is not None:
            self._visit(body, {})
        return self._steps

    def rows(self, text: str) -> tuple[RowPath, ...]:
        """The rows that an expression can stand for; none where it is a plain value."""
        body = _parse(text)
        self._steps = []
        return () if body is None else self._visit(body, {})

    def refer(self, row: RowPath, field: str) -> str:
        """How the row that a field names is reached."""
        given = {} if row.rows is None else dict(row.rows.equal)
        return self._canonical(given.get(field, f"{row.path}.{field}"))

    def _canonical(self, path: str) -> str:
        return "asker" if path == self._asker else path

    def _visit(self, node: ast.AST, bound: dict[str, RowPath]) -> tuple[RowPath, ...]:
        """The rows that a part can stand for; none where it is a plain value."""
        match node:
            case ast.Name(id=name):
                return self._name(name, bound)
            case ast.Attribute():
                return self._attribute(node, bound)
            case ast.BoolOp(values=[first, *others]):
                self._visit(first, bound)
                self._visit_perhaps(others, bound)  # they are not evaluated where the first decides
                return ()
            case ast.IfExp(test=test, body=yes, orelse=no):
                self._visit(test, bound)
                return self._visit_perhaps([yes, no], bound)
            case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp() as loop]):
                rows = self._loop(loop, bound)
                return rows if name in {"first", "one"} else ()
            case ast.Call(args=parts):
                return self._visit_all(parts, bound)
            case _:
                self._visit_all(ast.iter_child_nodes(node), bound)
                return ()

    def _visit_all(self, nodes: Iterable[ast.AST], bound: dict[str, RowPath]) -> tuple[RowPath, ...]:
        return tuple(row for node in nodes for row in self._visit(node, bound))

    def _visit_perhaps(self, nodes: Iterable[ast.AST], bound: dict[str, RowPath]) -> tuple[RowPath, ...]:
        """Visit parts that an evaluation may leave out."""
        before, self._is_certain = self._is_certain, False
        rows = self._visit_all(nodes, bound)
        self._is_certain = before
        return rows

    def _name(self, name: str, bound: dict[str, RowPath]) -> tuple[RowPath, ...]:
        if name in bound:
            return (bound[name],)
        if name in self._scope.definitions:
            body = _parse(self._scope.definitions[name].text)
            return () if body is None else self._visit(body, {})
        kind = self._scope.variables.get(name)
        return (RowPath(kind.entity, self._canonical(name)),) if kind is not None and kind.name == "row" else ()

    def _attribute(self, node: ast.Attribute, bound: dict[str, RowPath]) -> tuple[RowPath, ...]:
        found: list[RowPath] = []
        for row in self._visit(node.value, bound):
            kind = self._scope.entities[row.entity].fields.get(node.attr)
            if kind is None:
                continue  # the id, or no field
            self._steps.append(FieldStep(row, node.attr))
            if kind.name == "row":
                found.append(RowPath(kind.entity, self.refer(row, node.attr)))
        return tuple(found)

    def _loop(self, node: ast.GeneratorExp, bound: dict[str, RowPath]) -> tuple[RowPath, ...]:
        loop = node.generators[0]
        if not isinstance(loop.target, ast.Name):
            return ()
        tests = [part for test in loop.ifs for part in _conjuncts(test)]
        found: list[RowPath] = []
        for rows, left in self._sets(loop.iter, loop.target.id, tests, bound):
            self._steps.append(SetStep(rows, self._is_certain))
            each = RowPath(rows.entity, f"{rows.entity}{list(rows.equal)}", rows)
            inner = {**bound, loop.target.id: each}
            self._visit_perhaps(left, inner)
            found += self._visit_perhaps([node.elt], inner)
        return tuple(found)

    def _sets(
        self, node: ast.expr, variable: str, tests: list[ast.expr], bound: dict[str, RowPath]
    ) -> Iterator[tuple[RowSet, list[ast.expr]]]:
        """The sets that a loop goes through, each with the tests that are made row by row."""
        if isinstance(node, ast.Name) and node.id in self._scope.tables:
            entity = self._scope.tables[node.id]
            equal: list[tuple[str, str]] = []
            left: list[ast.expr] = []
            for test in tests:
                found = _equality(test, variable)
                if found is None or found[0] not in self._scope.entities[entity].fields:
                    left.append(test)
                    continue
                rows = self._visit(found[1], bound)
                equal.append((found[0], rows[0].path if len(rows) == 1 else ast.unparse(found[1])))
            yield RowSet(entity, tuple(sorted(equal))), left
        elif isinstance(node, ast.Attribute):
            for row in self._visit(node.value, bound):
                relation = self._scope.entities[row.entity].relations.get(node.attr)
                if relation is not None:
                    yield RowSet(relation.entity, ((relation.column.removesuffix("_id"), row.path),)), tests


def _equality(test: ast.expr, variable: str) -> tuple[str, ast.expr] | None:
    """The field and the value of a test that narrows the list of a table, as `parse_expression` takes it."""
    match test:
        case ast.Compare(
            left=ast.Attribute(value=ast.Name(id=name), attr=field), ops=[ast.Eq()], comparators=[value]
        ) if name == variable and all(not isinstance(p, ast.Name) or p.id != variable for p in ast.walk(value)):
            return field, value
        case _:
            return None


def _conjuncts(test: ast.expr) -> list[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return [part for value in test.values for part in _conjuncts(value)]
    return [test]


@lru_cache(maxsize=8_192)
def _parse(text: str) -> ast.expr | None:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return None

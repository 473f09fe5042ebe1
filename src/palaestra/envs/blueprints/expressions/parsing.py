"""Reading expressions: text becomes a typed function of a frame, or an error that says what to write instead."""

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

from palaestra.envs.blueprints.expressions.evaluation_steps import count_steps
from palaestra.envs.blueprints.expressions.expression import Expression
from palaestra.envs.blueprints.expressions.frame import Frame, Scan
from palaestra.envs.blueprints.expressions.operators import calculate, compare, contains, extreme, share
from palaestra.envs.blueprints.expressions.over_rows import NAMES, over_rows
from palaestra.envs.blueprints.expressions.scope import EntityScope, Relation, Scope
from palaestra.envs.blueprints.expressions.typed import TypedExpression
from palaestra.envs.blueprints.expressions.value_type import DATE, FLAG, INTEGER, NONE, ValueType
from palaestra.errors import ExpressionError, UnknownNameError
from palaestra.records import INT_RANGE, Json

MAX_LENGTH = 500
"""The most characters of an expression."""
MAX_NODES = 160
"""The most parts of an expression."""
MAX_DEPTH = 14
"""The deepest that parts stand within parts."""
MAX_STEPS = 200_000
"""The most evaluations of parts that one evaluation of an expression may come to."""
_RULES, _TODAY, _ID = "rules", "today", "id"


def parse_expression(text: str, scope: Scope) -> Expression:
    """Read an expression.

    Args:
        text: Such as `loan.due < today`.
        scope: What it may name.

    Raises:
        ExpressionError: it is none, names what there is not, mixes types, or takes too many steps; the message says
            what to write.
    """
    syntax = _read_syntax(text)
    reader = _Reader(scope)
    typed = reader.read(syntax.body)
    steps = count_steps(syntax.body, scope)
    if steps > MAX_STEPS:
        raise ExpressionError(
            f"`{text}` takes up to {steps} steps with as many rows as there can be, and an expression has at most "
            f"{MAX_STEPS}; go through the rows that name a row (`row.relation`) in place of tables within tables, or "
            "lower `count` and `per`"
        )
    defined = (scope.definitions[name].rules for name in syntax.names if name in scope.definitions)
    rules = syntax.rules.union(*defined)
    return Expression(text, typed.type, rules, frozenset(reader.reads), steps, typed.is_literal, typed.evaluate)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Syntax:
    """What a text is before a scope gives it types."""

    body: ast.expr
    names: tuple[str, ...]
    """In alphabetical order."""
    rules: frozenset[str]
    """The rules that it names itself."""


@lru_cache(maxsize=8_192)
def _read_syntax(text: str) -> _Syntax:
    """The parts of a text. Worlds repeat conditions, and a blueprint is read twice: when it is checked and compiled."""
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"it has {len(text)} characters, more than {MAX_LENGTH}; name parts of it under `let`")
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        said = error.msg if isinstance(error, SyntaxError) else "it cannot be read"
        raise ExpressionError(f"{text!r} is no expression: {said}; write for example `loan.due < today`") from None
    if sum(1 for _ in ast.walk(body)) > MAX_NODES or _depth(body, MAX_DEPTH) > MAX_DEPTH:
        raise ExpressionError(f"it has more than {MAX_NODES} parts, or is deeper than {MAX_DEPTH}; use `let`")
    attributes = [node for node in ast.walk(body) if isinstance(node, ast.Attribute)]
    rules = {node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id == _RULES}
    return _Syntax(body=body, names=tuple(sorted(_names(body))), rules=frozenset(rules))


def _depth(node: ast.AST, left: int) -> int:
    if left < 0:
        return 1
    return 1 + max((_depth(child, left - 1) for child in ast.iter_child_nodes(node)), default=0)


class _Reader:
    """Reads the parts of an expression in a scope."""

    def __init__(self, scope: Scope, reads: set[tuple[str, str]] | None = None) -> None:
        self._scope = scope
        self.reads: set[tuple[str, str]] = set() if reads is None else reads

    def read(self, node: ast.AST) -> TypedExpression:
        """The typed part of a node."""
        match node:
            case ast.Constant():
                return _literal(node.value)
            case ast.Name():
                return self._name(node.id)
            case ast.Attribute():
                return self._attribute(node)
            case ast.BinOp():
                return calculate(node.op, self.read(node.left), self.read(node.right))
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BoolOp():
                return self._logic(node)
            case ast.Compare():
                return self._comparison(node)
            case ast.IfExp():
                return self._choice(node)
            case ast.Call():
                return self._call(node)
            case _:
                raise ExpressionError(
                    f"{type(node).__name__} is not part of the language; use fields, comparisons, and, or, not, +, -, "
                    f"*, `a if b else c`, share, {', '.join(NAMES)}"
                )

    def _name(self, name: str) -> TypedExpression:
        if name == _TODAY:
            return TypedExpression(DATE, lambda frame: frame.today)
        if name in self._scope.definitions:
            defined = self._scope.definitions[name]
            self.reads |= defined.reads
            return TypedExpression(defined.type, defined.evaluate, variables=frozenset({name}))
        if name in self._scope.variables:
            return TypedExpression(
                self._scope.variables[name], lambda frame: frame.names[name], variables=frozenset({name})
            )
        if name == _RULES:
            raise ExpressionError(f"`rules` is no value; name one of them: {', '.join(sorted(self._scope.rules))}")
        if name in self._scope.tables:
            raise ExpressionError(f"`{name}` are rows; go through them, as in any(x.field == 1 for x in {name})")
        raise ExpressionError(str(UnknownNameError.of("name", name, [*self._scope.names, _TODAY, _RULES])))

    def _attribute(self, node: ast.Attribute) -> TypedExpression:
        if isinstance(node.value, ast.Name) and node.value.id == _RULES:
            return self._rule(node.attr)
        base = self.read(node.value)
        if base.type.name != "row":
            raise ExpressionError(f".{node.attr} is read of {base.type}; only rows have fields")
        entity, scope = base.type.entity, self._scope.entities[base.type.entity]
        if node.attr == _ID:
            return replace(base, type=ValueType("text", optional=base.type.optional))
        if node.attr in scope.relations:
            raise ExpressionError(
                f"`{node.attr}` are rows; go through them, as in count(x for x in {ast.unparse(node)})"
            )
        if node.attr not in scope.fields:
            known = [*scope.fields, *scope.relations, _ID]
            raise ExpressionError(str(UnknownNameError.of(f"field of {entity}", node.attr, known)))
        kind = scope.fields[node.attr]
        self.reads.add((entity, scope.columns[node.attr]))
        if base.type.optional:
            kind = replace(kind, optional=True)
        return TypedExpression(kind, _field_reader(base, entity, scope.columns[node.attr]), variables=base.variables)

    def _rule(self, name: str) -> TypedExpression:
        if name not in self._scope.rules:
            raise ExpressionError(str(UnknownNameError.of("rule", name, self._scope.rules)))

        def evaluate(frame: Frame) -> Any:
            if frame.trace is not None:
                frame.trace.rules[name] = None
            return getattr(frame.rules, name)

        return TypedExpression(self._scope.rules[name], evaluate)

    def _unary(self, node: ast.UnaryOp) -> TypedExpression:
        part = self.read(node.operand)
        if isinstance(node.op, ast.Not) and part.type == FLAG:
            return TypedExpression(FLAG, lambda frame: not part.evaluate(frame), variables=part.variables)
        if isinstance(node.op, ast.USub) and part.type == INTEGER and part.is_literal:
            return TypedExpression(INTEGER, lambda frame: -part.evaluate(frame), is_literal=True)
        raise ExpressionError(f"`{ast.unparse(node)}`: not takes a condition, and - before a value a written number")

    def _logic(self, node: ast.BoolOp) -> TypedExpression:
        parts = [self.read(value) for value in node.values]
        for part, value in zip(parts, node.values, strict=True):
            if part.type != FLAG:
                raise ExpressionError(f"`{ast.unparse(value)}` is {part.type}; and, or take conditions")
        join = all if isinstance(node.op, ast.And) else any
        variables = frozenset[str]().union(*(part.variables for part in parts))
        return TypedExpression(FLAG, lambda frame: join(part.evaluate(frame) for part in parts), variables=variables)

    def _comparison(self, node: ast.Compare) -> TypedExpression:
        if len(node.ops) != 1:
            raise ExpressionError(f"`{ast.unparse(node)}` compares several times; join two comparisons with `and`")
        sign, right = node.ops[0], node.comparators[0]
        if isinstance(sign, ast.In | ast.NotIn):
            if not isinstance(right, ast.List | ast.Tuple) or not right.elts:
                raise ExpressionError(f"`{ast.unparse(right)}`: `in` takes a list of literals, as in [1, 2]")
            options = [self.read(option) for option in right.elts]
            return contains(self.read(node.left), options, negated=isinstance(sign, ast.NotIn))
        return compare(sign, self.read(node.left), self.read(right))

    def _choice(self, node: ast.IfExp) -> TypedExpression:
        test, yes, no = self.read(node.test), self.read(node.body), self.read(node.orelse)
        if test.type != FLAG:
            raise ExpressionError(f"`{ast.unparse(node.test)}` is {test.type}; between if and else stands a condition")
        kind = _join_types(yes, no)
        if kind is None:
            raise ExpressionError(f"{yes.type} if ... else {no.type}; give both one type")
        variables = test.variables | yes.variables | no.variables
        return TypedExpression(
            kind,
            lambda f: yes.evaluate(f) if test.evaluate(f) else no.evaluate(f),
            is_literal=yes.is_literal and no.is_literal,
            variables=variables,
        )

    def _call(self, node: ast.Call) -> TypedExpression:
        name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
        if node.keywords or name not in {*NAMES, "share"}:
            known = [*NAMES, "share"]
            raise ExpressionError(f"{UnknownNameError.of('function', name, known)}; none takes arguments by name")
        if name == "share":
            if len(node.args) != 2:
                raise ExpressionError("share takes an amount and a percentage")
            return share(self.read(node.args[0]), self.read(node.args[1]))
        if len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
            return self._over_rows(name, node.args[0])
        if name in {"min", "max"} and len(node.args) > 1:
            return extreme(name, [self.read(argument) for argument in node.args])
        raise ExpressionError(f"{name} goes through rows; write {name}(x.field for x in row.relation if x.field == 1)")

    def _over_rows(self, name: str, node: ast.GeneratorExp) -> TypedExpression:
        loop = node.generators[0]
        if len(node.generators) != 1 or not isinstance(loop.target, ast.Name):
            raise ExpressionError(f"`{ast.unparse(node)}`: go through rows once, under one name")
        variable = loop.target.id
        if variable in {*self._scope.names, _TODAY, _RULES}:
            raise ExpressionError(f"the name {variable!r} is taken; choose another for the rows that are gone through")
        tests = _conjuncts(loop.ifs)
        entity, relation, base = self._rows_of(loop.iter)
        self.reads |= {(entity, ""), (entity, "" if relation is None else relation.column)}
        inner = _Reader(self._scope.with_variables(**{variable: ValueType("row", entity)}), self.reads)
        equal, left = ({}, tests) if relation is not None else self._equalities(entity, variable, tests)
        rows = TypedExpression(ValueType("rows", entity), _row_finder(entity, relation, base, equal))
        return over_rows(name, variable, rows, [inner.read(test) for test in left], inner.read(node.elt))

    def _rows_of(self, node: ast.expr) -> tuple[str, Relation | None, TypedExpression | None]:
        """The entity of the rows, and where they are those that name a row: how, and which."""
        if isinstance(node, ast.Name) and node.id in self._scope.tables:
            return self._scope.tables[node.id], None, None
        if isinstance(node, ast.Attribute):
            base = self.read(node.value)
            if base.type.name == "row" and not base.type.optional:
                relations = self._scope.entities[base.type.entity].relations
                if node.attr in relations:
                    return relations[node.attr].entity, relations[node.attr], base
                text = UnknownNameError.of(f"relation of {base.type.entity}", node.attr, relations)
                raise ExpressionError(str(text))
        known = ", ".join(sorted(self._scope.tables))
        raise ExpressionError(f"`{ast.unparse(node)}` are no rows; write row.relation, or a table: {known}")

    def _equalities(
        self, entity: str, variable: str, tests: list[ast.expr]
    ) -> tuple[dict[str, TypedExpression], list[ast.expr]]:
        """The tests of a whole table that ask for a field's value, by column, and the others.

        A list that is narrowed by these values shows the rows; the others have to be read.
        """
        scope: EntityScope = self._scope.entities[entity]
        equal: dict[str, TypedExpression] = {}
        left: list[ast.expr] = []
        for test in tests:
            match test:
                case ast.Compare(
                    left=ast.Attribute(value=ast.Name(id=name), attr=field), ops=[ast.Eq()], comparators=[value]
                ) if name == variable and field in scope.fields and variable not in _names(value):
                    found = self.read(value)
                    probe = TypedExpression(scope.fields[field], found.evaluate)
                    compare(ast.Eq(), probe, found)
                    equal[scope.columns[field]] = found
                    self.reads.add((entity, scope.columns[field]))
                case _:
                    left.append(test)
        return equal, left


def _field_reader(base: TypedExpression, entity: str, column: str) -> Callable[[Frame], Any]:
    def evaluate(frame: Frame) -> Any:
        key = base.evaluate(frame)
        if key is None:
            return None
        if frame.trace is not None:
            frame.trace.read(entity, key, column)
        return getattr(frame.state.get(frame.kinds[entity], key), column)

    return evaluate


def _row_finder(
    entity: str, relation: Relation | None, base: TypedExpression | None, equal: dict[str, TypedExpression]
) -> Callable[[Frame], list[str]]:
    def evaluate(frame: Frame) -> list[str]:
        wanted: dict[str, Json] = {column: value.evaluate(frame) for column, value in equal.items()}
        if relation is not None and base is not None:
            wanted[relation.column] = cast("Json", base.evaluate(frame))
        keys = [row.id for row in frame.state.find(frame.kinds[entity], **wanted)]
        if frame.trace is not None:
            frame.trace.scan(Scan(entity=entity, equal=tuple(wanted.items()), keys=tuple(keys)))
        return keys

    return evaluate


def _literal(value: object) -> TypedExpression:
    kind: ValueType
    if value is None:
        kind = NONE
    elif isinstance(value, bool):
        kind = FLAG
    elif isinstance(value, int) and value in INT_RANGE:
        kind = INTEGER
    elif isinstance(value, str):
        kind = ValueType("choice", options=(value,))
    else:
        raise ExpressionError(
            f"{value!r} is no literal of the language; it has whole numbers, texts, True, False, None"
        )
    return TypedExpression(kind, lambda _frame: value, is_literal=True)


def _conjuncts(tests: list[ast.expr]) -> list[ast.expr]:
    """The parts that are joined by `and`, one by one."""
    found: list[ast.expr] = []
    for test in tests:
        parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
        found.extend(parts if parts == [test] else _conjuncts(parts))
    return found


def _join_types(one: TypedExpression, other: TypedExpression) -> ValueType | None:
    """The type of a choice between two values, of which one may be `None`; no type where they have none together."""
    for wider, narrower in ((one, other), (other, one)):
        if _takes(wider, narrower):
            return wider.type
        if narrower.type == NONE:
            return replace(wider.type, optional=True)
    if one.is_literal and other.is_literal and {one.type.name, other.type.name} == {"choice"}:
        return replace(one.type, options=tuple(dict.fromkeys((*one.type.options, *other.type.options))))
    return None


def _takes(wider: TypedExpression, other: TypedExpression) -> bool:
    """Whether a choice between two has the first one's type: an amount takes a whole number that is written out."""
    literal = wider.type.is_number and other.is_literal and other.type == INTEGER
    return wider.type.accepts(other.type) or literal


def _names(node: ast.expr) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}

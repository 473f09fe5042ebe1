"""Test files as cases: what is computed goes into the sandbox, what is expected stays outside.

A test is a function `test_...`. Each `assert EXPRESSION == LITERAL` in it is a case: the statement is replaced by one
that notes the value of the expression. An assertion of another form is run as it stands, and has no value to compare.
"""

import ast
from dataclasses import dataclass
from functools import lru_cache

_NOTE = "_note_"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedValue:
    """What an assertion expects."""

    line: int
    expression: str
    value: str
    """The literal, as `repr` writes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestCases:
    """A test file without its expectations, and these by the name of the test."""

    __test__ = False  # for pytest, which takes a class of this name for a test

    program: str
    expected: dict[str, tuple[ExpectedValue, ...]]


class _Notes(ast.NodeTransformer):
    """Replaces the assertions of one function by notes of their values."""

    def __init__(self) -> None:
        self.expected: list[ExpectedValue] = []

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        match node.test:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                try:
                    value = repr(ast.literal_eval(right))
                except ValueError:
                    return node
                self.expected.append(ExpectedValue(line=node.lineno, expression=ast.unparse(left), value=value))
                return ast.Expr(ast.Call(ast.Name(_NOTE, ast.Load()), [left], []))
            case _:
                return node


@lru_cache(maxsize=256)
def read_cases(text: str) -> TestCases:
    """The cases of a test file.

    Raises:
        SyntaxError: it is no Python.
    """
    module = ast.parse(text)
    expected: dict[str, tuple[ExpectedValue, ...]] = {}
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            notes = _Notes()
            notes.visit(node)
            expected[node.name] = tuple(notes.expected)
    return TestCases(program=ast.unparse(ast.fix_missing_locations(module)), expected=expected)
